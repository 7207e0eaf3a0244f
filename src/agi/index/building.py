"""Bring the index up to date with the workspace: what is new, changed or gone since it was written.

Files are found as every reader finds them, without what .gitignore names, and read through the workspace's handle;
links, pipes and what may not be read are passed over. Work goes in batches, each kept when it is done, so that an
interrupted build goes on where it was. Blocking: to be called in a thread. May import: errors, index, workspace.
"""

from __future__ import annotations

import stat
import threading
from array import array
from collections.abc import Sequence

from msgspec import Struct

from agi.errors import AgiError
from agi.index.chunks import LARGEST_FILE, cut
from agi.index.postings import MOST_CHUNKS, Indexed, Overtaken, Postings
from agi.workspace.fingerprint import take_tree
from agi.workspace.handle import Workspace

MOST_FILES = 50_000
BATCH_FILES = 1_000
BATCH_BYTES = 16 << 20
_TOO_DEAD = 1 / 3
_FEW = 1_000
_MOST_BATCHES = 200


class Built(Struct, frozen=True):
    """What was done: files indexed anew, and taken out; whether all there are are in the index now."""

    indexed: int = 0
    gone: int = 0
    complete: bool = True


def bring_up_to_date(workspace: Workspace, kept: Postings, stop: threading.Event) -> Built:
    """Index what changed; ends early, between files, once `stop` is set."""
    if _is_worn(kept):
        kept.remove()
    try:
        return _Build(workspace, kept, stop).run()
    except Overtaken:  # another process is at the same work, and its result is as good
        return Built(complete=False)


def _is_worn(kept: Postings) -> bool:
    """Whether so much is dead, or in so many pieces, that making it anew is better than going on."""
    counted = kept.counted()
    worn = counted.dead > max(_FEW, counted.chunks * _TOO_DEAD)
    return worn or counted.batches > _MOST_BATCHES or counted.chunks > MOST_CHUNKS * 0.9


class _Build:
    def __init__(self, workspace: Workspace, kept: Postings, stop: threading.Event) -> None:
        self._workspace = workspace
        self._kept = kept
        self._stop = stop
        self._next = kept.counted().chunks
        self._files: list[Indexed] = []
        self._postings: dict[str, array[int]] = {}
        self._bytes = 0

    def run(self) -> Built:
        known = {file.path: file.stamp for file in self._kept.files()}
        there = _files(self._workspace)
        whole = len(there) <= MOST_FILES
        if not whole:
            # Nearest first, so that a limit leaves out what is deepest.
            nearest = sorted(there, key=lambda path: (path.count("/"), path))[:MOST_FILES]
            there = {path: there[path] for path in nearest}
        gone = [path for path in known if path not in there]
        changed = [path for path, stamp in there.items() if known.get(path) != stamp]
        if gone:
            self._kept.change(gone, (), {})
        for n, path in enumerate(changed):
            if self._stop.is_set():
                whole = False
                changed = changed[:n]
                break
            self._take(path, there[path])
        self._flush()
        return Built(len(changed), len(gone), whole)

    def _take(self, path: str, stamp: str) -> None:
        lengths: list[int] = []
        for chunk in cut(self._read(path)):
            number = self._next + len(lengths)
            if number >= MOST_CHUNKS:
                break
            lengths.append(min(chunk.length, 0xFFFF))
            for term, count in chunk.counts.items():
                row = self._postings.get(term)
                if row is None:
                    row = self._postings[term] = array("I")
                row.append(number << 8 | min(count, 0xFF))
        self._files.append(Indexed(path, stamp, self._next, lengths))
        self._next += len(lengths)
        if len(self._files) >= BATCH_FILES or self._bytes >= BATCH_BYTES:
            self._flush()

    def _read(self, path: str) -> bytes:
        try:
            found = self._workspace.read_bytes(path, LARGEST_FILE)
        except (AgiError, OSError):  # vanished, became something else, or may not be read
            return b""
        self._bytes += len(found.data)
        return b"" if found.truncated else found.data

    def _flush(self) -> None:
        if self._files:
            self._kept.change((), self._files, self._postings)
        self._files, self._postings, self._bytes = [], {}, 0


def _files(workspace: Workspace) -> dict[str, str]:
    """The regular files there are, with what tells one state of a file from another."""
    stamps = take_tree(workspace).stamps
    return {path: _text(stamp) for path, stamp in stamps.items() if _is_file(stamp) and _is_text(path)}


def _is_file(stamp: Sequence[int]) -> bool:
    return len(stamp) == 5 and stat.S_ISREG(stamp[4])


def _is_text(path: str) -> bool:
    """Whether a name can be shown and kept; names are bytes, and some are no UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(stamp: Sequence[int]) -> str:
    return ",".join(str(number) for number in stamp[:4])
