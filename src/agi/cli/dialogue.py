"""Talking with a person at a terminal: choices, lines, keys that nobody sees, and how something goes meanwhile.

On a screen, with arrows; on a terminal that knows only lines, with numbers. What is asked is others' business.
May import: errors, cli.
"""

from __future__ import annotations

import asyncio
import termios
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from agi.cli.display import Screen, exact, fit
from agi.cli.entry import Check, enter
from agi.cli.menu import Left, Row, choose
from agi.cli.output import STDERR, STDIN, say, write
from agi.cli.questions import ask_now
from agi.cli.terminal import Terminal, can_take_over
from agi.errors import ConfigError

T = TypeVar("T")
NOT_HIDDEN = "This terminal shows whatever is typed, so a key cannot be asked for here."


class Dialogue(Protocol):
    """A person to ask. Every question raises Left if the person leaves, KeyboardInterrupt at Ctrl-C."""

    def choose(self, question: str, rows: Sequence[Row], at: int = 0, *, trace: bool = True) -> int:
        """Have one of the rows chosen; gives its number. Without `trace` nothing of it stays on a screen."""

    def enter(
        self,
        question: str,
        text: str = "",
        *,
        note: str = "",
        masked: bool = False,
        check: Check = str,
    ) -> str:
        """Have a line typed that passes the check; `text` is what stands there already."""

    def tell(self, text: str) -> None:
        """Say something."""

    def wait(self, text: str, work: Coroutine[Any, Any, T]) -> T:
        """Say what is being done, on a line that the next thing said replaces where that is possible."""


@contextmanager
def open_dialogue(env: Mapping[str, str]) -> Iterator[Dialogue]:
    """Give the best dialogue this terminal is fit for; afterwards the terminal is as it was.

    To be used where requests to terminate are raised (`terminal.endings_raised`), so that this holds for them too.
    """
    if not can_take_over(env):
        yield LineDialogue()
        return
    with Terminal() as terminal:
        yield ScreenDialogue(terminal, colors="NO_COLOR" not in env)


class ScreenDialogue:
    """With arrows, on a terminal that was taken over."""

    def __init__(self, terminal: Terminal, *, colors: bool) -> None:
        self._terminal = terminal
        self._colors = colors
        self._status = False

    def choose(self, question: str, rows: Sequence[Row], at: int = 0, *, trace: bool = True) -> int:
        """Have one of the rows chosen."""
        self._clear()
        return choose(self._terminal, question, rows, at=at, trace=trace, colors=self._colors)

    def enter(self, question: str, text: str = "", *, note: str = "", masked: bool = False, check: Check = str) -> str:
        """Have a line typed."""
        self._clear()
        return enter(self._terminal, question, text, note=note, masked=masked, check=check, colors=self._colors)

    def tell(self, text: str) -> None:
        """Say something, in the place of what was being done."""
        self._clear()
        columns, _ = self._terminal.size
        lines = [line for part in Screen().show(text).split("\n") for line in _folded(part, columns - 1)]
        self._terminal.write(self._colored("\n".join(lines)) + "\n")

    def wait(self, text: str, work: Coroutine[Any, Any, T]) -> T:
        """Do it; Ctrl-C ends it."""
        columns, _ = self._terminal.size
        self._terminal.write(f"  {fit(exact(text), columns - 3)}")
        self._status = True
        try:
            with self._terminal.waiting():
                return asyncio.run(work)
        except KeyboardInterrupt:
            self._terminal.write("\n")
            raise

    def _clear(self) -> None:
        """Take away what was being done."""
        self._terminal.write("\r\x1b[J" if self._status else "")
        self._status = False

    def _colored(self, text: str) -> str:
        color = {"✓": "32", "✗": "31"}.get(text[:1]) if self._colors else None
        return f"\x1b[{color}m{text[:1]}\x1b[0m{text[1:]}" if color else text


class LineDialogue:
    """With numbers, line by line."""

    def choose(self, question: str, rows: Sequence[Row], at: int = 0, *, trace: bool = True) -> int:
        """Have the number of a row typed."""
        say(question)
        for number, row in enumerate(rows, 1):
            say(f"{number:4}  {exact(row.label)}{f'  ({exact(row.note)})' if row.note else ''}")
        while True:
            typed = self._line(f"A number from 1 to {len(rows)} [{at + 1}]: ")
            if not typed:
                return at
            if typed.isascii() and typed.isdigit() and 1 <= int(typed[:9]) <= len(rows):
                return int(typed) - 1

    def enter(self, question: str, text: str = "", *, note: str = "", masked: bool = False, check: Check = str) -> str:
        """Have a line typed; an empty one is what stood there."""
        while True:
            if note:
                say(exact(note))
            if masked:
                typed = self._masked(f"{question} (nothing is shown): ")
            else:
                typed = self._line(f"{question}{f' [{exact(text)}]' if text else ''}: ") or text
            try:
                return check(typed)
            except ConfigError as error:
                note = f"✗ {error.message}"

    def tell(self, text: str) -> None:
        """Say something."""
        say(Screen().show(text))

    def wait(self, text: str, work: Coroutine[Any, Any, T]) -> T:
        """Do it; Ctrl-C ends it."""
        if text:
            say(exact(text))
        return asyncio.run(work)

    def _line(self, question: str) -> str:
        typed = ask_now(question)
        if typed is None:
            raise Left
        return typed

    def _masked(self, question: str) -> str:
        with _unseen():
            typed = ask_now(question)
        write(STDERR, b"\n")
        if typed is None:
            raise Left
        return typed


def _folded(text: str, columns: int) -> list[str]:
    """Break a line between words, its rest indented."""
    import textwrap  # late: only where something is said

    return textwrap.wrap(text, max(columns, 20), subsequent_indent="  ", break_on_hyphens=False) or [""]


@contextmanager
def _unseen() -> Iterator[None]:
    """Let nothing that is typed be shown; where that cannot be had, nothing is asked."""
    try:
        before = termios.tcgetattr(STDIN)
        hidden = list(before)
        hidden[3] = before[3] & ~termios.ECHO
        termios.tcsetattr(STDIN, termios.TCSAFLUSH, hidden)
    except termios.error as error:
        raise ConfigError(NOT_HIDDEN, hint="Give it with --key-file, or with --key - on stdin.") from error
    try:
        yield
    finally:
        termios.tcsetattr(STDIN, termios.TCSAFLUSH, before)
