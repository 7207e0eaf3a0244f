"""Rules about certain calls: whether one speaks of a call, and whether some allow all that a command does.

A rule that denies or asks meets its command in every dress: behind `env`, in a substitution, in code given to a
shell. One that allows meets a simple command as it stands, and nothing beside it. May import: protocol, policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from agi.policy.bash.seen import Part, is_hidden
from agi.policy.bash.values import UNKNOWN, SimpleCommand
from agi.policy.covering import FREE, READERS, begins_with, covers, is_move_inside, problem_of
from agi.policy.git_commands import without_global_options
from agi.policy.places import is_device, is_inside, is_protected
from agi.policy.subjects import Subject
from agi.policy.touching import WRITERS, Match, matches, touches
from agi.protocol.policies import Rule
from agi.protocol.showing import exact
from agi.protocol.tools import ToolDefinition


def about(rules: Iterable[Rule], definition: ToolDefinition) -> list[Rule]:
    """The rules that name a tool, by its name or an alias."""
    return [rule for rule in rules if rule.tool in (definition.name, *definition.aliases)]


def in_words(rule: Rule) -> str:
    """A rule for people: which calls it is about."""
    if rule.exactly is not None:
        return f"exactly the command `{exact(rule.exactly)}`"
    if rule.command is not None:
        return f"commands that begin with `{exact(rule.command)}`"
    if rule.path is not None:
        return f"{exact(rule.tool)} on `{exact(rule.path)}`"
    return f"every call of {exact(rule.tool)}"


def problem_in(rule: Rule) -> str:
    """Say why a rule does nothing; empty if it does."""
    if rule.command is None or rule.verdict != "allow":
        return ""
    words = rule.command.split()
    problem = problem_of(SimpleCommand(words)) if words else "it names nothing"
    return f"no command is allowed by its first words `{exact(rule.command)}`: {problem}" if problem else ""


def speaks_of(rule: Rule, subject: Subject) -> Match:
    """Tell whether a rule that denies or asks is about a call; what cannot be told is a maybe."""
    found: list[Match] = []
    if rule.exactly is not None:
        found.append("yes" if subject.text is not None and subject.text.strip() == rule.exactly.strip() else "no")
    if rule.command is not None:
        found.append(_meets_command(rule.command.split(), subject))
    if rule.path is not None:
        found.append(_meets_files(rule.path, subject) if subject.seen is None else touches(rule, subject.seen))
    if "no" in found:
        return "no"
    return "maybe" if "maybe" in found else "yes"


def _meets_command(prefix: list[str], subject: Subject) -> Match:
    if subject.seen is None:
        return "maybe" if subject.unclear else "no"
    if subject.seen.unreadable:
        return "maybe"
    found = [_meets_part(prefix, part) for part in subject.seen.parts if part.words]
    return "yes" if "yes" in found else "maybe" if "maybe" in found else "no"


def _meets_part(prefix: list[str], part: Part) -> Match:
    if is_hidden(part.words[0]):
        return "no" if part.guessed else "maybe"
    words = [part.name, *part.words[1:]]
    plain = [part.name, *(without_global_options(words[1:]) if part.name == "git" else _without_options(words[1:]))]
    unnumbered = [part.name.rstrip("0123456789."), *words[1:]]  # `pip3`, `python3.11`
    for form in (words, plain, unnumbered):
        if begins_with(prefix, form, anywhere=True):
            return "yes"
    unsure = any(UNKNOWN in word for word in words[: len(prefix) + 1])
    return "maybe" if unsure and begins_with(prefix[:1], words, anywhere=True) and not part.guessed else "no"


def _without_options(words: list[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _meets_files(pattern: str, subject: Subject) -> Match:
    if any(matches(pattern, path) for path in subject.files):
        return "yes"
    return "maybe" if subject.unclear else "no"


def allowing(rules: Sequence[Rule], subject: Subject, *, may_write: Callable[[str], bool]) -> tuple[Rule, ...]:
    """The rules that together allow all of a call; none if something is left. What destroys is not looked at here."""
    for rule in rules:
        if rule.exactly is not None and subject.text is not None and subject.text.strip() == rule.exactly.strip():
            return (rule,)
        if (rule.command, rule.exactly, rule.path) == (None, None, None):
            return (rule,) if not any(map(is_protected, subject.files)) else ()
    if subject.seen is not None:
        return _allowing_command([rule for rule in rules if rule.command is not None], subject, may_write)
    return _allowing_files([rule for rule in rules if rule.path is not None], subject)


def allows_file(rules: Iterable[Rule], path: str) -> bool:
    """Tell whether rules about writing allow a file to be written."""
    conditions = [rule.path for rule in rules if rule.tool in WRITERS and (rule.command or rule.exactly) is None]
    return any(pattern is None or matches(pattern, path) for pattern in conditions)


def _allowing_files(rules: Sequence[Rule], subject: Subject) -> tuple[Rule, ...]:
    if not subject.files or subject.unclear or any(map(is_protected, subject.files)):
        return ()
    used = [next((rule for rule in rules if matches(rule.path or "", path)), None) for path in subject.files]
    return tuple(dict.fromkeys(rule for rule in used if rule)) if all(used) else ()


def _allowing_command(rules: Sequence[Rule], subject: Subject, may_write: Callable[[str], bool]) -> tuple[Rule, ...]:
    """Every simple command of the line needs a rule, and every file it writes to the right to write it."""
    line = subject.seen.line if subject.seen and not subject.seen.unreadable else None
    if line is None or line.functions or line.evaluates or line.sets:
        return ()
    used: list[Rule] = []
    for command in line.commands:
        if not all(is_device(path) or (is_inside(path) and may_write(path)) for path in _written(command)):
            return ()
        if _is_free(command, line.commands):
            continue
        rule = None if problem_of(command) else next((one for one in rules if covers(one.command or "", command)), None)
        if rule is None:
            return ()
        used.append(rule)
    return tuple(dict.fromkeys(used))


def _written(command: SimpleCommand) -> list[str]:
    return [*command.overwrites, *command.appends]


def _is_free(command: SimpleCommand, beside: Sequence[SimpleCommand]) -> bool:
    """Builtins that start nothing, and changing the folder for programs that only look.

    Other programs take their orders from the folder they are in: git from its settings there, npm from its scripts.
    """
    words = command.words
    if not words and not command.assigns:
        return all(is_device(path) or is_inside(path) for path in command.reads)
    if words and words[0] in FREE and not problem_of(command):
        return True
    return is_move_inside(command) and all(
        is_move_inside(other) or (other.words and other.words[0] in READERS) for other in beside
    )
