"""What is shown of a command's output: its first lines as they come, its last ones when it is over.

Lines are made safe to look at and cut where they are too long; the whole output is in the log. May import: cli.
"""

from __future__ import annotations

import re
from collections import deque

from agi.cli.display import Screen

FIRST, LAST = 5, 10
WIDEST = 200
TOLD_LIVE = 60_000
"""About so many characters of a call's output are told while it runs; what is beyond is in its result only."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Excerpt:
    """The output of one call, as it grows."""

    def __init__(self) -> None:
        self._begun: dict[str, str] = {}
        self._shown = 0
        self._held: deque[str] = deque(maxlen=LAST)
        self._count = 0
        self._size = 0

    def take(self, channel: str, text: str) -> list[str]:
        """Take a piece; gives the lines to show at once."""
        self._size += len(text)
        *lines, self._begun[channel] = (self._begun.get(channel, "") + text).split("\n")
        return self._add(lines)

    def rest(self, whole: str) -> list[str]:
        """Give what is still to be shown at the end, where `whole` is the output as its result has it."""
        if not self._size:
            return excerpt(whole)
        now = self._add([line for line in self._begun.values() if line])
        if self._size < TOLD_LIVE:
            return now + _folded(self._count - len(self._held), list(self._held))
        lines = _lines(whole)
        return now + _folded(max(self._count, len(lines)) - LAST, lines[-LAST:])

    def _add(self, lines: list[str]) -> list[str]:
        now = lines[: FIRST - self._shown]
        self._shown += len(now)
        later = lines[len(now) :]
        self._count += len(later)
        self._held.extend(later)
        return [_safe(line) for line in now]


def excerpt(text: str) -> list[str]:
    """The first and the last lines of a whole output."""
    lines = _lines(text)
    if len(lines) <= FIRST + LAST:
        return [_safe(line) for line in lines]
    return [_safe(line) for line in lines[:FIRST]] + _folded(len(lines) - FIRST - LAST, lines[-LAST:])


def _folded(left_out: int, last: list[str]) -> list[str]:
    note = [f"… {left_out} {'line' if left_out == 1 else 'lines'}"] if left_out > 0 else []
    return note + [_safe(line) for line in last]


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n") if text.strip("\n") else []


def _safe(line: str) -> str:
    """A line as a terminal would end up showing it: the last state of a progress bar, without its colours."""
    line = _COLOUR.sub("", line.rstrip("\r").rpartition("\r")[2])
    shown = Screen().show(line[: 2 * WIDEST])
    return shown if len(shown) <= WIDEST else shown[: WIDEST - 1] + "…"
