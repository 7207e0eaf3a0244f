"""A choice among rows: arrows or j and k move, a digit goes to its row, `/` looks for one, Enter takes it.

How it moves and looks is pure; `choose` puts it on a terminal. It is drawn below the cursor, which stays in its first
column and line: so a resized screen can be drawn anew from there, however its lines were folded.
May import: cli.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from agi.cli.display import exact, fit
from agi.cli.keyboard import Key
from agi.cli.terminal import Terminal

MOST_ROWS = 12
NARROWEST = 20
_WIDEST_LABEL = 40
_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "page_up": -MOST_ROWS, "page_down": MOST_ROWS}
_ERASE = "\r\x1b[J"
Outcome = Literal["taken", "left", ""]


class Row(NamedTuple):
    """Something that can be chosen, and a word about it."""

    label: str
    note: str = ""


class Left(Exception):
    """The person left the dialogue."""


class Menu:
    """A choice as it stands."""

    def __init__(self, rows: Sequence[Row], at: int = 0) -> None:
        self.rows = rows
        self.at = at
        """The row that Enter takes."""
        self.wanted: str | None = None
        """What is looked for; None if nothing is."""

    def found(self) -> list[int]:
        """The rows that are shown, by number."""
        words = (self.wanted or "").casefold().split()
        texts = [f"{row.label} {row.note}".casefold() for row in self.rows]
        return [number for number, text in enumerate(texts) if all(word in text for word in words)]

    def press(self, key: Key) -> Outcome:
        """Take notice of a key."""
        if key.name == "enter":
            return "taken" if self.found() else ""
        if self.wanted is not None:
            return self._look(key)
        if key.name in ("escape", "end_of_input"):
            return "left"
        if key.name == "text":
            self._type(key.text)
        else:
            self._move(key.name)
        return ""

    def lines(self, columns: int, height: int, *, colors: bool) -> list[str]:
        """The rows as they are drawn, as many as fit, around the one that is chosen."""
        found = self.found()
        here = found.index(self.at) if self.at in found else 0
        first = max(0, min(here - height // 2, len(found) - height))
        width = min(max((len(exact(row.label)) for row in self.rows), default=0), _WIDEST_LABEL)
        shown = found[first : first + height]
        lines = [_line(number, self.rows[number], number == self.at, width, columns, colors) for number in shown]
        lines += ["  Nothing fits."] if not found else []
        return [*lines, fit(self._help(len(found) - len(shown)), columns)]

    def _help(self, hidden: int) -> str:
        more = f"{hidden} more · " if hidden else ""
        if self.wanted is not None:
            return f"  /{exact(self.wanted)}▏  {more}Enter choose · Esc all again"
        search = " · / find" if len(self.rows) > MOST_ROWS // 2 else ""
        return f"  {more}↑↓ move{search} · Enter choose · Esc leave"

    def _type(self, text: str) -> None:
        if text == "/":
            self.wanted = ""
        elif text in "123456789" and int(text) <= len(self.rows):
            self.at = int(text) - 1
        else:
            self._move(text)

    def _look(self, key: Key) -> Outcome:
        if key.name in ("escape", "end_of_input"):
            self.wanted = None
        elif key.name == "backspace":
            self.wanted = (self.wanted or "")[:-1] if self.wanted else None
        elif key.name == "erase_all":
            self.wanted = ""
        elif key.name in ("text", "paste"):
            self.wanted = (self.wanted or "") + exact(key.text)
        else:
            self._move(key.name)
        found = self.found()
        if found and self.at not in found:
            self.at = found[0]
        return ""

    def _move(self, name: str) -> None:
        found = self.found()
        if not found:
            return
        here = found.index(self.at) if self.at in found else 0
        if name in ("home", "end"):
            here = 0 if name == "home" else len(found) - 1
        step = _MOVES.get(name, 0)
        goes_round = abs(step) == 1
        here = (here + step) % len(found) if goes_round else max(0, min(here + step, len(found) - 1))
        self.at = found[here]


def choose(
    terminal: Terminal, question: str, rows: Sequence[Row], *, at: int = 0, trace: bool = True, colors: bool
) -> int:
    """Have one of the rows chosen, and with `trace` leave a line that says which; raises Left."""
    menu = Menu(rows, at)
    terminal.begin()
    outcome: Outcome = ""
    try:
        while not outcome:
            columns, height = terminal.size
            _draw(terminal, question, menu, columns, height, colors)
            outcome = menu.press(terminal.key())
    finally:
        terminal.write(f"{_ERASE}\x1b[?25h")
    if outcome == "left":
        raise Left
    if trace:
        terminal.write(answered(question, rows[menu.at].label, colors=colors) + "\n")
    return menu.at


def answered(question: str, answer: str, *, colors: bool) -> str:
    """The line that stays of a question."""
    mark = "\x1b[32m✓\x1b[0m" if colors else "✓"
    return f"{mark} {question.rstrip('?:')}: {exact(answer)}"


def asked(question: str, *, colors: bool) -> str:
    """A question, as it stands on the screen."""
    return f"\x1b[1m? {question}\x1b[0m" if colors else f"? {question}"


def _draw(terminal: Terminal, question: str, menu: Menu, columns: int, height: int, colors: bool) -> None:
    columns = max(columns - 1, NARROWEST)  # the last column stays free: some terminals would fold the line there
    rows = max(1, min(MOST_ROWS, height - 3))
    lines = [asked(fit(question, columns - 2), colors=colors), *menu.lines(columns, rows, colors=colors)]
    terminal.write(f"\x1b[?25l{_ERASE}" + "\n".join(lines) + f"\r\x1b[{len(lines) - 1}A")


def _line(number: int, row: Row, is_here: bool, width: int, columns: int, colors: bool) -> str:
    digit = f"{number + 1}" if number < 9 else " "
    label = exact(row.label)
    text = fit(f"{'❯' if is_here else ' '} {digit} {label:{width}}  {exact(row.note)}".rstrip(), columns)
    return f"\x1b[36m{text}\x1b[0m" if is_here and colors else text
