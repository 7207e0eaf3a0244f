"""A line that is typed: with editing at its end and in its middle, or masked, so that nobody reads a key on the screen.

How it changes is pure; `enter` puts it on a terminal. May import: errors, cli.
"""

from __future__ import annotations

from collections.abc import Callable

from agi.cli.display import exact, fit
from agi.cli.keyboard import Key
from agi.cli.menu import Left, Outcome, answered, asked
from agi.cli.terminal import Terminal
from agi.errors import ConfigError

LONGEST = 4096
"""Characters a line may have; what is more is not taken."""
DOTS = 24
"""How many characters of a masked line are shown one by one."""
_ERASE = "\r\x1b[J"
Check = Callable[[str], str]
"""Gives what a line amounts to; raises ConfigError if it cannot be taken."""


class Entry:
    """A line as it stands."""

    def __init__(self, text: str = "", *, masked: bool = False) -> None:
        self.text = text
        self.at = len(text)
        """Where the next character goes."""
        self._masked = masked

    def press(self, key: Key) -> Outcome:
        """Take notice of a key."""
        match key.name:
            case "enter":
                return "taken"
            case "escape":
                return "left"
            case "end_of_input":
                return "" if self.text else "left"
            case "text" | "paste":
                self._put(key.text)
            case "backspace":
                self._cut(self.at - 1, self.at)
            case "delete":
                self._cut(self.at, self.at + 1)
            case "erase_word":
                self._cut(self._word(), self.at)
            case "erase_all":
                self._cut(0, len(self.text))
            case "left" | "right":
                self.at = max(0, min(self.at + (1 if key.name == "right" else -1), len(self.text)))
            case "home" | "end":
                self.at = 0 if key.name == "home" else len(self.text)
        return ""

    def shown(self, columns: int) -> tuple[str, int]:
        """What of it is drawn in so many columns, and how far left of its end the cursor stands."""
        if self._masked:
            count = len(self.text)
            more = f" {count} characters" if count > DOTS else ""
            return ("•" * min(count, DOTS) + more)[: max(columns, 1)], 0
        first = max(0, self.at - columns + 1)
        window = exact(self.text[first : first + max(columns, 1)])
        return window, max(0, len(window) - (self.at - first))

    def _put(self, text: str) -> None:
        """Line breaks and their like are left out: the end of a pasted key is none of it."""
        plain = "".join(character for character in text if character.isprintable())
        plain = plain[: LONGEST - len(self.text)]
        self.text = self.text[: self.at] + plain + self.text[self.at :]
        self.at += len(plain)

    def _cut(self, start: int, end: int) -> None:
        start = max(0, start)
        self.text = self.text[:start] + self.text[end:]
        self.at = start

    def _word(self) -> int:
        return self.text[: self.at].rstrip().rfind(" ") + 1


def enter(
    terminal: Terminal,
    question: str,
    text: str = "",
    *,
    note: str = "",
    masked: bool = False,
    check: Check = str,
    colors: bool,
) -> str:
    """Have a line typed, and leave one that says what it was, or only that there was one; raises Left.

    Where it cannot be taken, the reason is shown and the line stays to be mended, a masked one from anew.
    """
    entry = Entry(text, masked=masked)
    terminal.begin()
    while True:
        if _edit(terminal, question, entry, note, colors) == "left":
            raise Left
        try:
            given = check(entry.text.strip())
            break
        except ConfigError as error:
            note = f"✗ {error.message}"
            entry = Entry("" if masked else entry.text, masked=masked)
    terminal.write(answered(question, ("given" if given else "none") if masked else given, colors=colors) + "\n")
    return given


def _edit(terminal: Terminal, question: str, entry: Entry, note: str, colors: bool) -> Outcome:
    """Let the line be changed until a key ends it; afterwards nothing of it is on the screen."""
    columns, _ = terminal.size
    head = [asked(fit(question, columns - 3), colors=colors)]
    head += [f"  {fit(exact(note), columns - 3)}"] if note else []
    terminal.write("\n".join(head) + "\n")
    outcome: Outcome = ""
    try:
        while not outcome:
            columns, _ = terminal.size
            window, back = entry.shown(columns - 4)
            terminal.write(f"{_ERASE}  {window}" + (f"\x1b[{back}D" if back else ""))
            outcome = entry.press(terminal.key())
    finally:
        terminal.write(f"\x1b[{len(head)}A{_ERASE}")
    return outcome
