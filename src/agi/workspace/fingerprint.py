"""A workspace's files as one short text, by which a result can be bound to the files it speaks for.

Nothing is read: it goes by names, kinds, sizes, rights, inode numbers and times. Whatever writes to a file moves its
ctime, which no program can set, so every change of content shows; so does a touch that changes nothing. Not covered are
what .gitignore files leave out, folders in SKIPPED, times of folders, the records of tasks, and in a very large
workspace what is deepest.
May import: workspace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from msgspec import Struct

from agi.workspace.handle import Workspace
from agi.workspace.walking import walk_visible

MOST_FILES = 200_000
"""How many files and folders are looked at."""
TICK_NS = 20_000_000
"""No clock of a file system is coarser: what was written longer ago cannot be written again at the same time."""
_TRIES = 3

Stamp = tuple[int, ...]


class Tree(Struct, frozen=True):
    """The files at one moment: a digest of all, and what each looked like."""

    digest: str
    stamps: dict[str, Stamp]

    def altered_since(self, before: Tree) -> tuple[str, ...]:
        """The files that were there before and are others now, or gone."""
        return tuple(path for path, stamp in before.stamps.items() if self.stamps.get(path) != stamp)

    def added_since(self, before: Tree) -> tuple[str, ...]:
        """The files that were not there before."""
        return tuple(path for path in self.stamps if path not in before.stamps)


def take_tree(workspace: Workspace, *, clock: Callable[[], int] = time.time_ns) -> Tree:
    """Look at all files now. Two looks are alike only if nothing changed in between."""
    stamps: dict[str, Stamp] = {}
    for _ in range(_TRIES):
        stamps = _stamps(workspace)
        now = clock()
        newest = max((stamp[1] for stamp in stamps.values() if stamp and stamp[1] <= now), default=0)
        if newest <= now - TICK_NS:
            break
        # A file that changes again within the same tick of the clock would look the same.
        time.sleep((newest + TICK_NS - now) / 1e9)
    return Tree(_digest(stamps), stamps)


def _stamps(workspace: Workspace) -> dict[str, Stamp]:
    listing = walk_visible(workspace, limit=MOST_FILES)
    with workspace.pinned() as root:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        seen = (one for one in listing.entries if not _is_kept_by_us(one.name))
        return {one.name: () if one.kind == "directory" else _stamp(one.name, folder) for one in seen}
    finally:
        os.close(folder)


def _is_kept_by_us(name: str) -> bool:
    """The record of a task is written by the harness, at its own time, and is part of nobody's work."""
    parts = name.split("/")
    return len(parts) == 4 and parts[:2] == [".agents", "tasks"] and parts[3] in ("task.json", "draft.json")


def _stamp(name: str, folder: int) -> Stamp:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return (0, 0)
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


def _digest(stamps: dict[str, Stamp]) -> str:
    from hashlib import sha256  # late: it loads OpenSSL, and most turns change nothing

    lines = (f"{name!r}{stamp}" for name, stamp in sorted(stamps.items()))
    return sha256("\n".join(lines).encode()).hexdigest()[:32]
