"""Paths as text: what a path means beneath a root, which places are off limits, and what an OS error says about one.

Pure functions. The kernel has the last word on where a path leads (see beneath); the rules here are asked about the
place it really led to, so a symbolic link is no way around them. May import: errors.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from agi.errors import AgiError, NotFound, WorkspaceError

NOT_REGULAR = "not_a_regular_file"

_OUR_FOLDER = ".agi"
_SERVERS = ".mcp.json"
_SECRET_FILES = ("agi.sqlite", "daemon.json")
_LONGEST_PATH = 4095
_LONGEST_NAME = 255
_STAY_INSIDE = "Use a path inside the workspace, relative to its root."


def relative_parts(path: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Split a path into names beneath the root; an absolute one must begin with one of `roots`."""
    _refuse_unusable(path)
    names = _normalised(path)
    if not path.startswith("/"):
        return names
    for root in roots:
        above = tuple(name for name in root.split("/") if name)
        if names[: len(above)] == above:
            return names[len(above) :]
    raise WorkspaceError(f"{path!r} is outside the workspace.", hint=_STAY_INSIDE)


def _refuse_unusable(path: str) -> None:
    if not path:
        raise WorkspaceError("The path is empty.", hint=_STAY_INSIDE)
    if "\0" in path:
        raise WorkspaceError("The path holds a NUL character.", hint=_STAY_INSIDE)
    if path.startswith("~"):
        raise WorkspaceError(f"{path!r} begins with a tilde, which is not expanded.", hint=_STAY_INSIDE)
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        raise WorkspaceError("The path is not valid text.", hint=_STAY_INSIDE) from None
    if len(raw) > _LONGEST_PATH or max(map(len, raw.split(b"/"))) > _LONGEST_NAME:
        raise WorkspaceError(f"The path {path[:80]!r}… is too long.", hint=_STAY_INSIDE)


def _normalised(path: str) -> tuple[str, ...]:
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if not names:
                raise WorkspaceError(f"{path!r} leads out of the workspace.", hint=_STAY_INSIDE)
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return tuple(names)


def refuse_reading(location: str) -> None:
    """Refuse the files that hold our own state: the log, its mirrors and the daemon's token."""
    names = _folded(location)
    for folder, name in pairwise(names):
        if folder == _OUR_FOLDER and (name == "sessions" or name.startswith(_SECRET_FILES)):
            raise WorkspaceError(f"{location!r} holds this program's own state.", hint="Tools may not read it.")


def refuse_writing(location: str) -> None:
    """Refuse changes to our own folder, to git's, and to the list of MCP servers: what is there can run later."""
    names = _folded(location)
    if _OUR_FOLDER in names:
        raise WorkspaceError(f"{location!r} is inside .agi.", hint="Tools may not change this program's own files.")
    if ".git" in names:
        raise WorkspaceError(f"{location!r} is inside .git.", hint="Change it with a git command instead.")
    if names[-1:] == [_SERVERS]:
        raise WorkspaceError(f"{location!r} names programs to be run.", hint="Tell the user what to put there.")


def _folded(location: str) -> list[str]:
    """The names as a disk that ignores case, Unicode form or invisible characters would compare them."""
    if location.isascii():
        return location.lower().split("/")
    import unicodedata  # a large table, needed for odd names only

    visible = "".join(char for char in location if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().split("/")


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn what the operating system says about a path into an error that says what to do; disk faults stay."""
    try:
        yield
    except OSError as error:
        ours = _as_ours(error.errno or 0, path)
        if ours is None:
            raise
        raise ours from error


def _as_ours(number: int, path: str) -> AgiError | None:
    if number == errno.ENOENT:
        return NotFound(
            f"{path!r} does not exist.", hint="List the folder to see what is there.", code="file_not_found"
        )
    if number in (errno.EXDEV, errno.ELOOP):
        return WorkspaceError(f"{path!r} leads out of the workspace through a link.", hint=_STAY_INSIDE)
    if number in (errno.ENAMETOOLONG, errno.EINVAL, errno.EAGAIN):
        return WorkspaceError(f"{path!r} cannot be opened.", hint=_STAY_INSIDE)
    if number in (errno.ENXIO, errno.ENODEV, errno.EISDIR):
        return not_regular(path)
    if number == errno.ENOTDIR:
        return WorkspaceError(f"{path!r} is not a folder, or passes through a file.", code="not_a_directory")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return WorkspaceError(f"{path!r} may not be opened: permission denied.", code="permission_denied")
    return None


def not_regular(path: str) -> WorkspaceError:
    """Make the error for a folder, device, pipe or socket where a file was asked for."""
    return WorkspaceError(f"{path!r} is not a regular file.", hint="Only regular files can be used.", code=NOT_REGULAR)
