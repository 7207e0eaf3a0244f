"""The filter of system calls: a program for the kernel, made as plain bytes, that says which calls a command may make.

A list of what is refused, not of what is allowed: commands are compilers, runtimes and test suites, which use most of
what there is. It closes what namespaces and Landlock leave open. When it is loaded the kernel tries it on every number,
so numbers are asked about in stretches, not all of them one after the other. Loading it is bubblewrap's and the
holder's business. May import: sandbox.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from agi.sandbox.syscalls import ABSENT, DENIED, PROCESSORS, Processor

_LOAD, _AND = 0x20, 0x54
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45
_RETURN = 0x06
_INSTRUCTION = struct.Struct("=HBBI")

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
_KILL = 0x80000000

_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
"""On x86_64, the older calling convention's copies of all calls begin here; nothing needs them."""

_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCKET_TYPE, _STREAM, _SEQUENCED = 0xF, 1, 5
_NEW_NAMESPACES = 0x7E020000
_NEW_TIME_NAMESPACE = 0x80
_SET_UID = 0o4000
_O_CREAT_OR_TMPFILE = 0o100 | 0o20000000
_FILE_TYPE, _CHARACTER_DEVICE, _BLOCK_DEVICE = 0o170000, 0o020000, 0o060000
_TYPE_INTO_TERMINAL, _TERMINAL_SELECTION = 0x5412, 0x541C

_MODES = (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("creat", 1))
_OPENS = (("open", 1, 2), ("openat", 2, 3))
_NODES = (("mknod", 1), ("mknodat", 2))
"""Calls that set a mode, and which of their arguments that is; of those that open, the flags before it."""
_ABOUT_PROCESSES = (
    *(("sched_setparam", 0), ("sched_setscheduler", 0), ("sched_setattr", 0), ("sched_setaffinity", 0)),
    *(("prlimit64", 0), ("setpriority", 1), ("ioprio_set", 1)),
)
"""Calls that say how much of the machine a process gets, and which of their arguments says which process."""
_ABOUT_USERS = {"setpriority": 2, "ioprio_set": 3}
"""Those of them whose first argument may say "all of this user", by which word: the first process is one of these."""
_FIRST = 1
"""The process that sees a command through, where it has processes of its own: it must not be kept from doing so."""
_STRETCH = 12
"""How many numbers are asked for one after the other."""


class Sockets(Struct, frozen=True, kw_only=True):
    """Which sockets a command may make."""

    internet: bool
    """TCP and UDP, of either version; only where a network of its own or the policy keeps it in."""
    unix: bool
    """Unix sockets with a name; pairs that stay connected are always fine."""


@cache
def build_filter(machine: str, sockets: Sockets) -> bytes | None:
    """The program for a kind of processor; None where we do not know its numbers."""
    processor = PROCESSORS.get(machine)
    return None if processor is None else _Program(processor, sockets).encode()


class _Program:
    """Instructions and the labels they jump to; jumps lead forward only, as the kernel demands."""

    def __init__(self, processor: Processor, sockets: Sockets) -> None:
        self._numbers = processor.numbers
        self._code: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}
        self._load(_ARCH)
        self._jump(_EQUAL, processor.arch, no="kill")
        self._load(_NUMBER)
        self._jump(_AT_LEAST, _X32, yes="kill")
        self._find(self._named())
        self._look_into_sockets(sockets)
        self._look_into_pairs(sockets)
        self._look_into_namespaces()
        self._look_into_modes()
        self._look_into_terminals()
        self._spare_the_first()
        self._return("allow", _ALLOW)
        self._return("denied", _REFUSE | errno.EPERM)
        self._return("absent", _REFUSE | errno.ENOSYS)
        self._return("unsupported", _REFUSE | errno.EAFNOSUPPORT)
        self._return("kill", _KILL)

    def encode(self) -> bytes:
        return b"".join(
            _INSTRUCTION.pack(code, self._distance(at, yes), self._distance(at, no), value)
            for at, (code, value, yes, no) in enumerate(self._code)
        )

    def _distance(self, at: int, label: str) -> int:
        return self._labels[label] - at - 1 if label else 0

    def _load(self, offset: int) -> None:
        self._code.append((_LOAD, offset, "", ""))

    def _load_argument(self, index: int) -> None:
        """The lower half: all arguments we look at are of 32 bits or fewer, and the kernel ignores the rest too."""
        self._load(_ARGUMENTS + 8 * index)

    def _jump(self, test: int, value: int, *, yes: str = "", no: str = "") -> None:
        self._code.append((test, value, yes, no))

    def _label(self, name: str) -> None:
        self._labels[name] = len(self._code)

    def _return(self, name: str, value: int) -> None:
        self._label(name)
        self._code.append((_RETURN, value, "", ""))

    def _named(self) -> dict[int, str]:
        """Where it goes on for each number that is not simply allowed."""
        looked_into = (name for name, *_ in (*_MODES, *_OPENS, *_NODES, *_ABOUT_PROCESSES))
        labels = {**dict.fromkeys(ABSENT, "absent"), **dict.fromkeys(DENIED, "denied")}
        others = ("socket", "socketpair", "clone", "unshare", "ioctl")
        labels |= {name: f"on {name}" for name in (*others, *looked_into)}
        return {self._numbers[name]: label for name, label in labels.items() if name in self._numbers}

    def _find(self, named: Mapping[int, str]) -> None:
        """Ask for the number: first in which stretch it is, then for each that is named there."""
        numbers = sorted(named)
        stretches = [numbers[at : at + _STRETCH] for at in range(0, len(numbers), _STRETCH)]
        for stretch in stretches[1:]:
            self._jump(_AT_LEAST, stretch[0], no=f"before {stretch[0]}")
        for stretch in reversed(stretches):
            for number in stretch:
                self._jump(_EQUAL, number, yes=named[number])
            self._code.append((_RETURN, _ALLOW, "", ""))
            self._label(f"before {stretch[0]}")

    def _look_into_sockets(self, sockets: Sockets) -> None:
        self._label("on socket")
        self._load_argument(0)
        self._jump(_EQUAL, _AF_UNIX, yes="allow" if sockets.unix else "denied")
        for family in (_AF_INET, _AF_INET6):
            self._jump(_EQUAL, family, yes="allow" if sockets.internet else "denied")
        # Routing questions (protocol 0) are how programs list their own interfaces; all others are refused.
        self._jump(_EQUAL, _AF_NETLINK, no="unsupported")
        self._load_argument(2)
        self._jump(_EQUAL, 0, yes="allow", no="unsupported")

    def _look_into_pairs(self, sockets: Sockets) -> None:
        self._label("on socketpair")
        self._load_argument(0)
        self._jump(_EQUAL, _AF_UNIX, no="unsupported")
        self._load_argument(1)
        self._code.append((_AND, _SOCKET_TYPE, "", ""))
        for kind in (_STREAM, _SEQUENCED):
            self._jump(_EQUAL, kind, yes="allow")
        # One of a pair that sends single messages can be told to send them elsewhere, to a socket with a name.
        self._code.append((_RETURN, _ALLOW if sockets.unix else _REFUSE | errno.EPERM, "", ""))

    def _look_into_namespaces(self) -> None:
        for name, flags in (("clone", _NEW_NAMESPACES), ("unshare", _NEW_NAMESPACES | _NEW_TIME_NAMESPACE)):
            self._label(f"on {name}")
            self._refuse_bits(0, flags)

    def _look_into_modes(self) -> None:
        """No file that runs as its owner may be left for others to find, and no device may be made."""
        for name, mode in _MODES:
            self._label(f"on {name}")
            self._refuse_bits(mode, _SET_UID)
        for name, flags, mode in _OPENS:
            self._label(f"on {name}")
            self._load_argument(flags)
            self._jump(_ANY_BIT, _O_CREAT_OR_TMPFILE, no="allow")  # else the mode is no argument at all
            self._refuse_bits(mode, _SET_UID)
        for name, mode in _NODES:
            self._label(f"on {name}")
            self._load_argument(mode)
            self._jump(_ANY_BIT, _SET_UID, yes="denied")
            self._code.append((_AND, _FILE_TYPE, "", ""))
            self._jump(_EQUAL, _CHARACTER_DEVICE, yes="denied")
            self._jump(_EQUAL, _BLOCK_DEVICE, yes="denied", no="allow")

    def _look_into_terminals(self) -> None:
        self._label("on ioctl")
        self._load_argument(1)
        self._jump(_EQUAL, _TYPE_INTO_TERMINAL, yes="denied")
        self._jump(_EQUAL, _TERMINAL_SELECTION, yes="denied", no="allow")

    def _spare_the_first(self) -> None:
        for name, process in _ABOUT_PROCESSES:
            self._label(f"on {name}")
            if name in _ABOUT_USERS:
                self._load_argument(0)
                self._jump(_EQUAL, _ABOUT_USERS[name], yes="denied")
            self._load_argument(process)
            self._jump(_EQUAL, _FIRST, yes="denied", no="allow")

    def _refuse_bits(self, argument: int, bits: int) -> None:
        self._load_argument(argument)
        self._jump(_ANY_BIT, bits, yes="denied", no="allow")
