"""What a process asks of the kernel that Python has no words for: to collect orphans, to give up power, to be shut in.

Loaded by the helper alone, once for all commands. May import: nothing of ours.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from typing import Any

_PR_SET_SECCOMP, _PR_CAPBSET_DROP = 22, 24
_PR_SET_SECUREBITS, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 28, 36, 38
_SECCOMP_MODE_FILTER = 2
_NO_POWER_FOR_ROOT = 0x2F
_LAST_CAPABILITY = 63

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1

_REST_OF_SET = bytes(120)
_SIGNAL_BYTES = 128

_libc = ctypes.CDLL(None, use_errno=True)


def collect_orphans() -> None:
    """From now on, whatever descends from this process and loses its parent becomes its child."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_descriptor(signals: Iterable[int]) -> int:
    """A descriptor that can be read when one of these, which must be blocked, has come to whoever asks for it."""
    wanted = sum(1 << (number - 1) for number in signals)
    as_set = wanted.to_bytes(8, sys.byteorder) + _REST_OF_SET
    fd = int(_libc.signalfd(-1, as_set, os.O_CLOEXEC | os.O_NONBLOCK))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    return fd


def next_signal(descriptor: int) -> int | None:
    """The number of the next signal that has come to whoever asks; None if there is none."""
    try:
        return int.from_bytes(os.read(descriptor, _SIGNAL_BYTES)[:4], sys.byteorder)
    except BlockingIOError:
        return None


def drop_power() -> None:
    """Give up every capability for good, also those a program run by root would get back."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if os.geteuid() == 0:
        for capability in range(_LAST_CAPABILITY + 1):
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        _libc.prctl(_PR_SET_SECUREBITS, _NO_POWER_FOR_ROOT, 0, 0, 0)
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        nothing = (ctypes.c_uint32 * 6)()
        if _libc.capset(header, nothing):
            raise OSError(ctypes.get_errno(), "capabilities could not be dropped")


def shut_in(rules: dict[str, Any]) -> None:
    """Let Landlock refuse whatever the rules do not allow."""
    attributes = (ctypes.c_uint64 * 3)(rules["files"], rules["network"], rules["scope"])
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attributes), rules["size"], 0)
    for path, rights in rules["allowed"]:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there cannot be allowed
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= rules["on_files"]
        rule = rights.to_bytes(8, sys.byteorder) + fd.to_bytes(4, sys.byteorder)
        _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
        os.close(fd)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def load_filter(program: bytes) -> None:
    """Let the kernel ask this program about every system call from now on."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    loaded = Program(len(program) // 8, ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded))


def _prctl(option: int, *arguments: Any) -> None:
    padded = [*arguments, *(0,) * (4 - len(arguments))]
    if _libc.prctl(option, *padded):
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


def _call(number: int, *arguments: Any) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return result
