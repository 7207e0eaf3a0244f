"""Repositories inside a workspace: where they are, and what in each of them tells git which programs to start.

A repository is what git takes for one: a `.git`, be it a folder, a file that points to one or a link, and any folder
that looks like one inside. Folders are listed again only when they have changed. Bounded in number and time, and says
when that was not enough. May import: sandbox.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from agi.sandbox.homes import within
from agi.sandbox.settings import dangers
from agi.sandbox.stepping import FOLDER, beginning, beneath, is_closed, opened, reopen

MOST_FOLDERS = 30_000
FIRST_S, LONGEST_S = 0.2, 0.03
"""How long a look may take: the first, which lists all folders, and those that list what has changed."""
_SETTLED_NS = 50_000_000
"""How old a change must be for the next one to have another time."""
_LARGEST = 256 * 1024
_LARGEST_HOOK = 1 << 20
_LONGEST_NAME = 8_192
_POINTER = b"gitdir: "
_MOST_HOOKS = 200
_SKIPPED = (".git", ".agi")
"""What is protected by other means at the top of a workspace."""

Stamp = tuple[int, ...]
_Listing = tuple[Stamp, tuple[str, ...], tuple[str, ...]]
"""When a folder was as it was listed, the folders in it, and the repositories."""


class Element(Struct, frozen=True):
    """One file that steers git: where, which, what is in it, and what of it could start a program."""

    path: str
    stamp: Stamp
    content: bytes | None = None
    """To be put back; None if it was too large to keep."""
    mode: int = 0
    is_link: bool = False
    dangers: frozenset[str] = frozenset()
    leads: bool = False
    """Whether it leads git to other files that steer it."""


class Finder:
    """Finds the repositories of one workspace, again and again."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._listed: dict[str, _Listing] = {}
        self.has_said = False
        """Whether it was told that not all could be looked at."""

    def find(self, closed: dict[str, Stamp], *, may_open: bool) -> tuple[list[str], bool]:
        """Their paths, those near the top first; and whether that is all of them.

        Folders that are closed to us are noted, or opened if they are ours and not noted: then a command closed them.
        """
        found: list[str] = []
        queue = deque([self._workspace])
        until, seen = time.monotonic() + (LONGEST_S if self._listed else FIRST_S), 0
        listed: dict[str, _Listing] = {}
        while queue:
            seen += 1
            if seen > MOST_FOLDERS or (not seen % 64 and time.monotonic() > until):
                self._listed.update(listed)  # the next look gets further
                return found, False
            path = queue.popleft()
            try:
                info = os.lstat(path)
                stamp: Stamp = (info.st_dev, info.st_ino, info.st_ctime_ns)
                known = self._listed.get(path)
                if known is None or known[0] != stamp:
                    is_settled = time.time_ns() - info.st_ctime_ns > _SETTLED_NS
                    known = (stamp if is_settled else (), *self._list(path))
            except PermissionError:
                if self._is_opened(path, closed, may_open=may_open):
                    queue.appendleft(path)
                continue
            except OSError:
                continue
            listed[path] = known
            found += known[2]
            queue.extend(known[1])
        self._listed = listed
        return found, True

    def _is_opened(self, path: str, closed: dict[str, Stamp], *, may_open: bool) -> bool:
        inside = os.path.relpath(path, self._workspace)
        with suppress(OSError), opened(os.open(self._workspace, FOLDER)) as root, opened(beneath(root, inside)) as fd:
            info = os.fstat(fd)
            stamp: Stamp = (info.st_dev, info.st_ino, info.st_ctime_ns)
            if not may_open:
                closed[path] = stamp
            elif closed.get(path) != stamp and is_closed(fd, os.R_OK | os.X_OK):
                reopen(fd)
                return True
        return False

    def _list(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        folders, repositories, names = [], [], set()
        with os.scandir(path) as entries:
            for entry in entries:
                names.add(entry.name)
                if path == self._workspace and entry.name in _SKIPPED:
                    continue
                if entry.name.lower() == ".git":
                    repositories.append(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
        if "HEAD" in names and ({"objects", "refs"} <= names or "commondir" in names):
            repositories.append(path)
        return tuple(folders), tuple(repositories)


def elements(entry: str, workspace: str) -> Iterator[Element]:
    """What steers git in a repository, its pointers included; nothing if there is none."""
    try:
        info = os.lstat(entry)
    except OSError:
        return
    folder = entry
    if not stat.S_ISDIR(info.st_mode):
        yield from _one(entry, _read(entry, _LARGEST), frozenset(), leads=True)
        folder = os.path.realpath(entry)
    if os.path.isfile(folder):
        # As much of it as can name a place: git does not mind what follows.
        pointer = _head(folder, _LONGEST_NAME) or b""
        if not pointer.startswith(_POINTER):
            return
        folder = _resolved(os.path.dirname(entry), pointer.removeprefix(_POINTER))
    yield from _of_folder(folder, workspace)
    common = f"{folder}/commondir"
    if os.path.lexists(common):
        yield from _one(common, _read(common, _LARGEST), frozenset(), leads=True)
        other = _resolved(folder, _head(common, _LONGEST_NAME) or b"")
        if other != os.path.realpath(folder):
            yield from _of_folder(other, workspace)


def _of_folder(folder: str, workspace: str) -> Iterator[Element]:
    for name in ("config", "config.worktree"):
        path = f"{folder}/{name}"
        if not os.path.lexists(path):
            continue
        content = _read(path, _LARGEST)
        yield from _one(path, content, _settings(folder, content, workspace))
    yield from _hooks(f"{folder}/hooks")


def _settings(folder: str, content: bytes | None, workspace: str) -> frozenset[str]:
    if content is None:
        return frozenset({"settings that cannot be read"})
    return dangers(content, lambda place: within(os.path.realpath(os.path.join(folder, place)), workspace))


def _hooks(folder: str) -> Iterator[Element]:
    if os.path.islink(folder):
        yield from _one(folder, None, frozenset(), leads=True)
    try:
        names = sorted(name for name in os.listdir(folder) if not name.endswith(".sample"))
    except OSError:
        return
    if len(names) > _MOST_HOOKS:
        yield from _one(folder, None, frozenset({"hooks/, too many"}))
    for name in names[:_MOST_HOOKS]:
        path = f"{folder}/{name}"
        if os.path.islink(path) or (os.access(path, os.X_OK) and not os.path.isdir(path)):
            content = _read(path, _LARGEST_HOOK)
            yield from _one(path, content, frozenset({f"hooks/{name} {hash(content)}"}))


def _one(path: str, content: bytes | None, found: frozenset[str], *, leads: bool = False) -> Iterator[Element]:
    try:
        info = os.lstat(path)
        if not stat.S_ISLNK(info.st_mode):
            yield Element(path, _stamp(info), content, stat.S_IMODE(info.st_mode), dangers=found, leads=leads)
            return
        target, there = os.fsencode(os.readlink(path)), os.stat(path)
    except OSError:
        return
    yield Element(path, _stamp(info) + _stamp(there), target, is_link=True, dangers=found, leads=True)


def _stamp(info: os.stat_result) -> Stamp:
    return info.st_dev, info.st_ino, info.st_ctime_ns, info.st_size, info.st_mode


def _resolved(folder: str, place: bytes) -> str:
    """Where git would go: only what ends a line is cut off, and a NUL ends it all."""
    name = place.rstrip(b"\r\n").partition(b"\0")[0]
    return os.path.realpath(os.path.join(folder, os.fsdecode(name)))


def _head(path: str, size: int) -> bytes | None:
    try:
        return beginning(path, size)
    except OSError:
        return None


def _read(path: str, largest: int) -> bytes | None:
    """The content of a file, but of nothing else and of none that is too large."""
    content = _head(path, largest + 1)
    return content if content is not None and len(content) <= largest else None
