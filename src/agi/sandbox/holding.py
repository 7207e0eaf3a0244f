"""Names that must stay free: while a command runs, something of ours stands there, so that nothing else can.

A mount needs a name to stand on. For a protected file that does not exist, the name is made for as long as the command
runs: an empty folder, which version control does not see and which no program takes for settings, or for some of git's
names a file that says what would hold without it. Locks tell users of a name from leftovers of a process that
died, across processes; the last user removes it. May import: config.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Lock, Thread

from agi.config.files import HELD_NS, HELD_TIMES_NS

_FOLDER = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""A folder to make names in, which its user need not be able to read."""
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS = 50
_NOT_LET = frozenset((errno.EACCES, errno.EPERM))
_FOR_EVERYBODY = _NOT_LET | {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EROFS, errno.ENAMETOOLONG}
"""Why nobody of this user could make something under a name; of what is not let, only in a folder of another's."""
_SOMETHING_ELSE = frozenset((errno.ELOOP, errno.ENXIO))
"""Why what stands under a name cannot be looked at, whoever asks: a link, a socket."""


class Unkept(OSError):
    """Something could be made under a name, and not be made ours: so others could make something there, too."""


class Held:
    """A name that is taken; to be released once."""

    def __init__(self, parent: int, name: str, fd: int) -> None:
        self._parent, self._name, self._fd = parent, name, fd

    def release(self) -> None:
        """Let go, and remove what stands there if nobody else needs it and nobody has made it his own."""
        try:
            with suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_still(self._parent, self._name, self._fd) and _is_ours(self._fd):
                    self._remove()
        finally:
            with suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._parent)
            _CLOSING.put(self._fd)

    def _remove(self) -> None:
        with _unnoticed(self._parent):
            if stat.S_ISDIR(os.fstat(self._fd).st_mode):
                os.rmdir(self._name, dir_fd=self._parent)
            else:
                os.unlink(self._name, dir_fd=self._parent)


class _Closing:
    """Closes descriptors in a thread of its own.

    The last one of a folder that was removed is when the disk forgets the folder, which takes ext4 some milliseconds;
    whoever waits for a command need not wait for that. The name is free before: it is removed by then.
    """

    def __init__(self) -> None:
        self._fds: SimpleQueue[int] = SimpleQueue()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._pid = 0
        self._open = 0

    def put(self, fd: int) -> None:
        """Close it soon."""
        with self._lock:
            self._open += 1
            if self._thread is None or self._pid != os.getpid():
                self._pid = os.getpid()  # a fork has no thread of its parent's
                self._thread = Thread(target=self._run, name="closing", daemon=True)
                self._thread.start()
        self._fds.put(fd)

    @property
    def is_idle(self) -> bool:
        """Whether all are closed."""
        return self._open == 0

    def _run(self) -> None:
        while True:
            fd = self._fds.get()
            with suppress(OSError):
                os.close(fd)
            with self._lock:
                self._open -= 1


_CLOSING = _Closing()


def is_settled() -> bool:
    """Whether everything that was let go is closed too."""
    return _CLOSING.is_idle


def hold(path: str, content: bytes | None = None) -> Held | None:
    """Take a name that is free, with an empty folder or a file; None if it is not free, or nobody could take it.

    Raises `OSError` if only we could not, as on a full disk or in a folder of our own that is closed: a command might
    make room, or open the folder, and take it.
    """
    folder, name = os.path.split(path)
    if _is_somebodys(path):
        return None
    try:
        parent = os.open(folder, _FOLDER)
    except OSError as problem:
        _refuse_unless_nobody_could(problem, folder)
        return None
    try:
        fd = _taken(parent, name, content)
    except OSError:
        os.close(parent)
        raise
    if fd is None:
        os.close(parent)
        return None
    return Held(parent, name, fd)


def _refuse_unless_nobody_could(problem: OSError, folder: int | str) -> None:
    """Pass over what keeps everybody from taking a name; what keeps only us, such as a full disk, is an error."""
    is_for_everybody = problem.errno in _FOR_EVERYBODY and not isinstance(problem, Unkept)
    if not is_for_everybody or (problem.errno in _NOT_LET and _is_up_to_us(folder)):
        raise problem


def _is_up_to_us(folder: int | str) -> bool:
    """Whether a folder, or the one that keeps us from it, is our own: then a command could open what is closed."""
    while True:
        try:
            return os.stat(folder).st_uid == os.getuid()
        except OSError:
            if isinstance(folder, int):
                return True
            folder = os.path.dirname(folder)


def is_stub(path: str) -> bool:
    """Whether something of ours stands there, and nothing else."""
    try:
        return os.lstat(path).st_mtime_ns in HELD_TIMES_NS
    except OSError:
        return False


def _is_somebodys(path: str) -> bool:
    """Whether something stands there that is not ours, so that nothing need be tried."""
    try:
        return os.lstat(path).st_mtime_ns not in HELD_TIMES_NS
    except OSError:
        return False


def _taken(parent: int, name: str, content: bytes | None) -> int | None:
    for _ in range(_ATTEMPTS):
        try:
            _make(parent, name, content)
        except FileNotFoundError:
            continue  # nobody can in a folder that is gone
        except OSError as problem:
            _refuse_unless_nobody_could(problem, parent)
            return None
        try:
            fd = os.open(name, _LOOK, dir_fd=parent)
        except FileNotFoundError:
            continue  # its last user has just removed it
        except OSError as problem:
            if problem.errno not in _SOMETHING_ELSE:
                raise
            return None
        if _is_locked(fd) and _is_still(parent, name, fd):
            if _is_ours(fd):
                return fd
            os.close(fd)
            return None
        os.close(fd)
    return None


def _make(parent: int, name: str, content: bytes | None) -> None:
    try:
        with _unnoticed(parent):
            _make_new(parent, name, content)
    except FileExistsError:
        return


def _make_new(parent: int, name: str, content: bytes | None) -> None:
    """All of it or nothing: what stands there without our mark would be taken for somebody's own, and stay."""
    if content is None:
        os.mkdir(name, 0o755, dir_fd=parent)
        made = os.stat(name, dir_fd=parent, follow_symlinks=False)
    else:
        fd = os.open(name, _MAKE, 0o644, dir_fd=parent)
        made = os.fstat(fd)
    try:
        if content is not None:
            _fill(fd, content)
        os.utime(name, ns=(HELD_NS, HELD_NS), dir_fd=parent, follow_symlinks=False)
        if os.stat(name, dir_fd=parent, follow_symlinks=False).st_mtime_ns != HELD_NS:
            raise OSError(errno.EOPNOTSUPP, "this disk does not keep such times")
    except OSError as problem:
        _unmake(parent, name, made)
        raise Unkept(problem.errno, problem.strerror) from problem
    except BaseException:
        _unmake(parent, name, made)
        raise


def _fill(fd: int, content: bytes) -> None:
    try:
        if os.write(fd, content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)


def _unmake(parent: int, name: str, made: os.stat_result) -> None:
    """Remove what was just made, if nobody has put something else in its place."""
    with suppress(OSError):
        if not os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), made):
            return
        if stat.S_ISDIR(made.st_mode):
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)


_SETTLED: dict[tuple[int, int], tuple[int, int]] = {}
"""Of folders we changed: when the system says they last changed, and when they had before we touched them."""


def settled_ctime(folder: os.stat_result) -> int:
    """When a folder last changed, not counting names that were held in it: those are no change of anybody's."""
    ours, before = _SETTLED.get((folder.st_dev, folder.st_ino), (0, 0))
    return before if folder.st_ctime_ns == ours else folder.st_ctime_ns


@contextmanager
def _unnoticed(folder: int) -> Iterator[None]:
    """Remember when a folder last changed before we change it ourselves."""
    before = settled_ctime(os.fstat(folder))
    yield
    now = os.fstat(folder)
    _SETTLED[now.st_dev, now.st_ino] = (now.st_ctime_ns, before)


def _is_locked(fd: int) -> bool:
    """Take the lock that says "in use"; no is for one who is just removing it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a disk without locks: leftovers are then removed by whoever is first done
    return True


def _is_still(parent: int, name: str, fd: int) -> bool:
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(fd))


def _is_ours(fd: int) -> bool:
    return os.fstat(fd).st_mtime_ns in HELD_TIMES_NS
