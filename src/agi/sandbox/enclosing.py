"""The first process in new namespaces builds the machine it is to live in, locks it, and gives up all power over it.

Cloned from the helper. What is taken from outside is taken by name in the new namespace and must be what the daemon had
opened; what is mounted on is found without following a link. Once the root is another, nothing that was opened before
is left open. May import: sandbox (`kernel` and `mounting` only).
"""

from __future__ import annotations

import _socket as socket
import fcntl
import os
import stat
import struct

from agi.sandbox.kernel import be_a_user_apart, close_to_others, drop_power, load_filter
from agi.sandbox.mounting import (
    HARMLESS,
    NO_PROGRAMS,
    NO_SET_UID,
    READ_ONLY,
    SHOWN,
    USABLE_DEVICE,
    be_alone,
    find,
    freeze,
    make_root,
    mount,
    put_at,
    put_on,
    restrict,
    take_tree,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Plan = dict[str, Any]
    """What the daemon wants: see `namespaces.py`, which writes it."""
    Step = tuple[Any, ...]
    """One of `mounts.py`; of what was opened, it says which file that is."""

_GROUND = b"/tmp"
_DEVICES = (b"null", b"zero", b"full", b"random", b"urandom", b"tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "core": "/proc/kcore",
    "ptmx": "pts/ptmx",
}
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
_TERMINALS = b"newinstance,ptmxmode=0666,mode=620"
_SET_INTERFACE, _INTERFACE_UP = 0x8914, 0x41
_LONGEST_QUEUE = 128


def enclose(plan: Plan, channel: int | None) -> None:
    """Do all of it; what is run from now on by this process or its children is inside.

    The channel is where a door in the wall is handed out, if there is to be one.
    """
    _be_one_user(plan, "/proc/self")
    if plan["is_offline"]:
        _raise_loopback()
    if channel is not None:
        _open_door(plan["port"], channel)
    mask = os.umask(0o022)  # `makedirs` gives its mode to the last folder only
    proc = _build(plan)
    os.umask(mask)
    be_a_user_apart()  # of a namespace in which no more can be made, and to which none of this belongs
    _be_one_user(plan, "self", at=proc)
    os.close(proc)
    close_to_others()
    drop_power(is_apart=True)
    if plan["filter"] is not None:
        load_filter(plan["filter"])
    os.chdir(plan["cwd"])


def _be_one_user(plan: Plan, folder: str, at: int | None = None) -> None:
    """Be nobody but who one was before."""
    _tell(f"{folder}/setgroups", b"deny", at)
    _tell(f"{folder}/uid_map", b"%d %d 1" % (plan["user"], plan["user"]), at)
    _tell(f"{folder}/gid_map", b"%d %d 1" % (plan["group"], plan["group"]), at)


def _tell(path: str, words: bytes, at: int | None = None) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=at)
    os.write(fd, words)
    os.close(fd)


def _raise_loopback() -> None:
    any_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(any_socket.fileno(), _SET_INTERFACE, struct.pack("16sh22x", b"lo", _INTERFACE_UP))
    any_socket.close()


def _open_door(port: int, channel: int) -> None:
    """Listen on a loopback that is the command's alone, and have the daemon answer."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    door.listen(_LONGEST_QUEUE)
    out = socket.socket(fileno=channel)
    out.sendmsg([b"d"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", door.fileno()))])
    out.close()
    door.close()


def _build(plan: Plan) -> int:
    """Put the machine together; what was there before is gone then. Gives its `/proc`, as it is before any step."""
    be_alone()
    steps = [(step, _taken(*step[1:]) if step[0] == "bind" else -1) for step in plan["steps"]]
    devices = [(path, take_tree(path)) for path in (b"/dev/" + name for name in _DEVICES) if os.path.exists(path)]
    root = take_tree(b"/")
    restrict(root, SHOWN)
    put_at(root, _GROUND)
    make_root(root, plan["pivot_root"])
    os.close(root)
    _build_devices(devices, plan["size"])
    proc = _build_proc()
    for step, tree in steps:
        _take_step(step, tree, plan["size"])
    return proc


def _taken(path: bytes, at: bytes, may_change: bool, seen: tuple[int, int] | None) -> int:
    """A tree to be mounted: of what the daemon saw at that path, or of nothing."""
    tree = take_tree(path)
    if seen is not None:
        found = os.fstat(tree)
        if (found.st_dev, found.st_ino) != seen:
            raise OSError(f"{os.fsdecode(path)!r} was swapped while it was looked at")
    restrict(tree, HARMLESS if may_change else SHOWN)
    return tree


def _build_devices(devices: list[tuple[bytes, int]], size: int) -> None:
    _mount_empty(b"/dev", size)
    for path, tree in devices:
        os.close(os.open(path, _NEW, 0o600))  # to be mounted on; what is mounted has the machine's mode
        restrict(tree, USABLE_DEVICE)
        put_at(tree, path)
        os.close(tree)
    for name, target in _LINKS.items():
        os.symlink(target, f"/dev/{name}")
    os.mkdir("/dev/shm", 0o755)  # noqa: S108 - the sandbox's own
    os.mkdir("/dev/pts", 0o755)
    mount(b"devpts", b"/dev/pts", NO_SET_UID | NO_PROGRAMS, _TERMINALS)


def _build_proc() -> int:
    mount(b"proc", b"/proc", HARMLESS | NO_PROGRAMS)
    # One more is ours; what is made of it may make none, whatever it becomes.
    _tell("/proc/sys/user/max_user_namespaces", b"1")
    return take_tree(b"/proc")


def _take_step(step: Step, tree: int, size: int) -> None:
    match step:
        case ("bind", _, at, _, None):
            _make_room(at, is_folder=_is_folder(tree))
            put_at(tree, at)
            os.close(tree)
        case ("bind", _, at, _, _):
            place = _found(at, is_folder=_is_folder(tree))
            put_on(tree, place)
            os.close(place)
            os.close(tree)
        case ("empty", path):
            place = _found(path, is_folder=True)
            _mount_empty(b"/proc/self/fd/%d" % place, size)
            os.close(place)
        case ("veil", path):
            _mount_empty(path, size, READ_ONLY)
        case ("freeze", path):
            place = find(path)
            freeze(place)
            os.close(place)
        case ("make", path):
            os.makedirs(path, 0o755, exist_ok=True)
        case ("write", path, content):
            fd = os.open(path, _NEW, 0o644)
            os.write(fd, content)
            os.close(fd)
        case _:
            raise OSError(f"{step[0]!r} is no step")


def _mount_empty(path: bytes, size: int, flags: int = 0) -> None:
    mount(b"tmpfs", path, HARMLESS | flags, b"mode=0755,size=%d" % size)


def _found(path: bytes, *, is_folder: bool) -> int:
    """What is to be mounted on; in a folder of the sandbox's own it may have to be made first."""
    try:
        return find(path)
    except FileNotFoundError:
        _make_room(path, is_folder=is_folder)
        return find(path)


def _make_room(path: bytes, *, is_folder: bool) -> None:
    if os.path.exists(path):
        return
    os.makedirs(path if is_folder else os.path.dirname(path), 0o755, exist_ok=True)
    if not is_folder:
        os.close(os.open(path, _NEW, 0o644))


def _is_folder(tree: int) -> bool:
    return stat.S_ISDIR(os.fstat(tree).st_mode)
