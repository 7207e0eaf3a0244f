"""What a server writes to its output, taken apart into messages: bounded, and with patience for what is no message.

A log line is skipped and remembered. A message that is too long or cannot be read is answered in the server's place, if
it can be told which call it was for, so that nobody waits for it. Pure. May import: mcp.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from agi.mcp.base import LARGEST_MESSAGE

_END = 4_096
"""How much of both ends of a message that is not read is looked at for what it answers."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')
_IS_RESULT = re.compile(rb'"(?:result|error)"\s*:')


class Lines:
    """Takes bytes as they come; gives whole lines, and what is known of those that are too long."""

    def __init__(
        self, take: Callable[[bytes], None], broken: Callable[[int | None], None], most: int = LARGEST_MESSAGE
    ) -> None:
        self._take = take
        self._broken = broken
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = b""

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._grow(line)
            self._finish()
        self._grow(rest)

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._most:
            self._parts.append(piece)
            return
        if self._parts:
            self._head = b"".join(self._parts)[:_END]
            self._parts = []
        self._tail = (self._tail + piece)[-_END:]

    def _finish(self) -> None:
        line, size = b"".join(self._parts), self._size
        head, tail, self._parts, self._size, self._head, self._tail = self._head, self._tail, [], 0, b"", b""
        if size > self._most:
            self._broken(answered(head + b" " + tail))
        elif line.strip():
            self._take(line)


def answered(text: bytes) -> int | None:
    """The id of the call that a message answers, as far as its two ends tell; None if they do not."""
    head, tail = text[:_END], text[-_END:]
    if not _IS_RESULT.search(head) and not _IS_RESULT.search(tail):
        return None
    found = _ID.findall(head[:200]) or _ID.findall(tail[-200:])[-1:]
    return int(found[0]) if found else None


class Said:
    """The last lines of a server that are no messages, for people."""

    def __init__(self, lines: int = 20, longest: int = 400) -> None:
        self._lines: deque[str] = deque(maxlen=lines)
        self._longest = longest
        self._open = b""

    def add(self, data: bytes) -> None:
        """Take some of what it wrote to stderr."""
        *whole, rest = (self._open + data).split(b"\n")
        self._open = rest[-4 * self._longest :]
        for line in whole[-20:]:
            self.note(line)

    def note(self, line: bytes) -> None:
        """Take one line."""
        if text := line[: 4 * self._longest].decode(errors="replace").strip():
            self._lines.append(text[: self._longest])

    def text(self) -> str:
        """All of it."""
        left = self._open.decode(errors="replace").strip()[: self._longest]
        return "\n".join([*self._lines, *([left] if left else [])])
