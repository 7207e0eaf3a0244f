"""Putting files back: all of them or none, each only if it still is what it was found to be.

New versions are written beside the old ones and change places with them in one step; what is taken away goes to a
folder aside until everything is done. A failure half way undoes what was done, in reverse. What a kill leaves half done
is the business of reverting, which knows both states of every path. May import: errors, workspace, checkpoints.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from agi.checkpoints.looking import OWN_PREFIX, folder_at
from agi.checkpoints.nodes import Change, Node, key_of, permissions
from agi.checkpoints.paths import shown
from agi.errors import Conflict, DiskFull, WorkspaceError
from agi.workspace.digests import digest_at
from agi.workspace.paths import refuse_writing
from agi.workspace.renaming import claim, exchange

Fetch = Callable[[Node], bytes | None]
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNFINISHED = "~"
_FULL = (errno.ENOSPC, errno.EDQUOT)


def restore(root: int, moves: Sequence[Change], fetch: Fetch, mark: str) -> None:
    """Make every path what its change says, from what it says is there; `mark` names the files in the making."""
    for one in moves:
        refuse_writing(one.path)
        if not {"", ".", ".."}.isdisjoint(one.path.split("/")):
            raise WorkspaceError(f"{shown(one.path)!r} is no path in the workspace.", hint="Nothing was changed.")
    work = _Work(root, moves, fetch, mark)
    with _explained(moves):
        try:
            work.prepare()
            for one in sorted(moves, key=_by_path, reverse=True):
                if one.before is not None and not _stays(one):
                    work.take_away(one)
            for one in sorted(moves, key=_by_path):
                if one.after is not None:
                    work.put(one, one.after)
        except BaseException:
            work.undo()
            raise
        finally:
            clean_up(root, moves, mark)


def clean_up(root: int, moves: Sequence[Change], mark: str) -> None:
    """Remove what a revert, done or cut off, left beside files; only what the store has as well."""
    for number, one in enumerate(moves):
        _clean_beside(root, one, _beside(mark, number))
    aside = OWN_PREFIX + mark
    with suppress(OSError):
        with folder_at(root, aside) as fd:
            for number, one in enumerate(moves):
                _discard(fd, str(number), one)
        os.rmdir(aside, dir_fd=root)


def _clean_beside(root: int, one: Change, name: str) -> None:
    with suppress(OSError), folder_at(root, one.path.rpartition("/")[0]) as fd:
        _discard(fd, name, one)
        os.unlink(name + _UNFINISHED, dir_fd=fd)


def _discard(fd: int, name: str, one: Change) -> None:
    with suppress(OSError):
        if any(node is not None and stands(fd, name, node) for node in (one.before, one.after)):
            os.unlink(name, dir_fd=fd)


def stands(folder: int, name: str, node: Node | None) -> bool:
    """Whether exactly this stands at a name."""
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return node is None
    if node is None:
        return False
    if node.kind == "folder":
        return stat.S_ISDIR(info.st_mode)
    if node.kind == "link":
        return stat.S_ISLNK(info.st_mode) and key_of(os.fsencode(os.readlink(name, dir_fd=folder))) == node.key
    return (
        stat.S_ISREG(info.st_mode)
        and permissions(info.st_mode) == node.mode
        and digest_at(folder, name) == node.key.hex()
    )


class _Work:
    """One restoration under way. Folders are opened anew for each thing done in them: they come and go as well."""

    def __init__(self, root: int, moves: Sequence[Change], fetch: Fetch, mark: str) -> None:
        self._root = root
        self._moves = moves
        self._fetch = fetch
        self._mark = mark
        self._numbers = {one.path: number for number, one in enumerate(moves)}
        self._staged: set[str] = set()
        self._undo: list[Callable[[], object]] = []

    def prepare(self) -> None:
        """Do what may well fail before anything is touched: look at what is there, write what shall be there."""
        for one in self._moves:
            try:
                with self._at(one.path) as (fd, name):
                    if not stands(fd, name, one.before):
                        raise _changed(one.path)
                    if one.after is not None and one.after.kind != "folder":
                        self._stage(fd, one.path, one.after)
            except (FileNotFoundError, NotADirectoryError):
                if one.before is not None:
                    raise _changed(one.path) from None

    def take_away(self, one: Change) -> None:
        """Move a file aside, or remove an empty folder; one that holds something else stays."""
        with self._at(one.path) as (fd, name):
            if one.before is not None and one.before.kind == "folder":
                self._remove_folder(fd, name, one)
            else:
                self._move_aside(fd, name, one)

    def put(self, one: Change, node: Node) -> None:
        """Put the new state in its place."""
        self._make_folders(one.path.rpartition("/")[0])
        with self._at(one.path) as (fd, name):
            if node.kind == "folder":
                self._put_folder(fd, name, one.path, node)
                return
            if one.path not in self._staged:
                self._stage(fd, one.path, node)
            if one.before is not None and _stays(one):
                if self._exchange(fd, name, one):
                    return
                self._move_aside(fd, name, one)
            try:
                claim(fd, self._beside(one.path), name)
            except FileExistsError:
                raise _changed(one.path) from None
            self._undo.append(lambda: self._remove(one.path, node))

    def undo(self) -> None:
        """Take everything back that was done."""
        for step in reversed(self._undo):
            with suppress(OSError):
                step()

    def _stage(self, fd: int, path: str, node: Node) -> None:
        data, name = self._fetch(node), self._beside(path)
        if data is None:
            message = f"What {shown(path)!r} held is no longer in the store."
            raise Conflict(message, hint="Nothing was changed.", code="checkpoint_gone")
        self._staged.add(path)
        # A folder that was made for it can only be removed again when it is empty.
        self._undo.append(lambda: _clean_beside(self._root, self._moves[self._numbers[path]], name))
        if node.kind == "link":
            os.symlink(os.fsdecode(data), name, dir_fd=fd)
            return
        with os.fdopen(os.open(name + _UNFINISHED, _NEW, 0o600, dir_fd=fd), "wb") as file:
            _take_over(file.fileno(), fd, path.rpartition("/")[2])
            os.fchmod(file.fileno(), node.mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(name + _UNFINISHED, name, src_dir_fd=fd, dst_dir_fd=fd)

    def _exchange(self, fd: int, name: str, one: Change) -> bool:
        """Let the new version and the old one change places, and see that it was the old one; False where it cannot."""
        staged = self._beside(one.path)
        if not exchange(fd, staged, name):
            return False
        self._undo.append(lambda: self._exchange_back(one))
        if not stands(fd, staged, one.before):
            raise _changed(one.path)
        return True

    def _exchange_back(self, one: Change) -> None:
        with self._at(one.path) as (fd, name):
            if stands(fd, name, one.after):
                os.rename(self._beside(one.path), name, src_dir_fd=fd, dst_dir_fd=fd)

    def _move_aside(self, fd: int, name: str, one: Change) -> None:
        aside, kept = OWN_PREFIX + self._mark, str(self._numbers[one.path])
        with suppress(FileExistsError):
            os.mkdir(aside, 0o700, dir_fd=self._root)
        with folder_at(self._root, aside) as there:
            os.rename(name, kept, src_dir_fd=fd, dst_dir_fd=there)
            self._undo.append(lambda: self._move_back(one.path, aside, kept))
            if not stands(there, kept, one.before):
                raise _changed(one.path)

    def _move_back(self, path: str, aside: str, kept: str) -> None:
        """Bring a file back, unless somebody put something new in its place."""
        with self._at(path) as (fd, name), folder_at(self._root, aside) as there:
            if stands(fd, name, None):
                os.rename(kept, name, src_dir_fd=there, dst_dir_fd=fd)

    def _remove(self, path: str, node: Node) -> None:
        with self._at(path) as (fd, name):
            if stands(fd, name, node):
                os.unlink(name, dir_fd=fd)

    def _remove_folder(self, fd: int, name: str, one: Change) -> None:
        try:
            mode = permissions(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
            os.rmdir(name, dir_fd=fd)
        except OSError:
            if one.after is not None:
                raise _changed(one.path) from None
            return  # something is in it that nobody wants to lose
        self._undo.append(lambda: self._make_folder(one.path, mode))

    def _put_folder(self, fd: int, name: str, path: str, node: Node) -> None:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=fd)
            self._undo.append(lambda: self._rmdir(path))
        with folder_at(self._root, path) as below:
            mode = permissions(os.fstat(below).st_mode)
            if mode != node.mode:
                os.fchmod(below, node.mode)
                self._undo.append(lambda: self._make_folder(path, mode))

    def _make_folders(self, path: str) -> None:
        """Make the folders that are missing above something."""
        at = ""
        for name in path.split("/") if path else ():
            at = f"{at}/{name}" if at else name
            with self._at(at) as (fd, last), suppress(FileExistsError):
                os.mkdir(last, dir_fd=fd)
                self._undo.append(lambda made=at: self._rmdir(made))  # type: ignore[misc]  # bound now, not later

    def _make_folder(self, path: str, mode: int) -> None:
        with self._at(path) as (fd, name):
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=fd)
            os.chmod(name, mode, dir_fd=fd)

    def _rmdir(self, path: str) -> None:
        with self._at(path) as (fd, name):
            os.rmdir(name, dir_fd=fd)

    def _beside(self, path: str) -> str:
        return _beside(self._mark, self._numbers[path])

    @contextmanager
    def _at(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder something is in, open, and its name there."""
        folder, _, name = path.rpartition("/")
        with folder_at(self._root, folder) as fd:
            yield fd, name


def _stays(one: Change) -> bool:
    """Whether the new state takes the place of the old one in one step: files and links do, folders stay folders."""
    if one.before is None or one.after is None:
        return False
    return (one.before.kind == "folder") is (one.after.kind == "folder")


def _by_path(one: Change) -> str:
    return one.path


def _beside(mark: str, number: int) -> str:
    return f"{OWN_PREFIX}{mark}-{number}"


def _take_over(fd: int, folder: int, name: str) -> None:
    """Give a new version the owner and the attributes of the one it replaces, as far as the system lets us."""
    with suppress(OSError):
        old = os.open(name, _READ, dir_fd=folder)
        try:
            info = os.fstat(old)
            with suppress(OSError):
                os.fchown(fd, info.st_uid, info.st_gid)
            for attribute in os.listxattr(old) if hasattr(os, "listxattr") else ():
                with suppress(OSError):
                    os.setxattr(fd, attribute, os.getxattr(old, attribute))
        finally:
            os.close(old)


@contextmanager
def _explained(moves: Sequence[Change]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull("The disk is full; nothing was changed.", hint="Free some space and try again.") from error
        names = ", ".join(shown(one.path) for one in moves[:5])
        message = f"The files could not be put back ({error.strerror}): {names}. Nothing was changed."
        raise WorkspaceError(message, hint="Look at their permissions.", code="revert_failed") from error


def _changed(path: str) -> Conflict:
    message = f"{shown(path)!r} was changed by someone else meanwhile."
    return Conflict(message, hint="Nothing was changed. Look at the preview again.", code="files_changed")
