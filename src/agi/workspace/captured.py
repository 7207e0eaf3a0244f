"""Keep the beginning and the end of a long output, count the rest exactly, and spill the whole where asked.

Memory stays bounded however much comes. Knows nothing of processes. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct


class Spill(Protocol):
    """Where a long output goes in full, or as far as there is room."""

    def write(self, data: bytes, /) -> object:
        """Take the next bytes."""

    def close(self) -> None:
        """No more will come."""


class Kept(Struct, frozen=True):
    """An output as it can be shown: all of it in `head`, or its two ends and how much lies between."""

    head: str
    tail: str = ""
    omitted_bytes: int = 0
    omitted_lines: int = 0


class Capture:
    """Takes bytes as they come; keeps at most `limit` of them, half from each end."""

    def __init__(self, limit: int, open_spill: Callable[[], Spill] | None = None) -> None:
        self._half = max(limit // 2, 4)
        self._open_spill = open_spill
        self._spill: Spill | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._lines = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._total += len(data)
        self._lines += data.count(b"\n")
        self._keep_whole(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Trimmed only when twice too long, so that each byte is moved once on average.
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def _keep_whole(self, data: bytes) -> None:
        """Once there is more than we keep, give the spill what came so far, then all that follows."""
        try:
            if self._spill is not None:
                self._spill.write(data)
            elif self._open_spill is not None and self._total > 2 * self._half:
                self._spill = self._open_spill()
                self._spill.write(bytes(self._head + self._tail))
                self._spill.write(data)
        except OSError:
            # A full disk must not fail the command; what is kept in memory is still shown.
            self._open_spill = self._spill = None

    def finish(self) -> Kept:
        """Close the spill and say what is to be shown."""
        if self._spill is not None:
            self._spill.close()
        if self._total <= 2 * self._half:
            return Kept(bytes(self._head + self._tail).decode(errors="replace"))
        head = _without_cut_end(bytes(self._head))
        tail = bytes(self._tail[-self._half :]).lstrip(_CONTINUATION)
        return Kept(
            head=head.decode(errors="replace"),
            tail=tail.decode(errors="replace"),
            omitted_bytes=self._total - len(head) - len(tail),
            omitted_lines=self._lines - head.count(b"\n") - tail.count(b"\n"),
        )


_CONTINUATION = bytes(range(0x80, 0xC0))


def _without_cut_end(data: bytes) -> bytes:
    """Leave out a character at the end of which only the first bytes are there."""
    for back in range(1, min(4, len(data)) + 1):
        first = data[-back]
        if first >= 0xC0:
            length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            return data[:-back] if length > back else data
        if first < 0x80:
            return data
    return data
