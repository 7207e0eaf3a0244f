"""The small program between the daemon and a command where no namespaces do the work. Runs on its own, imports nothing.

Started as `python -I -S shim.py FD COMMAND …`; FD holds the policy, marshalled. Two duties, chosen by the policy:
`hold`: limit itself, shut itself in with Landlock and a filter of system calls, run the command, and end whatever it
leaves, also if the daemon dies; `gate`: inside a sandbox without a way out, open a door on loopback, hand it to the
daemon, and become the command. May import: nothing of ours.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import signal
import sys
import time
from typing import Any, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_SECUREBITS, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 28, 36, 38
_SECCOMP_MODE_FILTER = 2
_NO_POWER_FOR_ROOT = 0x2F
_LAST_CAPABILITY = 63

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ONLY_VERSION = 1
_RULE_PATH_BENEATH = 1

_WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_POLL_S = 0.01
_INSIST_S = 5.0
_FAILED = 125
_NOT_FOUND = 127

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Read the policy and do what it says."""
    fd, argv = int(sys.argv[1]), sys.argv[2:]
    with open(fd, "rb") as file:
        policy = marshal.load(file)  # noqa: S302 - written by the daemon, for us alone
    if policy["duty"] == "gate":
        _open_gate(policy)
        _become(argv)
    _hold(policy, argv)


def _open_gate(policy: dict[str, Any]) -> None:
    import socket  # late: the other duty does without

    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", policy["port"]))
    door.listen(128)
    with socket.socket(fileno=policy["channel"]) as channel:
        socket.send_fds(channel, [b"d"], [door.fileno()])
    door.close()


def _hold(policy: dict[str, Any], argv: list[str]) -> NoReturn:
    """Stay outside, as the one to whom whatever loses its parent comes back."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != policy["parent"]:
        os._exit(_FAILED)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    pid = os.fork()
    if pid == 0:
        _run(policy, argv)
    for fd in (0, 1, 2):
        os.close(fd)  # the pipes end with the command, not with us
    command = _Command(pid)
    command.wait(policy["grace"])
    if command.goes_on_after(policy["drain"]):
        command.end_all()
        _tell(policy["report"], b"l")
    _tell(policy["report"], b"e")
    _end_like(command.status)


def _run(policy: dict[str, Any], argv: list[str]) -> NoReturn:
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        _limit(policy)
        if policy["landlock"] is not None:
            _drop_power()
            _shut_in(policy["landlock"])
        if policy["filter"] is not None:
            _load_filter(policy["filter"])
        os.write(policy["report"], b"s")
        os.close(policy["report"])
    except BaseException as problem:
        os.write(2, f"The sandbox failed: {problem}\n".encode())
        os._exit(_FAILED)
    _become(argv)


def _become(argv: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores these, and what is ignored stays so
    try:
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606
    except OSError as problem:
        os.write(2, f"{argv[0]}: {problem.strerror}\n".encode())
        os._exit(_NOT_FOUND)


def _limit(policy: dict[str, Any]) -> None:
    import resource  # late: the other duty does without

    for kind, value in policy["limits"].items():
        resource.setrlimit(kind, (value, value))
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(policy["score"]))
    except OSError:
        pass


def _drop_power() -> None:
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


def _shut_in(rules: dict[str, Any]) -> None:
    attributes = (ctypes.c_uint64 * 3)(rules["files"], rules["network"], rules["scope"])
    size = rules["size"]
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    for path, rights in rules["allowed"]:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there cannot be allowed
        if not os.path.isdir(path):
            rights &= rules["on_files"]
        rule = rights.to_bytes(8, sys.byteorder) + fd.to_bytes(4, sys.byteorder)
        _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
        os.close(fd)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _load_filter(program: bytes) -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    loaded = Program(len(program) // 8, ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded))


class _Command:
    """The command and whatever it started, as seen from outside."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status = -1

    def wait(self, grace: float) -> None:
        """Wait for the command itself; when asked to end, pass it on, and insist after a while."""
        deadline = None
        while self.status < 0:
            timeout = 3600.0 if deadline is None else max(deadline - time.monotonic(), 0)
            heard = signal.sigtimedwait(_WATCHED, timeout)
            self.collect()
            if heard is not None and heard.si_signo != signal.SIGCHLD and deadline is None:
                deadline = time.monotonic() + grace
                _signal_group(self.pid, signal.SIGTERM)
            elif heard is None and deadline is not None:
                self.end_all()

    def collect(self) -> None:
        """Collect whoever has ended: nobody else will."""
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if ended == 0:
                return
            if ended == self.pid:
                self.status = status

    def goes_on_after(self, seconds: float) -> bool:
        """Give what is left a moment to end by itself; True if something goes on."""
        until = time.monotonic() + seconds
        self.collect()
        while _descendants():
            if time.monotonic() >= until:
                return True
            time.sleep(_POLL_S)
            self.collect()
        return False

    def end_all(self) -> None:
        """Kill every descendant, however deep; new ones may come while we kill, so again until none is left."""
        until = time.monotonic() + _INSIST_S
        while (left := _descendants()) and time.monotonic() < until:
            for pid in left:
                _signal(pid, signal.SIGKILL)
            self.collect()


def _descendants() -> list[int]:
    found: list[int] = []
    edge = [os.getpid()]
    while edge:
        children = _children(edge.pop())
        found += children
        edge += children
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it has just ended
    return found


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def _tell(report: int, what: bytes) -> None:
    try:
        os.write(report, what)
    except OSError:
        pass  # the daemon is gone


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        pass


def _end_like(status: int) -> NoReturn:
    """End the way the command did, so that whoever waits sees no difference."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        try:
            signal.signal(number, signal.SIG_DFL)
        except OSError:
            pass
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else _FAILED)


def _prctl(option: int, *arguments: Any) -> None:
    padded = [*arguments, *(0,) * (4 - len(arguments))]
    if _libc.prctl(option, *padded):
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


def _call(number: int, *arguments: Any) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    main()
