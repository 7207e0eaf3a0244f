"""What is in a folder, and in the folders below it: bounded, sorted by name, never through a link.

Takes an open folder, or a function that lists one; which folder may be opened is handle's business.
May import: workspace.beneath.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Literal

from msgspec import Struct

from agi.workspace.beneath import join

Kind = Literal["file", "directory", "symlink", "other"]

SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".agi", "node_modules", ".venv", "__pycache__", ".tox", ".nox"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
"""Folders a walk does not enter: made by tools, large, and rarely meant."""


class Entry(Struct, frozen=True):
    """Something in a folder; in a walk, `name` is its path from the root."""

    name: str
    kind: Kind
    size: int
    changed_ns: int = 0
    """When it was last written, moved or given other rights; of a folder, also when something in it came or went."""


class Listing(Struct, frozen=True):
    """Entries found; `truncated` if there were more than the limit."""

    entries: tuple[Entry, ...]
    truncated: bool


def list_folder(fd: int, limit: int) -> Listing:
    """List an open folder. Of one with more than `limit` entries, those the disk names first are shown."""
    with os.scandir(fd) as found:
        entries = [_entry(item) for item in islice(found, limit + 1)]
    shown = sorted(entries[:limit], key=lambda entry: entry.name)
    return Listing(tuple(shown), len(entries) > limit)


def _entry(item: os.DirEntry[str]) -> Entry:
    try:
        found = item.stat(follow_symlinks=False)
    except OSError:
        return Entry(item.name, _kind(item), 0)
    return Entry(item.name, _kind(item), found.st_size, found.st_ctime_ns)


def _kind(item: os.DirEntry[str]) -> Kind:
    if item.is_symlink():
        return "symlink"
    if item.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if item.is_file(follow_symlinks=False) else "other"


def walk(list_one: Callable[[str], Listing], start: str, *, depth: int, limit: int) -> Listing:
    """List a folder and those below it, nearest first, so that a limit cuts off what is deepest."""
    ahead = deque([("" if start == "." else start, 1)])
    found: list[Entry] = []
    truncated = False
    while ahead and len(found) <= limit:
        folder, level = ahead.popleft()
        listing = list_one(folder or ".")
        truncated = truncated or listing.truncated
        for entry in listing.entries:
            if entry.kind == "directory" and entry.name in SKIPPED:
                continue
            path = join(folder, entry.name)
            found.append(Entry(path, entry.kind, entry.size, entry.changed_ns))
            if entry.kind == "directory" and level < depth:
                ahead.append((path, level + 1))
    return Listing(tuple(found[:limit]), truncated or len(found) > limit)
