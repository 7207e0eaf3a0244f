"""What a process asks of the kernel that Python has no words for: to be made apart, to give up power, to be shut in.

Loaded by the helper alone, once for all commands. May import: nothing of ours.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 4, 22, 24
_PR_SET_SECUREBITS, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 28, 36, 38
_SECCOMP_MODE_FILTER = 2
_NO_POWER_FOR_ROOT = 0x2F
_MOST_CAPABILITIES = 64

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1

_REST_OF_SET = bytes(120)
_SIGNAL_BYTES = 128

_CLONE_AS_TOLD = 435
_INTO_A_GROUP = 0x200000000
_SIGCHLD = 17
_NEW_USERS = 0x10000000

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    """A program for the kernel, as it takes one."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def clone_apart(number: int, namespaces: int) -> int:
    """A copy of this process, the first one in new namespaces; 0 in the copy, as with `fork`.

    By the call's number, since no library has a word for it, and one copy costs less than the two that a fork takes.
    Nothing that runs around a `fork` is run: for a process with one thread and no such hooks, there is nothing to run.
    """
    return call(number, namespaces | _SIGCHLD, None, None, None, None)


def clone_into(group: int, namespaces: int) -> int:
    """The same, and a member of a control group from its beginning, which is open here; from Linux 5.7."""
    told = (ctypes.c_uint64 * 11)(namespaces | _INTO_A_GROUP, 0, 0, 0, _SIGCHLD, 0, 0, 0, 0, 0, group)
    return call(_CLONE_AS_TOLD, ctypes.byref(told), ctypes.sizeof(told))


def be_a_user_apart() -> None:
    """Become a user of a user namespace of one's own, inside the one there is."""
    if _libc.unshare(_NEW_USERS):
        raise problem(b"a user namespace")


def close_to_others() -> None:
    """Let no process of this user look into this one, nor reach what it has open."""
    _prctl(_PR_SET_DUMPABLE, 0)


def collect_orphans() -> None:
    """From now on, whatever descends from this process and loses its parent becomes its child."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_descriptor(signals: Iterable[int]) -> int:
    """A descriptor that can be read when one of these, which must be blocked, has come to whoever asks for it."""
    wanted = sum(1 << (number - 1) for number in signals)
    as_set = wanted.to_bytes(8, sys.byteorder) + _REST_OF_SET
    fd = int(_libc.signalfd(-1, as_set, os.O_CLOEXEC | os.O_NONBLOCK))
    if fd < 0:
        raise problem(b"signalfd")
    return fd


def next_signal(descriptor: int) -> int | None:
    """The number of the next signal that has come to whoever asks; None if there is none."""
    try:
        return int.from_bytes(os.read(descriptor, _SIGNAL_BYTES)[:4], sys.byteorder)
    except BlockingIOError:
        return None


def drop_power(*, is_apart: bool = False) -> None:
    """Give up every capability for good, also those a program run by root would get back.

    In a user namespace of its own (`is_apart`) every user has some; elsewhere only root does.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if is_apart or os.geteuid() == 0:
        for capability in range(_MOST_CAPABILITIES):
            if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                break  # there are no more
        _libc.prctl(_PR_SET_SECUREBITS, _NO_POWER_FOR_ROOT, 0, 0, 0)
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        nothing = (ctypes.c_uint32 * 6)()
        if _libc.capset(header, nothing):
            raise problem(b"capabilities")


def shut_in(rules: dict[str, Any]) -> None:
    """Let Landlock refuse whatever the rules do not allow."""
    attributes = (ctypes.c_uint64 * 3)(rules["files"], rules["network"], rules["scope"])
    ruleset = call(_CREATE_RULESET, ctypes.byref(attributes), rules["size"], 0)
    for path, rights in rules["allowed"]:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there cannot be allowed
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= rules["on_files"]
        rule = rights.to_bytes(8, sys.byteorder) + fd.to_bytes(4, sys.byteorder)
        call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
        os.close(fd)
    call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def load_filter(program: bytes) -> None:
    """Let the kernel ask this program about every system call from now on."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    loaded = _Program(len(program) // 8, program)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded))


def _prctl(option: int, *arguments: Any) -> None:
    padded = [*arguments, *(0,) * (4 - len(arguments))]
    if _libc.prctl(option, *padded):
        raise problem(b"prctl %d" % option)


def call(number: int, *arguments: Any, about: bytes = b"") -> int:
    """Make a system call by its number; raises `OSError` where the kernel says no."""
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        raise problem(about or b"system call %d" % number)
    return result


def problem(about: bytes) -> OSError:
    """Why the last call failed, and what it was about."""
    return OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), os.fsdecode(about))
