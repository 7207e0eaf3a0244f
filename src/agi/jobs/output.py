"""What a command says, as it says it: the latest in memory, all of it in a file where asked, by offsets.

Memory stays bounded however much comes. Both channels are one text, in the order they came. Offsets count bytes of
UTF-8 from the beginning. Knows nothing of processes. May import: protocol, workspace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agi.protocol.jobs import JobOutput
from agi.workspace.captured import Spill

RING = 256 * 1024
"""How many of the last bytes are kept in memory, at least."""

_CONTINUATION = bytes(range(0x80, 0xC0))
_LOOK_AHEAD = 1000


class Output:
    """The growing text of one command."""

    def __init__(self, limit: int = RING, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._ring = bytearray()
        self._first = 0
        """The offset of the first byte in memory."""
        self._file: Spill | None = None
        self._path: Path | None = None
        self._listeners: set[Callable[[str], None]] = set()
        self.last_at = clock()
        """When something was last said."""

    @property
    def total(self) -> int:
        """How much was said."""
        return self._first + len(self._ring)

    def add(self, text: str) -> None:
        """Take what was said next."""
        data = text.encode(errors="replace")
        self._ring += data
        self.last_at = self._clock()
        if self._file is not None:
            self._file.write(data)
        # Trimmed only when twice too long, so that each byte is moved once on average.
        if len(self._ring) > 2 * self._limit:
            surplus = len(self._ring) - self._limit
            del self._ring[:surplus]
            self._first += surplus
        for listener in tuple(self._listeners):
            listener(text)

    def keep_in(self, file: Spill, path: Path) -> None:
        """Write what follows to a file too. What is no longer in memory is not in it, so offsets begin anew."""
        self._first = 0
        self._file, self._path = file, path
        file.write(bytes(self._ring))

    def finish(self) -> None:
        """No more will come; what the file has need not be in memory."""
        if self._file is None:
            return
        self._file.close()
        self._file = None
        if stored_size(self._path) >= self.total:
            self._first, self._ring = self.total, bytearray()

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with each piece that comes; gives what ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def read(self, since: int | None, limit: int) -> JobOutput:
        """The text since an offset, or the end of it: at most `limit` bytes."""
        if since is None:
            return self._latest(limit)
        at = min(max(since, 0), self.total)
        data = b""
        if at < self._first and self._path is not None:
            data = stored(self._path, at, min(limit, self._first - at))
        if not data:
            start = max(at, self._first)
            data = bytes(self._ring[start - self._first : start - self._first + limit])
            return piece(data, start, self.total, left_out=start - at)
        return piece(data, at, self.total)

    def pieces(self, offset: int) -> Iterator[tuple[str, int]]:
        """All that was said since an offset and is still kept, also what comes meanwhile: texts, and their ends."""
        at = offset
        while at < self.total:
            found = self.read(at, 2 * self._limit)
            if found.next <= at:
                return
            at = found.next
            yield found.text, at

    def tail(self, size: int) -> str:
        """The last bytes that are in memory, as text."""
        return bytes(self._ring[-size:]).lstrip(_CONTINUATION).decode(errors="replace")

    def _latest(self, limit: int) -> JobOutput:
        """The end of the text, from the beginning of a line if there is one near."""
        found = self.read(max(0, self.total - limit), limit)
        line, newline, rest = found.text.partition("\n")
        if found.start == 0 or not newline or len(line) > _LOOK_AHEAD:
            return found
        start = found.start + len(line.encode()) + 1
        return JobOutput(text=rest, start=start, next=found.next, total=found.total)


def piece(data: bytes, start: int, total: int, left_out: int = 0) -> JobOutput:
    """Bytes as text, up to the end of a line if more follows; half a character is left out at the beginning."""
    whole = data.lstrip(_CONTINUATION)
    start += len(data) - len(whole)
    if start + len(whole) < total:
        whole = whole[: whole.rfind(b"\n") + 1] or _without_cut_end(whole)
    text = whole.decode(errors="replace")
    return JobOutput(text=text, start=start, next=start + len(whole), total=total, left_out=left_out)


def stored(path: Path, offset: int, size: int) -> bytes:
    """A part of a file; nothing if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(fd, size, offset)
    except OSError:
        return b""
    finally:
        os.close(fd)


def stored_size(path: Path | None) -> int:
    """How long a file is; 0 if there is none."""
    try:
        return os.lstat(path).st_size if path is not None else 0
    except OSError:
        return 0


def _without_cut_end(data: bytes) -> bytes:
    for back in range(1, min(4, len(data)) + 1):
        first = data[-back]
        if first < 0x80:
            return data
        if first >= 0xC0:
            length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            return data[:-back] if length > back and len(data) > back else data
    return data
