"""The filter of system calls, run by a small machine of ours: the program the kernel runs, for both processors."""

import errno
import struct

import pytest

from agi.sandbox.seccomp import Sockets, build_filter
from agi.sandbox.syscalls import ABSENT, DENIED, PROCESSORS

ALLOW, KILL = 0x7FFF0000, 0x80000000
OFFLINE = Sockets(internet=False, unix=False)
ONLINE = Sockets(internet=True, unix=True)


def refuse(number):
    return 0x00050000 | number


def judge(program, arch, number, *arguments):
    """What the filter says to a call: an interpreter of the few instructions it uses."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(*arguments, *(0,) * (6 - len(arguments))))
    at, accumulator = 0, 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return value
        else:
            is_true = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += yes if is_true else no


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request):
    processor = PROCESSORS[request.param]

    class Machine:
        numbers = processor.numbers

        def says(self, name, *arguments, sockets=OFFLINE):
            number = processor.numbers[name] if isinstance(name, str) else name
            return judge(build_filter(request.param, sockets), processor.arch, number, *arguments)

    return Machine()


def test_what_is_denied_is_denied_and_what_is_absent_is_said_to_be(machine):
    """Programs that try a newer call are to fall back to the older one, so it must look missing, not forbidden."""
    for name in DENIED:
        if name in machine.numbers:
            assert machine.says(name) == refuse(errno.EPERM), name
    for name in ABSENT:
        assert machine.says(name) == refuse(errno.ENOSYS), name


def test_ordinary_calls_pass(machine):
    """Reading, writing, starting programs: every number that is not named."""
    named = set(machine.numbers.values())
    for number in set(range(512)) - named:
        assert machine.says(number) == ALLOW


def test_a_call_for_another_processor_ends_the_program():
    """There, the numbers mean other calls."""
    for name, processor in PROCESSORS.items():
        others = [other.arch for other in PROCESSORS.values() if other is not processor]
        for arch in (*others, 0x40000003, 0):
            assert judge(build_filter(name, ONLINE), arch, 1) == KILL
    assert judge(build_filter("x86_64", ONLINE), PROCESSORS["x86_64"].arch, 0x40000001) == KILL


def test_sockets_are_made_only_where_they_may_be(machine):
    """Of all families, those asked for; and questions about one's own network."""
    unix, inet, inet6, netlink, packet, vsock = 1, 2, 10, 16, 17, 40
    for family in (unix, inet, inet6):
        assert machine.says("socket", family, 1, 0) == refuse(errno.EPERM)
        assert machine.says("socket", family, 1, 0, sockets=ONLINE) == ALLOW
    for family in (packet, vsock, 0, 38, 44, 2**32 - 1):
        assert machine.says("socket", family, 1, 0, sockets=ONLINE) == refuse(errno.EAFNOSUPPORT)
    assert machine.says("socket", netlink, 3, 0) == ALLOW
    assert machine.says("socket", netlink, 3, 9, sockets=ONLINE) == refuse(errno.EAFNOSUPPORT)


@pytest.mark.threat("T32")
def test_of_a_pair_of_sockets_neither_can_be_told_to_send_elsewhere(machine):
    """One for single messages can be, to any socket with a name; those that stay connected are fine."""
    stream, datagram, raw, sequenced, closes_on_exec = 1, 2, 3, 5, 0o2000000
    for kind in (stream, sequenced, stream | closes_on_exec, sequenced | closes_on_exec):
        assert machine.says("socketpair", 1, kind, 0) == ALLOW
    for kind in (datagram, raw, datagram | closes_on_exec, 4, 0):
        assert machine.says("socketpair", 1, kind, 0) == refuse(errno.EPERM)
        assert machine.says("socketpair", 1, kind, 0, sockets=ONLINE) == ALLOW
    for family in (2, 16, 30, 0):
        assert machine.says("socketpair", family, stream, 0, sockets=ONLINE) == refuse(errno.EAFNOSUPPORT)


def test_the_upper_half_of_an_argument_hides_nothing(machine):
    """The kernel ignores it for these, and so does the filter."""
    assert machine.says("socket", 1 | 1 << 32, 1, 0) == refuse(errno.EPERM)


@pytest.mark.threat("T32")
@pytest.mark.parametrize("bit", [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000])
def test_no_namespace_is_made(machine, bit):
    """Neither by a child nor by oneself; threads and processes are made as ever."""
    assert machine.says("clone", bit | 17) == refuse(errno.EPERM)
    assert machine.says("unshare", bit) == refuse(errno.EPERM)
    assert machine.says("clone", 0x003D0F00) == ALLOW
    assert machine.says("unshare", 0x400) == ALLOW


def test_no_file_is_made_to_run_as_its_owner(machine):
    """By none of the calls that set a mode; a mode that is no argument is not looked at."""
    denied, create = refuse(errno.EPERM), 0o100
    for name, at in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2)):
        if name in machine.numbers:
            assert machine.says(name, *(0,) * at, 0o4755) == denied
            assert machine.says(name, *(0,) * at, 0o2755) == ALLOW
    assert machine.says("openat", 0, 0, create, 0o4755) == denied
    assert machine.says("openat", 0, 0, 0o20200000, 0o4755) == denied
    assert machine.says("openat", 0, 0, create, 0o755) == ALLOW
    assert machine.says("openat", 0, 0, 0, 0o4755) == ALLOW
    if "creat" in machine.numbers:
        assert machine.says("creat", 0, 0o4755) == denied


def test_no_device_is_made_and_no_terminal_typed_into(machine):
    """Pipes and sockets may be made by the same call."""
    denied = refuse(errno.EPERM)
    for kind in (0o020000, 0o060000):
        assert machine.says("mknodat", 0, 0, kind | 0o666) == denied
    for kind in (0o010000, 0o140000, 0o100000):
        assert machine.says("mknodat", 0, 0, kind | 0o666) == ALLOW
    assert machine.says("mknodat", 0, 0, 0o104755) == denied
    assert machine.says("ioctl", 0, 0x5412) == denied
    assert machine.says("ioctl", 0, 0x5401) == ALLOW


@pytest.mark.threat("T32")
def test_who_sees_a_command_through_is_not_made_to_wait(machine):
    """Its share of the machine is not the command's to say; that of others is."""
    of_process = ("sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity", "prlimit64")
    for name in of_process:
        assert machine.says(name, 1) == machine.says(name, 1 | 1 << 32) == refuse(errno.EPERM), name
        assert machine.says(name, 0) == machine.says(name, 2) == ALLOW, name
    for name in ("setpriority", "ioprio_set"):
        assert machine.says(name, 0, 1) == refuse(errno.EPERM), name
        assert machine.says(name, 1, 0) == machine.says(name, 1, 7) == ALLOW, name
    # "All processes of this user" are the first one too.
    assert machine.says("setpriority", 2, 0) == machine.says("ioprio_set", 3, 0) == refuse(errno.EPERM)
    assert machine.says("setpriority", 0, 7) == machine.says("ioprio_set", 2, 7) == ALLOW


def test_an_unknown_processor_has_no_filter():
    """It is said as a gap, not guessed."""
    assert build_filter("pdp11", OFFLINE) is None
