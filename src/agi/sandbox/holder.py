"""Between the helper and a command: a process that runs it, collects what loses its parents, and ends all of it.

Forked from the helper, one for each command, or cloned into namespaces of its own, which it makes a machine of. It
begins when the daemon gives leave and ends what is left when the daemon says so or is gone, which the line to it tells:
no signal and no parent is needed for that. Loads little: what it loads, the helper's start waits for. May import:
sandbox (`enclosing`, `kernel` and `saying` only).
"""

from __future__ import annotations

import _signal as signal
import os
import resource
import select
import time

from agi.sandbox.enclosing import enclose
from agi.sandbox.kernel import collect_orphans, drop_power, load_filter, next_signal, shut_in
from agi.sandbox.saying import ASK, ENDED_ALL, KILL, LEAVE, LEFT_SOME, STARTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
"""Signals that are read, not handled; the helper has blocked them."""

_BEARABLE = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_CPU: 600,
    resource.RLIMIT_NOFILE: 256,
}
"""Limits that the holder can take upon itself and still do its work, if they are not below these."""
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these, and what is ignored stays so."""
_LONGEST = 64
_POLL_S = 0.01
_INSIST_S = 5.0
_FAILED = 125
_NOT_FOUND = 127
_FIRST = 1
"""The number of the first process in a process namespace; all others in it descend from it."""


def hold(order: dict[str, Any], descriptors: list[int], signals: int) -> NoReturn:
    """Run a command and see it through; never returns.

    The descriptors are a line, the folder it begins in, what it writes to, what it reads if that is anything
    (`order["reads"]`), and a channel to hand a door out on, if there is to be one.
    """
    line, folder, *streams = descriptors
    channel = streams.pop() if len(streams) > (3 if order["reads"] else 2) else None
    os.setsid()
    try:
        _share_limits(order["entrances"])
        if order["enclosure"] is None:
            collect_orphans()
            os.fchdir(folder)
        os.close(folder)
        if order["enclosure"] is not None:
            _be_more_likely_to_go(order)
            enclose(order["enclosure"], channel)
        if os.read(line, 1) != LEAVE:
            os._exit(_FAILED)
        pid = _begin(order, line, streams)
    except BaseException as problem:
        os.write(streams[1], f"The sandbox failed: {problem}\n".encode())
        os._exit(_FAILED)
    os.chdir("/")
    for fd in streams:
        os.close(fd)  # the pipes end with the command, not with us
    command = _Command(pid, line, signals)
    command.wait(order["grace"])
    left = command.goes_on_after(order["drain"])
    if left:
        command.end_all()
    command.tell(left)
    os._exit(0)


def _begin(order: dict[str, Any], line: int, streams: list[int]) -> int:
    """The command's process. A copy of this one is made only if something is to be set in it and nowhere else."""
    if _is_bearable(order):
        _limit(order)
        os.write(line, STARTED)
        try:
            return _spawn(order, streams)
        except (OSError, NotImplementedError):
            pass  # the other way works, or says why
    pid = os.fork()
    if pid == 0:
        _run(order, line, streams)
    return pid


def _is_bearable(order: dict[str, Any]) -> bool:
    is_open = order["landlock"] is None and order["filter"] is None and "/" in order["argv"][0]
    limits = order["limits"].items()
    return is_open and all(kind in _BEARABLE and value >= _BEARABLE[kind] for kind, value in limits)


def _spawn(order: dict[str, Any], streams: list[int]) -> int:
    out, err, *given = streams
    first = (os.POSIX_SPAWN_DUP2, given[0], 0) if given else (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)
    actions = [first, (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)]
    argv, env = order["argv"], order["env"]
    return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_DEFAULTS)


def _run(order: dict[str, Any], line: int, streams: list[int]) -> NoReturn:
    """Become the command, with limits and shut in; all but its three streams is closed on the way."""
    try:
        os.setsid()
        _take(streams)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        _limit(order)
        if order["landlock"] is not None:
            drop_power()
            shut_in(order["landlock"])
        if order["filter"] is not None:
            load_filter(order["filter"])
        os.write(line, STARTED)
    except BaseException as problem:
        os.write(2, f"The sandbox failed: {problem}\n".encode())
        os._exit(_FAILED)
    _become(order["argv"], order["env"])


def _take(streams: list[int]) -> None:
    """What it says goes into the pipes; what it reads, if it was given nothing, is at its end."""
    out, err, *given = streams
    # The helper's own three are open, so none of these is among them.
    os.dup2(given[0] if given else os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)


def _become(argv: list[str], env: dict[str, str]) -> NoReturn:
    for number in _DEFAULTS:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], argv, env)  # noqa: S606
    except OSError as problem:
        os.write(2, f"{argv[0]}: {problem.strerror}\n".encode())
        os._exit(_NOT_FOUND)


def _limit(order: dict[str, Any]) -> None:
    for kind, value in order["limits"].items():
        resource.setrlimit(kind, (value, value))
    if order["enclosure"] is None:
        _be_more_likely_to_go(order)


def _share_limits(entrances: list[str]) -> None:
    """Become a member of the control groups that limit the command, with whatever descends from this process."""
    try:
        for path in entrances:
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            os.write(fd, b"0")
            os.close(fd)
    except OSError as problem:
        raise OSError(f"it could not be limited together with all it starts ({problem})") from problem


def _be_more_likely_to_go(order: dict[str, Any]) -> None:
    """Before the machine is built: inside, this cannot be said any more."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, str(order["score"]).encode())
        os.close(fd)
    except OSError:
        pass


class _Command:
    """The command and whatever it started, as seen from outside."""

    def __init__(self, pid: int, line: int, signals: int) -> None:
        self.pid = pid
        self.status = -1
        self._alone = False
        self._line = line
        self._signals = signals
        self._poll = select.poll()
        self._poll.register(signals, select.POLLIN)
        self._poll.register(line, select.POLLIN)

    def wait(self, grace: float) -> None:
        """Wait for the command itself; when asked to end, pass it on, and insist after a while."""
        deadline = None
        self._collect()
        while self.status < 0:
            left = None if deadline is None else deadline - time.monotonic()
            heard = self._listen(left)
            self._collect()
            if KILL in heard or (left is not None and left <= 0):
                self.end_all()
            elif heard and deadline is None:
                deadline = time.monotonic() + grace
                _signal_group(self.pid, signal.SIGTERM)

    def goes_on_after(self, seconds: float) -> bool:
        """Give what is left a moment to end by itself; True if something goes on."""
        until = time.monotonic() + seconds
        while not self._alone:
            if KILL in self._listen(until - time.monotonic()) or time.monotonic() >= until:
                self._collect()
                return not self._alone
            self._collect()
        return False

    def end_all(self) -> None:
        """Kill every descendant, however deep; new ones may come while we kill, so again until none is left."""
        until = time.monotonic() + _INSIST_S
        while not self._alone and time.monotonic() < until:
            for pid in [-1] if os.getpid() == _FIRST else _descendants():
                _signal(pid, signal.SIGKILL)
            self._listen(_POLL_S)
            self._collect()

    def tell(self, left: bool) -> None:
        """Say how it ended, if someone still listens."""
        ending = os.waitstatus_to_exitcode(self.status) if self.status >= 0 else -signal.SIGKILL
        try:
            os.write(self._line, (LEFT_SOME if left else b"") + ENDED_ALL + str(ending).encode())
        except OSError:
            pass

    def _collect(self) -> None:
        """Collect whoever has ended: nobody else will. Without parents all that is left becomes ours, so this knows."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.pid:
                    self.status = ended[1]
        except ChildProcessError:
            self._alone = True

    def _listen(self, seconds: float | None) -> bytes:
        """What was said within a time: by the daemon, by its end, or by a signal that asks the same."""
        heard = b""
        for fd, _ in self._poll.poll(None if seconds is None else max(seconds, 0) * 1000):
            heard += self._signaled() if fd == self._signals else self._said()
        return heard

    def _signaled(self) -> bytes:
        """What a signal asks for. A first process is sent some by those inside, and asked by nobody else that way."""
        asks = next_signal(self._signals) not in (None, signal.SIGCHLD) and os.getpid() != _FIRST
        return ASK if asks else b""

    def _said(self) -> bytes:
        try:
            said = os.read(self._line, _LONGEST)
        except OSError:
            said = b""
        if not said:
            self._poll.unregister(self._line)
        return said or ASK


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


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        pass
