"""`agi policy`: what would become of a command, and why; and of a session's calls by another policy. Runs nothing.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agi.cli import exits
from agi.cli.display import exact, exact_lines
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put
from agi.cli.place import place
from agi.protocol.explanations import Explanation, SeenCommand

ACTIONS = ("explain", "replay")
OPTIONS = {"explain": ("--tool", "--agent"), "replay": ("--policy", "--all")}
"""What only one of them takes."""
VERDICTS = {"allow": "It would run unasked", "ask": "A person would be asked", "deny": "It would be refused"}


def policy(arguments: Arguments) -> int:
    """Explain one command."""
    words = [*arguments.words, *(arguments.after or ())]
    name = words[0] if words else ""
    if name and name not in ACTIONS:
        error = usage("policy", f"There is no `agi policy {name[:40]}`, only {' and '.join(ACTIONS)}.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    if not name or words == ["explain"]:
        raise usage("policy", 'Say which command: `agi policy explain "git status"`.')
    for action in ACTIONS:
        if action != name and (given := [option for option in OPTIONS[action] if arguments.has(option)]):
            raise usage("policy", f"`agi policy {name}` takes no {given[0]}: that is of `agi policy {action}`.")
    if name == "replay":
        from agi.cli.policy_replay import policy_replay  # late: only who asks needs it

        return policy_replay(arguments)
    from agi.client.inprocess import explained_call  # late: it brings the whole house

    explained = explained_call(
        place(arguments),
        tool=arguments.get("--tool") or "shell",
        text=" ".join(words[1:]),
        agent=arguments.get("--agent") or "",
    )
    if arguments.has("--json"):
        put(msgspec.json.encode(explained).decode() + "\n")
    else:
        put("\n".join(_told(explained)) + "\n")
    return exits.OK


def _told(explained: Explanation) -> Iterator[str]:
    if explained.unreadable:
        yield f"It cannot be told for certain what this does: {exact(explained.unreadable)}."
    elif explained.commands:
        yield "It would start:"
    for command in explained.commands:
        if not command.guessed:
            yield from _command(command)
    guessed = sum(command.guessed for command in explained.commands)
    if guessed:
        yield f"  … and perhaps one of {guessed} other things"
    for reason in explained.unsure:
        yield f"  not certain: {exact(reason)}"
    yield f"{VERDICTS[explained.verdict]} ({explained.rule}, risk {explained.risk})."
    yield f"  {exact(explained.reason)}"
    for rule in explained.by:
        yield f"  rule: {exact(msgspec.json.encode(rule).decode())}"
    if explained.verdict == "ask":
        yield from _remembered(explained)
    for problem in explained.idle:
        yield f"A rule in your settings does nothing: {exact(problem)}."


def _command(command: SeenCommand) -> Iterator[str]:
    via = f"  (by {exact(command.via)})" if command.via else ""
    words = " ".join(_word(word) for word in command.words) or "(nothing)"
    yield f"  {words}{via}"
    opened = (("overwrites", command.overwrites), ("appends to", command.appends), ("reads", command.reads))
    for verb, paths in opened:
        for path in paths:
            yield f"      {verb} {_word(path)}"
    if command.note:
        yield f"      not by its first words: {exact(command.note)}"


def _word(text: str) -> str:
    shown = "\\n".join(exact_lines(text))
    plain = shown and not any(sign in shown for sign in " '\"|&;<>()")
    return shown if plain else f"'{shown}'"


def _remembered(explained: Explanation) -> Iterator[str]:
    if explained.remember is None:
        yield "  An answer would count once."
        return
    scopes = " or ".join(f"for the {scope}" for scope in explained.remember.scopes)
    yield f"  An answer could be remembered {scopes}: {exact(explained.remember.text)}."
