"""The daemon's side of the helper: started when first needed and again if it died, asked for one holder at a time.

A command that was asked for begins only when it is given leave, so one whose helper died in the middle has not run and
can be asked for again. May import: sandbox.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import agi
from agi.sandbox.line import Line
from agi.sandbox.saying import ASK, ENDED_ALL, KILL, LEAVE
from agi.sandbox.survivors import APART, end_at_once

_ROOT = str(Path(agi.__file__).parents[1])
_BOOT = "import sys; sys.path.append(sys.argv[2]); from agi.sandbox.nursery import main; main()"
_ANSWER_S = 20.0
_DOUBT_S = 0.5
"""After so long without an answer the helper may have been stopped, by a command that may do what we may."""
_ATTEMPTS = 3
_LONGEST = 200
_WRITES = 2


class Held:
    """A command that a holder sees through, as the launcher knows processes."""

    def __init__(self, pid: int, line: Line, *, is_first: bool = False) -> None:
        self.pid = pid
        self._is_first = is_first
        """Whether all of the command ends with its holder: it is the first process of a namespace."""
        self.returncode: int | None = None
        self.line = line

    def begin(self) -> None:
        """Give it leave."""
        self.line.say(LEAVE)

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for its end, and say how the command ended; minus a signal's number if that ended it."""
        until = None if seconds is None else time.monotonic() + seconds
        if self.returncode is None and self.line.wait(seconds) and self._is_over(until):
            self.collect()
        return self.returncode

    def _is_over(self, until: float | None) -> bool:
        """Hung up is not yet over: a first process does that before it ends, and others when it has ended."""
        if not self._is_first:
            return True
        try:
            end = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return True  # it has been collected
        try:
            poll = select.poll()
            poll.register(end, select.POLLIN)
            return bool(poll.poll(None if until is None else max(until - time.monotonic(), 0) * 1000))
        finally:
            os.close(end)

    def collect(self) -> None:
        """It has ended: what it said last tells how; one that said nothing, or nothing that makes sense, was killed."""
        _, told, ending = self.line.hear().rpartition(ENDED_ALL)
        # Where nothing keeps a command in, it can take the line from its holder and say what it likes.
        self.returncode = int(ending) if told and ending.removeprefix(b"-").isdigit() else -signal.SIGKILL

    def signal(self, number: int) -> bool:
        """Ask it to end all, or to do so at once, or nothing (0); False if it is over."""
        if self.returncode is not None:
            return False
        if number:
            self.line.say(KILL if number == signal.SIGKILL else ASK)
            with suppress(OSError):
                if not self._is_first:
                    os.kill(self.pid, signal.SIGCONT)  # a command that may do what we may can have stopped it
                elif number == signal.SIGKILL and not self.line.wait(0):  # while it holds the line, the number is its
                    end_at_once(self.pid)
        return True


class Helper:
    """One for a ladder; any thread may ask."""

    def __init__(self) -> None:
        self._door: socket.socket | None = None
        self._pid = 0
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def start(
        self, order: Mapping[str, object], *, cwd: Path, streams: Sequence[int], more: Sequence[int] = ()
    ) -> Held:
        """A holder for an order, which waits for leave; raises `OSError` if there is none to be had.

        The streams are what the command writes to, twice, and what it reads, if that is anything.
        """
        folder = os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            written = _written({**order, "reads": len(streams) > _WRITES})
            try:
                pid, line = self._ask([written, folder, *streams, *more])
                return Held(pid, line, is_first=order["enclosure"] is not None)
            finally:
                os.close(written)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Let it go; holders see their commands through all the same."""
        with self._lock:
            self._hang_up()

    def _ask(self, descriptors: Sequence[int]) -> tuple[int, Line]:
        answer = b""
        for _ in range(_ATTEMPTS):
            line = Line()
            with self._lock:
                answer = self._try([descriptors[0], line.theirs.fileno(), *descriptors[1:]])
            line.theirs.close()
            if answer.isdigit():
                return int(answer), line
            line.close()  # whoever was forked for it ends before it begins
        raise OSError(f"no process could be made: {answer.decode() or 'the helper does not answer'}")

    def _try(self, descriptors: list[int]) -> bytes:
        """What the helper says, in words if it failed; nothing if it is gone, and then the next one is a new one."""
        try:
            if self._door is None or self._owner != os.getpid():
                self._hang_up()
                self._door, self._pid = _start()
                APART.add(self._pid)
                self._owner = os.getpid()
            socket.send_fds(self._door, [b"o"], descriptors)
            answer = self._hear(self._door)
        except OSError:
            answer = b""
        if not answer:
            self._hang_up()
        return answer

    def _hear(self, door: socket.socket) -> bytes:
        poll = select.poll()
        poll.register(door, select.POLLIN)
        if not poll.poll(_DOUBT_S * 1000):
            self._wake()
        return door.recv(_LONGEST)

    def _wake(self) -> None:
        with suppress(OSError):
            os.kill(self._pid, signal.SIGCONT)

    def _hang_up(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None
            APART.discard(self._pid)
            self._wake()  # one that is stopped would not notice

    def __del__(self) -> None:
        self._hang_up()


def _start() -> tuple[socket.socket, int]:
    """Start the helper, which leaves its starter at once: it is nobody's child, and in nobody's way."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        ours.settimeout(_ANSWER_S)
        with theirs:
            _run(theirs.fileno())
        return ours, int(ours.recv(_LONGEST))
    except (subprocess.TimeoutExpired, ValueError) as problem:
        ours.close()
        raise OSError("the helper does not start") from problem
    except BaseException:
        ours.close()
        raise


def _run(number: int) -> None:
    subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", _BOOT, str(number), _ROOT],
        env={},
        cwd="/",
        pass_fds=[number],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        timeout=_ANSWER_S,
        check=False,
    )


def _written(order: Mapping[str, object]) -> int:
    fd = os.memfd_create("agi")
    os.write(fd, marshal.dumps(dict(order)))
    return fd
