"""The slash commands: one table, from which completion, `/help` and the manual are made.

What they do is in `verbs`. A word that is no command is told so and never guessed. May import: errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct

from agi.errors import Invalid


class Command(Struct, frozen=True):
    """One command: its name, what may follow it, and what it does."""

    name: str
    does: str
    argument: str = ""
    aliases: tuple[str, ...] = ()


COMMANDS = (
    Command("help", "these commands"),
    Command("keys", "the keys", aliases=("keymap",)),
    Command("new", "begin another session with the next message", aliases=("clear",)),
    Command("sessions", "choose a session and go on with it", aliases=("resume", "continue")),
    Command("rename", "give the session a title", "<title>"),
    Command("draft", "draft an agent by its role into a task", "<role> [task]"),
    Command("undraft", "close the draft, with a summary"),
    Command("context", "how full the model's window is, and of what"),
    Command("compact", "make the conversation shorter for the model", "[focus]", ("compress", "summarize")),
    Command("agents", "who works here, as it changes", aliases=("tasks", "ps")),
    Command("diff", "what the session changed in its files"),
    Command("undo", "take back the last turn's changes of files, after showing them", "[turn]"),
    Command("fork", "go on in another session that begins with this one", aliases=("branch",)),
    Command("model", "choose the model of the session", "[name]", ("models",)),
    Command("queue", "what waits for its turn"),
    Command("stop", "stop the running turn; what is queued comes back to the box"),
    Command("approvals", "go to the question that waits", aliases=("inbox",)),
    Command("cost", "what the session cost", aliases=("usage", "stats")),
    Command("copy", "copy the last answer, or the one before it", "[n]"),
    Command("theme", "choose the colours", "[dark|light|terminal]", ("themes",)),
    Command("mouse", "let the terminal have the mouse, or take it back"),
    Command("exit", "leave; a daemon goes on with what runs", aliases=("quit", "q")),
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def is_command(text: str) -> bool:
    """Tell whether a line is meant as a command: a path such as `/etc/hosts` is not."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return word.startswith("/") and "/" not in word[1:] and "\n" not in text.strip()


def read_command(text: str) -> tuple[Command, str]:
    """The command of a line and what follows it; raises Invalid, with the nearest, for a word that is none."""
    word, _, rest = text.strip()[1:].partition(" ")
    command = _BY_NAME.get(word.lower())
    if command is None:
        near = get_close_matches(word.lower(), _BY_NAME, n=3)
        hint = f"Did you mean {' or '.join('/' + name for name in near)}? " if near else ""
        raise Invalid(f"There is no command /{word[:40]}.", hint=f"{hint}/help lists them all.", code="unknown_command")
    return command, rest.strip()


def matching(begun: str) -> list[Command]:
    """The commands that begin so, those by their own name first."""
    own = [command for command in COMMANDS if command.name.startswith(begun)]
    return own + [one for one in COMMANDS if one not in own and any(name.startswith(begun) for name in one.aliases)]


def table(commands: Iterable[Command] = COMMANDS) -> str:
    """All commands, for people."""
    rows = [(f"/{one.name} {one.argument}".strip(), one.does, one.aliases) for one in commands]
    width = max(len(row[0]) for row in rows)
    return "\n".join(
        f"{usage:<{width}}  {does}" + (f" (also {', '.join('/' + name for name in aliases)})" if aliases else "")
        for usage, does, aliases in rows
    )
