"""What an answer could be remembered as: the smallest rules that would allow the same call again, or none.

After such an answer the call is not asked about again, and nothing is allowed that the rules do not say: they are
tried on the call before they are offered. May import: protocol, policy.
"""

from __future__ import annotations

from agi.policy.covering import FREE, first_words
from agi.policy.ground import Ground
from agi.policy.rules import allowing, in_words
from agi.policy.subjects import Subject
from agi.protocol.grants import GrantScope, Remember
from agi.protocol.policies import Rule
from agi.protocol.sessions import Risk
from agi.protocol.tools import ToolKind

MOST_RULES = 5
LONGEST = 1000
"""A longer command is not worth remembering to the letter."""


def worth_remembering(subject: Subject, ground: Ground, risk: Risk) -> Remember | None:
    """The rules that would cover this call from now on; None if it has to be asked about each time."""
    rules = () if risk == "high" or subject.unclear else _rules(subject)
    if not rules:
        return None
    # A tool that reaches out could carry something away; that is not opened for longer than a session.
    lasting = ground.trusted and subject.definition.kind is not ToolKind.NET
    scopes: tuple[GrantScope, ...] = ("session", "workspace") if lasting else ("session",)
    return Remember(rules=rules, text=" and ".join(in_words(rule) for rule in rules), scopes=scopes)


def _rules(subject: Subject) -> tuple[Rule, ...]:
    name = subject.definition.name
    if subject.text is None:
        whole = (Rule(tool=name, verdict="allow"),)
        return whole if allowing(whole, subject, may_write=lambda path: False) else ()
    by_words = _by_first_words(subject)
    if by_words and allowing(by_words, subject, may_write=lambda path: False) == by_words:
        return by_words
    text = subject.text.strip()
    readable = subject.seen is not None and not subject.seen.unreadable
    return (Rule(tool=name, exactly=text, verdict="allow"),) if readable and 0 < len(text) <= LONGEST else ()


def _by_first_words(subject: Subject) -> tuple[Rule, ...]:
    line = subject.seen.line if subject.seen else None
    named = [command for command in line.commands if command.words] if line else []
    free = [command for command in named if command.words[0] in FREE or command.words[0] == "cd"]
    prefixes = [first_words(command) for command in named if command not in free]
    if not all(prefixes) or len(set(prefixes)) > MOST_RULES:
        return ()
    rules = [Rule(tool=subject.definition.name, command=prefix, verdict="allow") for prefix in prefixes]
    return tuple(dict.fromkeys(rules))
