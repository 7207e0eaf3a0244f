"""Protected files of a workspace looked at before a command and put back after it, where they cannot be kept from it.

For rungs that cannot except a file inside a folder. What a command put in their place is set aside, not thrown away: it
may have been the user. No step follows a link: what a command planted must not lead us out. Where we cannot look, no
command runs, and a folder that one closed is opened again. May import: errors, sandbox.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from agi.errors import Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.passing import closed_hint
from agi.sandbox.places import Places
from agi.sandbox.stepping import (
    FOLDER,
    beneath,
    is_closed,
    names_in,
    opened,
    reopen,
    set_aside,
    shown,
    write_new,
)

PROTECTED = (
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/hooks",
    ".mcp.json",
    ".agi/config.json",
    ".agi/agents.json",
    ".agi/mcp.json",
    ".agi/agents",
    ".agi/tools",
    ".agi/skills",
)
"""What a command must not change, files and folders with all that is in them."""
HOLDERS = (".git", ".agi")
"""What holds them: a link must stay that link, and what was not there must not be there."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LARGEST = 1 << 20
_MOST = 500


class _Seen(Struct, frozen=True):
    """What was at a path: a file's bytes and mode, a link's target, a folder, or something else."""

    kind: str
    content: bytes = b""
    mode: int = 0


class Watch:
    """A look at the protected files, taken when it is made."""

    def __init__(
        self,
        workspace: str,
        *,
        may_create_repository: bool = False,
        files: Sequence[str] = (),
        folders: Sequence[str] = (),
    ) -> None:
        self._workspace = workspace
        self._protected = (*PROTECTED, *files)
        self._holders = (*HOLDERS, *folders)
        self._may_create_repository = may_create_repository
        self._before = self._look()
        self._refuse_what_is_closed()

    def put_back(self) -> tuple[str, ...]:
        """Undo what was changed since; says what."""
        undone: list[str] = []
        # Once more after a folder was put back: what it holds could not be seen before.
        for _ in range(2):
            undone += [path or "." for path in self._closed(then=reopen)]
            after = self._look()
            for path in sorted(self._before.keys() | after.keys()):
                was, now = self._before.get(path), after.get(path)
                if was != now and self._is_protected(path, now) and self._undo(path, was):
                    undone.append(path)
        names = shown(", ".join(dict.fromkeys(undone)))
        return (f"put back, since commands may not change it: {names}",) if undone else ()

    def _is_protected(self, path: str, now: _Seen | None) -> bool:
        if self._may_create_repository and ".git" not in self._before and path.split("/")[0] == ".git":
            return False
        return path not in self._holders or now is not None  # a folder that was moved away is no danger

    def _refuse_what_is_closed(self) -> None:
        for path in self._closed():
            folder = os.path.join(self._workspace, path)
            said = f"{folder!r} is closed to its own user: what a command did there could not be seen."
            raise Unavailable(said, hint=closed_hint(folder.rstrip("/")), code="sandbox_failed")

    def _closed(self, then: Callable[[int], None] = lambda _: None) -> Iterator[str]:
        """Folders on the way to what is protected, and in it, that we cannot look into though they are ours."""
        with suppress(OSError), opened(os.open(self._workspace, FOLDER)) as root:
            known = (path for path, seen in self._before.items() if seen.kind == "folder")
            for path in dict.fromkeys(("", *self._holders, *self._protected, *known)):
                with suppress(OSError), opened(beneath(root, path)) as fd:
                    if is_closed(fd, os.R_OK | os.X_OK):
                        then(fd)
                        yield path

    def _look(self) -> dict[str, _Seen]:
        found: dict[str, _Seen] = {}
        with suppress(OSError), opened(os.open(self._workspace, FOLDER)) as root:
            for path in self._holders:
                if seen := _see(root, path):
                    found[path] = seen
            for path in self._protected:
                _gather(root, path, found)
        return found

    def _undo(self, path: str, was: _Seen | None) -> bool:
        folder, _, name = path.rpartition("/")
        try:
            with opened(os.open(self._workspace, FOLDER)) as root, opened(beneath(root, folder)) as parent:
                if is_closed(parent, os.R_OK | os.W_OK | os.X_OK):
                    reopen(parent)
                set_aside(parent, name)
                if was is not None:
                    _make(parent, name, was)
        except OSError:
            return False
        return True


def watch_over(confinement: Confinement, places: Places) -> Watch:
    """A look at what must not change in a workspace, and cannot be kept from commands."""
    return Watch(
        str(confinement.workspace),
        may_create_repository=confinement.may_create_repository,
        files=places.watched,
        folders=places.watched_folders,
    )


def _gather(root: int, path: str, found: dict[str, _Seen]) -> None:
    if len(found) >= _MOST or (seen := _see(root, path)) is None:
        return
    found[path] = seen
    if seen.kind == "folder":
        with suppress(OSError), opened(beneath(root, path)) as fd:
            for name in names_in(fd):
                if ".refused-" not in name:
                    _gather(root, f"{path}/{name}", found)


def _see(root: int, path: str) -> _Seen | None:
    folder, _, name = path.rpartition("/")
    with suppress(OSError), opened(beneath(root, folder)) as parent:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            return _Seen("link", os.fsencode(os.readlink(name, dir_fd=parent)))
        if stat.S_ISDIR(info.st_mode):
            return _Seen("folder")
        if stat.S_ISREG(info.st_mode) and info.st_size <= _LARGEST:
            return _Seen("file", _content(parent, name), stat.S_IMODE(info.st_mode))
        return _Seen("other", f"{info.st_ino} {info.st_size} {info.st_mtime_ns}".encode())
    return None


def _content(parent: int, name: str) -> bytes:
    with open(os.open(name, _FILE, dir_fd=parent), "rb") as file:
        return file.read(_LARGEST)


def _make(parent: int, name: str, was: _Seen) -> None:
    if was.kind == "link":
        os.symlink(os.fsdecode(was.content), name, dir_fd=parent)
    elif was.kind == "folder":
        os.mkdir(name, dir_fd=parent)
    elif was.kind == "file":
        write_new(parent, name, was.content, was.mode)
