"""What a session has been shown of files: by which a stale write is told from one that is up to date.

One `Seen` belongs to one session and is shared by its tools. It holds digests and line numbers, no content, and of so
many files only. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

_MOST = 10_000
_MOST_PIECES = 100


class Shown(Struct, frozen=True):
    """Which lines (from 0) of a file were shown, and how many it has; None where they were not counted."""

    lines: Sequence[range] = ()
    total: int | None = None

    def gap(self) -> range | None:
        """The first lines that were not shown, an empty range if nobody counted; None if all of them were."""
        if self.total is None:
            return range(0)
        first = self.lines[0] if self.lines else range(0)
        if first.start > 0 or not first:
            return range(first.start or self.total) if self.total else None
        end = self.lines[1].start if len(self.lines) > 1 else self.total
        return range(first.stop, end) if first.stop < end else None

    def joined(self, more: Shown) -> Shown:
        """What was shown before and what is shown now, in order, pieces that touch put together."""
        pieces: list[range] = []
        for piece in sorted((one for one in (*self.lines, *more.lines) if one), key=lambda one: one.start):
            if pieces and piece.start <= pieces[-1].stop:
                pieces[-1] = range(pieces[-1].start, max(pieces[-1].stop, piece.stop))
            else:
                pieces.append(piece)
        return Shown(pieces[:_MOST_PIECES], more.total)


class _Known(Struct, frozen=True):
    digest: str
    shown: Shown | None
    """What was shown of it; None for all of it."""


class Seen:
    """The digest of each file's content when the session last read or wrote it, by its place in the workspace."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._failures: dict[str, int] = {}

    def note(self, place: str, digest: str, *, shown: Shown | None = None) -> None:
        """The session knows this content now, all of it or some lines; what failed before no longer counts."""
        before = self._known.pop(place, None)
        if shown is not None:
            already = before.shown if before is not None and before.digest == digest else Shown()
            shown = None if already is None else already.joined(shown)
        self._known[place] = _Known(digest, None if shown is None or shown.gap() is None else shown)
        self._failures.pop(place, None)
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def forget(self, place: str) -> None:
        """There is no such file any more."""
        self._known.pop(place, None)
        self._failures.pop(place, None)

    def places(self) -> tuple[str, ...]:
        """The files the session knows, the one it was shown or wrote last at the end."""
        return tuple(self._known)

    def digest(self, place: str) -> str | None:
        """What the session knows of a file, if only a part; None if it never saw it."""
        known = self._known.get(place)
        return None if known is None else known.digest

    def unshown(self, place: str) -> range | None:
        """The first lines (from 0) that were not shown, an empty range if it is not known which; None if all were."""
        known = self._known.get(place)
        return None if known is None or known.shown is None else known.shown.gap()

    def failed(self, place: str) -> int:
        """Count an edit that did not fit; says how many there were since the file was last shown."""
        if len(self._failures) > _MOST:
            self._failures.clear()
        self._failures[place] = self._failures.get(place, 0) + 1
        return self._failures[place]
