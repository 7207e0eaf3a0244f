"""What a session has been shown of files: by which a stale write is told from one that is up to date.

One `Seen` belongs to one session and is shared by its tools. It holds digests, no content, and of so many files only.
May import: nothing of ours.
"""

from __future__ import annotations

_MOST = 10_000


class Seen:
    """The digest of each file's content when the session last read or wrote it, by its place in the workspace."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._failures: dict[str, int] = {}

    def note(self, place: str, digest: str) -> None:
        """The session knows this content now; what failed before it was shown no longer counts."""
        self._digests.pop(place, None)
        self._digests[place] = digest
        self._failures.pop(place, None)
        while len(self._digests) > _MOST:
            del self._digests[next(iter(self._digests))]

    def forget(self, place: str) -> None:
        """There is no such file any more."""
        self._digests.pop(place, None)
        self._failures.pop(place, None)

    def digest(self, place: str) -> str | None:
        """What the session knows of a file; None if it never saw it."""
        return self._digests.get(place)

    def failed(self, place: str) -> int:
        """Count an edit that did not fit; says how many there were since the file was last shown."""
        if len(self._failures) > _MOST:
            self._failures.clear()
        self._failures[place] = self._failures.get(place, 0) + 1
        return self._failures[place]
