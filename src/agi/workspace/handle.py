"""The workspace handle: the one door through which every path of a tool goes.

It holds the root open and resolves all paths beneath it; nothing outside can be read, listed, written or deleted, nor
can our own state and git's. Only regular files are read and written. Encodings, lines and edits are the tools'
business. May import: errors, workspace.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Self

from msgspec import Struct

from agi.errors import AgiError, NotFound, WorkspaceError
from agi.sandbox.holding import settled_ctime
from agi.workspace.beneath import LOOK, LOOK_FOLDER, Opener, Place, best_opener
from agi.workspace.listing import SKIPPED, Entry, Listing, list_folder, walk
from agi.workspace.opening import Opened, open_root
from agi.workspace.paths import explained, not_regular, refuse_reading, refuse_writing, relative_parts
from agi.workspace.replace import Change, Replacement, commit_all
from agi.workspace.targets import Target, close_folders, find_target, make_folders, remove_folders
from agi.workspace.unfinished import put_back

__all__ = ["SKIPPED", "Change", "Entry", "Listing", "ReadFile", "Workspace"]

READ_LIMIT = 8 * 1024 * 1024
"""How much of a file is read unless told."""
LIST_LIMIT = 10_000
"""How many entries are listed unless told."""
LOOKED_AT = 50_000
"""How many entries are looked at for changes."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


class ReadFile(Struct, frozen=True):
    """A file's bytes up to the limit asked for, its whole size and its permissions."""

    data: bytes
    size: int
    truncated: bool
    mode: int


class Workspace:
    """A folder an agent may work in, held open until closed."""

    def __init__(self, opened: Opened, *, opener: Opener | None = None) -> None:
        self.root = opened.root
        self._opened = opened
        self._roots = (str(opened.root), opened.given)
        self._opener = opener

    @classmethod
    def open(cls, path: str | Path, *, opener: Opener | None = None) -> Workspace:
        """Open a folder as a workspace; refuse what is missing or no folder."""
        return cls(open_root(path), opener=opener)

    def close(self) -> None:
        """Let go of the folder; closing twice is harmless."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def relative(self, path: str) -> str:
        """Write a path as it is named from the root; refuse one that leads out by its spelling."""
        return "/".join(relative_parts(path, self._roots)) or "."

    def locate(self, path: str, *, follow: bool = True) -> str:
        """Say where a path really leads, also if nothing is there yet; two names of one place get one answer."""
        target = self._target(path, follow=follow)
        os.close(target.folder)
        return target.location

    def read_link(self, path: str) -> str:
        """Say where the symbolic link at this path points; empty if there is none."""
        target = self._target(path, follow=False)
        try:
            if target.before is None or not stat.S_ISLNK(target.before.st_mode):
                return ""
            with explained(path):
                return os.readlink(target.name, dir_fd=target.folder)
        finally:
            os.close(target.folder)

    def open_file(self, path: str) -> BinaryIO:
        """Open a regular file for reading."""
        with explained(path):
            place = self._open(path, _READ)
            try:
                refuse_reading(place.location)
                if not stat.S_ISREG(os.fstat(place.fd).st_mode):
                    raise not_regular(path)
                return os.fdopen(place.fd, "rb")
            except BaseException:
                os.close(place.fd)
                raise

    def read_bytes(self, path: str, limit: int = READ_LIMIT) -> ReadFile:
        """Read a regular file, at most `limit` bytes of it."""
        with self.open_file(path) as file:
            info = os.fstat(file.fileno())
            data = file.read(min(limit, info.st_size) + 1)
            if info.st_size < len(data) <= limit:  # it grew, or is one that does not know its size
                data += file.read(limit + 1 - len(data))
        size = max(info.st_size, len(data))
        return ReadFile(data[:limit], size, len(data) > limit, stat.S_IMODE(info.st_mode))

    def exists(self, path: str) -> bool:
        """Tell whether anything is at this path; what leads out of the workspace is an error, not a no."""
        return self._look(path) is not None

    def is_dir(self, path: str) -> bool:
        """Tell whether a folder is at this path."""
        info = self._look(path)
        return info is not None and stat.S_ISDIR(info.st_mode)

    def list_dir(self, path: str = ".", limit: int = LIST_LIMIT) -> Listing:
        """List a folder, at most `limit` of its entries."""
        return self._list(path, limit, 0)

    def walk(self, path: str = ".", *, depth: int = 64, limit: int = LIST_LIMIT) -> Listing:
        """List a folder and those below it, as paths from the root; links and folders in SKIPPED are not entered."""
        start = self.relative(path)

        def list_one(folder: str) -> Listing:
            return self._list(folder, limit, 0) if folder == start else self._list_if_possible(folder, limit)

        return walk(list_one, start, depth=depth, limit=limit)

    def changed_at(self) -> int:
        """When one of the files was last written, made, moved, deleted or given other rights; as `time_ns` counts.

        Folders in SKIPPED do not count, and in a very large workspace what is deepest.
        """
        times = [entry.changed_ns for entry in self.walk(limit=LOOKED_AT).entries]
        return max([settled_ctime(os.fstat(self._opened.fd)), *times])

    def write_bytes(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace or create a file, and the folders above it; an existing one keeps its permissions unless told."""
        self.replace_all([Change(path, data, mode)])

    def delete(self, path: str) -> None:
        """Delete a file, or a link itself; folders are refused."""
        self.replace_all([Change(path, None)])

    def replace_all(self, changes: Sequence[Change], *, notes: Path | None = None) -> None:
        """Make several changes together or not at all. No two may be about one place.

        A folder `notes` makes that hold against a kill, too: `put_back` then undoes what was left half done.
        """
        made: list[tuple[int, str]] = []
        with ExitStack() as stack:
            stack.callback(close_folders, made)
            found = [(self._checked_target(change, stack), change) for change in changes]
            with explained(", ".join(change.path for change in changes)):
                try:
                    ready = [Replacement(_with_folders(target, stack, made), change) for target, change in found]
                    commit_all(ready, notes)
                except BaseException:
                    remove_folders(made)
                    raise

    def put_back(self, notes: Path) -> list[str]:
        """Undo changes of several files that a kill left half done; says which files are as before again."""
        return put_back(self._open, notes)

    @contextmanager
    def pinned(self, path: str = ".") -> Iterator[Path]:
        """Hold a folder open and give a way to it that stays right even if its names are swapped meanwhile."""
        with explained(path):
            place = self._open(path, LOOK_FOLDER)
        try:
            refuse_reading(place.location)
            by_descriptor = f"/proc/self/fd/{place.fd}"
            yield Path(by_descriptor) if os.path.exists(by_descriptor) else self.root / place.location
        finally:
            os.close(place.fd)

    def _open(self, path: str, flags: int) -> Place:
        if self._opened.fd < 0:
            raise WorkspaceError("The workspace is closed.", code="workspace_closed")
        if self._opener is None:
            self._opener = best_opener()
        return self._opener(self._opened.fd, self.relative(path), flags)

    def _look(self, path: str) -> os.stat_result | None:
        try:
            with explained(path):
                place = self._open(path, LOOK)
        except AgiError as error:
            if error.code in ("file_not_found", "not_a_directory"):
                return None
            raise
        try:
            return os.fstat(place.fd)
        finally:
            os.close(place.fd)

    def _list(self, path: str, limit: int, flags: int) -> Listing:
        with explained(path):
            place = self._open(path, _READ | os.O_DIRECTORY | flags)
            try:
                refuse_reading(place.location)
                return list_folder(place.fd, limit)
            finally:
                os.close(place.fd)

    def _list_if_possible(self, path: str, limit: int) -> Listing:
        """List a folder met on a walk; one that vanished, became a link or may not be read has nothing to show."""
        try:
            return self._list(path, limit, os.O_NOFOLLOW)
        except AgiError:
            return Listing((), False)

    def _target(self, path: str, *, follow: bool) -> Target:
        parts = relative_parts(path, self._roots)
        if not parts:
            raise not_regular(path)
        with explained(path):
            return find_target(self._open, parts, follow=follow)

    def _checked_target(self, change: Change, stack: ExitStack) -> Target:
        """Find where a change lands, and refuse what must not be changed; nothing is touched yet."""
        target = self._target(change.path, follow=change.data is not None)
        stack.callback(os.close, target.folder)
        refuse_writing(self.relative(change.path))
        refuse_writing(target.location)
        _refuse_replacing(change, target.before)
        return target


def _with_folders(target: Target, stack: ExitStack, made: list[tuple[int, str]]) -> Target:
    whole = make_folders(target, made)
    stack.callback(os.close, whole.folder)
    return whole


def _refuse_replacing(change: Change, before: os.stat_result | None) -> None:
    if before is None:
        if change.data is None:
            raise NotFound(
                f"{change.path!r} does not exist.", hint="There is nothing to delete.", code="file_not_found"
            )
        return
    deleting_link = change.data is None and stat.S_ISLNK(before.st_mode)
    if not stat.S_ISREG(before.st_mode) and not deleting_link:
        raise not_regular(change.path)
    if not deleting_link and not before.st_mode & 0o222:
        hint = "Make it writable first if it is meant to change."
        raise WorkspaceError(f"{change.path!r} is read-only.", hint=hint, code="read_only")
