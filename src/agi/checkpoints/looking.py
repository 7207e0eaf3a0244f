"""A look at a whole workspace: every name and its stamp, without reading a byte of any file.

Starts at the folder the workspace holds open and goes down name by name, never through a link, so it cannot be led
out; stays on one disk; leaves out what is ignored. May import: errors, workspace, checkpoints.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice

from msgspec import Struct, field

from agi.checkpoints.ignoring import Ignored, RuleBook
from agi.checkpoints.nodes import IGNORED, Known, Stamp
from agi.workspace.handle import SKIPPED, Workspace
from agi.workspace.walking import RULES_FILE

DEEPEST = 100
MOST = 100_000
"""How many names are looked at."""
OWN_PREFIX = ".agi-undo-"
"""What a revert in the making calls its files; they are nobody's."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TAKEN = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)


class Look(Struct):
    """What a look found."""

    there: set[str] = field(default_factory=set)
    """Everything that is covered, folders too."""
    fresh: dict[str, Stamp] = field(default_factory=dict)
    """Those of them that are not as they were known to be."""
    passed: dict[str, str] = field(default_factory=dict)
    """What is not covered, and why: `ignored`, `special` or `other_device`."""
    stamps: dict[str, Stamp] = field(default_factory=dict)
    """Of files that are ignored."""
    closed: set[str] = field(default_factory=set)
    """Folders that could not be listed, or not to their end."""
    missing: set[str] = field(default_factory=set)
    """Paths that were asked for and are not there."""
    cut: bool = False
    """Whether there is more than is looked at."""

    def take(self, path: str, stamp: Stamp, known: Known | None) -> None:
        """Something is there."""
        self.there.add(path)
        if known is None or known.stamp != stamp:
            self.fresh[path] = stamp


@contextmanager
def root_of(workspace: Workspace) -> Iterator[int]:
    """The workspace's folder, open for listing."""
    with workspace.pinned() as path:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def folder_at(root: int, path: str) -> Iterator[int]:
    """A folder below the root, reached without passing a link; raises OSError."""
    names = path.split("/") if path else []
    if not {"", ".", ".."}.isdisjoint(names):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    fd = os.dup(root)
    try:
        for name in names:
            below = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def look(
    workspace: Workspace, root: int, known: Mapping[str, Known], rules: RuleBook, also: Collection[str] = ()
) -> Look:
    """Look at everything; `also` are paths that count even where they are ignored."""
    return _Walk(known, frozenset(also), os.fstat(root).st_dev, rules).whole(root, rules.above(workspace))


def look_at(root: int, known: Mapping[str, Known], paths: Collection[str], new: Collection[str]) -> Look:
    """Look at single files, and at the folders above them that are known or, as in `new`, were not there before."""
    found = Look()
    above = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"}
    for path in {*above, *paths}:
        before = known.get(path)
        try:
            stamp = _status(root, path)
        except (FileNotFoundError, NotADirectoryError):
            found.missing.add(path)
            continue
        except OSError:
            if before is not None:
                found.there.add(path)  # it cannot be looked at, which does not mean that it is gone
            continue
        is_known = before is not None and before.node.kind != "passed"
        if stamp is not None and (path in paths or path in new or is_known):
            found.take(path, stamp, before)
    return found


def _status(root: int, path: str) -> Stamp | None:
    """The stamp of what is at a path; None if it is nothing that is covered."""
    folder, _, name = path.rpartition("/")
    with folder_at(root, folder) as fd:
        info = os.stat(name, dir_fd=fd, follow_symlinks=False)
    kind = stat.S_IFMT(info.st_mode)
    if kind == stat.S_IFDIR:
        return (info.st_mode, 0, 0, 0, info.st_ino)
    return (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino) if kind in _TAKEN else None


class _Walk:
    """One walk; what it knows while it is under way."""

    def __init__(self, known: Mapping[str, Known], also: frozenset[str], device: int, book: RuleBook) -> None:
        self._known = known
        self._also = also
        self._device = device
        self._book = book
        self._look = Look()
        self._left = MOST

    def whole(self, root: int, rules: Ignored) -> Look:
        self._folder(root, "", rules, 0)
        info = os.fstat(root)
        self._look.take("", (info.st_mode, 0, 0, 0, info.st_ino), self._known.get(""))
        self._apart(root)
        return self._look

    def _folder(self, fd: int, base: str, rules: Ignored, depth: int) -> None:
        there, fresh, known = self._look.there, self._look.fresh, self._known
        items = self._items(fd, base)
        folders: list[tuple[str, str]] = []
        if RULES_FILE in [item.name for item in items]:
            rules = self._book.inside(fd, base, rules)
        for item in items:
            path = base + item.name
            before = known.get(path)
            if (before is None or before.node.kind == "passed") and self._is_ignored(item, path, rules):
                self._pass_over(item, path)
                continue
            try:
                info = item.stat(follow_symlinks=False)
            except OSError:
                continue  # gone meanwhile
            mode = info.st_mode
            kind = stat.S_IFMT(mode)
            if kind not in _TAKEN or info.st_dev != self._device:
                self._look.passed[path] = "special" if kind not in _TAKEN else "other_device"
                continue
            there.add(path)
            if kind == stat.S_IFDIR:
                folders.append((item.name, path))
                stamp = (mode, 0, 0, 0, info.st_ino)  # what is in it speaks for itself
            else:
                stamp = (mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
            if before is None or before.stamp != stamp:
                fresh[path] = stamp
        for name, path in folders:
            self._enter(fd, name, path, rules, depth + 1)

    def _items(self, fd: int, base: str) -> list[os.DirEntry[str]]:
        with os.scandir(fd) as found:
            items = list(islice(found, self._left + 1))
        if len(items) > self._left:
            self._look.cut = True
            self._look.closed.add(base.removesuffix("/"))
            items.pop()
        self._left -= len(items)
        return items

    def _enter(self, fd: int, name: str, path: str, rules: Ignored, depth: int) -> None:
        try:
            if depth > DEEPEST:
                raise PermissionError
            below = os.open(name, _FOLDER, dir_fd=fd)
        except OSError:
            self._look.closed.add(path)
            return
        try:
            self._folder(below, path + "/", rules, depth)
        finally:
            os.close(below)

    def _is_ignored(self, item: os.DirEntry[str], path: str, rules: Ignored) -> bool:
        if path in self._also:
            return False
        is_folder = item.is_dir(follow_symlinks=False)
        if (is_folder and item.name in SKIPPED) or item.name.startswith(OWN_PREFIX):
            return True
        return rules.names(path, is_folder)

    def _pass_over(self, item: os.DirEntry[str], path: str) -> None:
        """It is not covered, but of a file one can see whether it changes; what a revert makes is nobody's."""
        if item.name.startswith(OWN_PREFIX):
            return
        if not item.is_dir(follow_symlinks=False):
            try:
                info = item.stat(follow_symlinks=False)
            except OSError:
                return  # gone meanwhile
            self._look.stamps[path] = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
        self._look.passed[path] = IGNORED

    def _apart(self, root: int) -> None:
        """Look at single files in folders that were not entered, if they are known or asked for."""
        for path in (self._known.keys() | self._also) - self._look.there:
            before = self._known.get(path)
            was_passed = before is not None and before.node.kind == "passed" and path not in self._also
            if was_passed or self._was_listed(path):
                continue
            try:
                stamp = _status(root, path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                if path in self._known:
                    self._look.there.add(path)  # it cannot be looked at, which does not mean that it is gone
                continue
            if stamp is not None and not stat.S_ISDIR(stamp[0]):
                self._look.passed.pop(path, None)
                self._look.take(path, stamp, before)

    def _was_listed(self, path: str) -> bool:
        """Whether the folder a path is in was listed, so that what is not there is gone."""
        folder = path.rpartition("/")[0]
        seen = (not folder or folder in self._look.there) and folder not in self._look.closed
        return seen and path not in self._look.passed
