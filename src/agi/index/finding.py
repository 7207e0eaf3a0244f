"""Which source files a workspace has and which of them changed: walked once, then only looked at again.

A second look asks the disk for the times of folders and files that are known, and lists again what changed. What git
ignores is left out, as everywhere. May import: index.languages, workspace.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from agi.errors import AgiError
from agi.index.languages import language_of
from agi.workspace.handle import Workspace
from agi.workspace.listing import Entry
from agi.workspace.walking import RULES_FILE, walk_visible

MOST_ENTRIES = 100_000
"""Files and folders that are looked at."""
MOST_FILES = 20_000
"""Source files that are known; those nearest to the root come first."""
WALK_AGAIN_S = 60.0
"""After so long everything is walked again: rules outside the workspace may have changed."""
UNSETTLED_NS = 20_000_000
"""A change this young may be followed by another with the same time."""


class Mark(Struct, frozen=True):
    """By what a change of a file is noticed."""

    size: int
    changed_ns: int


class Look(Struct, frozen=True):
    """What a look found: source files by path, how many others there are, and whether there are more."""

    marks: dict[str, Mark]
    others: frozenset[str]
    truncated: bool


class Finding:
    """Looks at one workspace, again and again."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}
        self._others: set[str] = set()
        self._rules: dict[str, Mark] = {}
        self._folders: dict[str, int] = {}
        self._truncated = False
        self._walked_at = float("-inf")

    def look(self, workspace: Workspace, stop: threading.Event | None = None) -> Look:
        """Say what is there now."""
        if time.monotonic() - self._walked_at > WALK_AGAIN_S or not self._look_again(workspace, stop):
            self._walk(workspace, stop)
        return Look(self._marks, frozenset(self._others), self._truncated)

    def _walk(self, workspace: Workspace, stop: threading.Event | None) -> None:
        began = time.time_ns()
        listing = walk_visible(workspace, limit=MOST_ENTRIES, measured=True, stop=stop)
        with _opened(workspace) as root:
            top = _mark(root, ".")
        self._marks, self._others, self._rules, self._folders = {}, set(), {}, {}
        self._folders["."] = _settled(top.changed_ns if top else 0, began)
        self._truncated = listing.truncated
        for entry in listing.entries:
            self._take(entry, entry.name, began)
        self._walked_at = time.monotonic() if not (stop and stop.is_set()) else float("-inf")

    def _take(self, entry: Entry, path: str, began: int) -> None:
        if entry.kind == "directory":
            self._folders[path] = _settled(entry.changed_ns, began)
        elif entry.kind == "file" and language_of(path):
            if len(self._marks) < MOST_FILES:
                self._marks[path] = Mark(entry.size, _settled(entry.changed_ns, began))
            else:
                self._truncated = True
        elif entry.kind == "file":
            self._others.add(path)
            if path.rpartition("/")[2] == RULES_FILE:
                self._rules[path] = Mark(entry.size, _settled(entry.changed_ns, began))

    def _look_again(self, workspace: Workspace, stop: threading.Event | None) -> bool:
        """Look at what is known; False if that is not enough and everything must be walked."""
        began = time.time_ns()
        with _opened(workspace) as root:
            if any(_mark(root, path) != mark for path, mark in self._rules.items()):
                return False
            changed = [path for path, at in self._folders.items() if _folder_changed(root, path, at)]
            if len(changed) > len(self._folders) // 4 + 8 or self._truncated:
                return False
            for path in changed:
                if not self._list_again(workspace, root, path, began, stop):
                    return False
            marks = {}
            for path, known in self._marks.items():
                mark = _mark(root, path)
                if mark is not None:
                    same = mark == known
                    marks[path] = known if same else Mark(mark.size, _settled(mark.changed_ns, began))
            self._marks = marks
        return True

    def _list_again(
        self, workspace: Workspace, root: int, folder: str, began: int, stop: threading.Event | None
    ) -> bool:
        """List one folder again; False if folders or rules in it came or went."""
        top = _mark(root, folder)
        try:
            listing = walk_visible(workspace, folder, depth=1, limit=MOST_ENTRIES, measured=True, stop=stop)
        except AgiError:
            return False
        above = "" if folder == "." else f"{folder}/"
        files = {above + entry.name: entry for entry in listing.entries if entry.kind == "file"}
        folders = {above + entry.name for entry in listing.entries if entry.kind == "directory"}
        rules = above + RULES_FILE
        if top is None or listing.truncated or (rules in files) != (rules in self._rules):
            return False
        if folders != {path for path in self._folders if path != "." and _is_in(path, above)}:
            return False
        self._others = {path for path in self._others if path in files or not _is_in(path, above)}
        self._marks = {path: mark for path, mark in self._marks.items() if path in files or not _is_in(path, above)}
        for path, entry in files.items():
            if path not in self._marks:
                self._take(entry, path, began)
        self._folders[folder] = _settled(top.changed_ns, began)
        return True


def _is_in(path: str, above: str) -> bool:
    """Whether something stands in a folder itself, not deeper."""
    return path.startswith(above) and "/" not in path[len(above) :]


def _settled(changed_ns: int, began: int) -> int:
    """A time that can be trusted to change with the next change; 0, which none has, if it is too young for that."""
    return changed_ns if changed_ns < began - UNSETTLED_NS else 0


def _folder_changed(root: int, path: str, at: int) -> bool:
    mark = _mark(root, path)
    return mark is None or mark.changed_ns != at


def _mark(root: int, path: str) -> Mark | None:
    """Size and time of what is at a path. Nothing is opened, so where a link on the way leads does not matter."""
    try:
        found = os.stat(path, dir_fd=root, follow_symlinks=False)
    except OSError:
        return None
    return Mark(found.st_size, found.st_ctime_ns)


@contextmanager
def _opened(workspace: Workspace) -> Iterator[int]:
    with workspace.pinned() as folder:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)
