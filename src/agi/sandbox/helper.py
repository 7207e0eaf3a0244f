"""The daemon's side of the helper: started when first needed and again if it died, asked for one holder at a time.

A command that was asked for begins only when it is given leave, so one whose helper died in the middle has not run and
can be asked for again. Whatever it and its holders start descends from them, which is how others know it for ours: so
their numbers are kept for as long as they may live. May import: errors, sandbox.
"""

from __future__ import annotations

import errno
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import agi
from agi.errors import Unavailable
from agi.sandbox import orphans
from agi.sandbox.line import Line
from agi.sandbox.passing import passing_hint
from agi.sandbox.saying import ASK, ENDED_ALL, KILL, LEAVE, MEMBER
from agi.sandbox.survivors import APART, end_at_once

_ROOT = str(Path(agi.__file__).parents[1])
_BOOT = "import sys; sys.path.append(sys.argv[2]); from agi.sandbox.nursery import main; main()"
_ANSWER_S = 20.0
_DOUBT_S = 0.5
"""After so long without an answer the helper may have been stopped, by a command that may do what we may."""
_ATTEMPTS = 3
_LONGEST = 200
_WRITES = 2
_SILENT = "the helper does not answer"
_GONE = (errno.EPIPE, errno.ECONNRESET)
"""How the system says that nobody is at the other end. Whatever else it says is about us, or about this machine."""


class Held:
    """A command that a holder sees through, as the launcher knows processes."""

    def __init__(
        self, pid: int, line: Line, *, is_first: bool = False, is_member: bool = False, brood: Brood | None = None
    ) -> None:
        self.pid = pid
        self.is_member = is_member
        """Whether it shares its limits from its beginning: it was born in the group it was ordered to be."""
        self._brood = brood
        if brood is not None:
            brood.add(pid)
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

    def close(self) -> None:
        """Hang up: whatever it still has to end, it ends."""
        self.line.close()
        if self._brood is not None:
            self._brood.remove(self.pid)
        orphans.collect()

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


class Brood:
    """A helper and the holders it has forked, by their numbers, for as long as commands may descend from them.

    Without a lock: any thread may hang up on a holder, also in the middle of something else, when what is not used any
    more is cleared away.
    """

    def __init__(self, helper: int) -> None:
        self.helper = helper
        self._holders: set[int] = set()
        self._is_left = False
        APART.add(helper)
        orphans.watch(helper)

    def add(self, holder: int) -> None:
        """One more, which may outlive the helper."""
        self._holders.add(holder)
        APART.add(holder)
        orphans.watch(holder)

    def remove(self, holder: int) -> None:
        """Nobody listens to it any more."""
        self._holders.discard(holder)
        APART.discard(holder)
        self._forget()

    def wake(self) -> None:
        """Have the helper go on, if a command has stopped it."""
        with suppress(OSError):
            os.kill(self.helper, signal.SIGCONT)

    def leave(self) -> None:
        """The helper is dead, or will be; some of what it forked may go on."""
        self._is_left = True
        self._forget()

    def _forget(self) -> None:
        if self._is_left and not self._holders:
            APART.discard(self.helper)


class _Asked:
    """An order that was handed over; unless a holder comes of it, whoever is forked for it ends before it begins."""

    def __init__(self, line: Line, door: socket.socket, brood: Brood, *, is_first: bool) -> None:
        self.line = line
        self.door = door
        self._brood = brood
        self._is_first = is_first
        self._is_kept = False

    def wake(self) -> None:
        """Have the helper go on: its silence may be that of one that was stopped."""
        self._brood.wake()

    def become(self, pid: int, *, is_member: bool) -> Held:
        """The holder by its number."""
        self._is_kept = True
        return Held(pid, self.line, is_first=self._is_first, is_member=is_member, brood=self._brood)

    def __enter__(self) -> _Asked:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_kept:
            self.line.close()


class Helper:
    """One for a ladder; any thread may ask."""

    def __init__(self) -> None:
        self._door: socket.socket | None = None
        self._brood: Brood | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def start(
        self, order: Mapping[str, object], *, cwd: Path, streams: Sequence[int], more: Sequence[int] = ()
    ) -> Held:
        """A holder for an order, which waits for leave; for a thread that may wait a moment.

        The streams are what the command writes to, twice, and what it reads, if that is anything. Raises `OSError` if
        there is none to be had, and `Unavailable` if the helper is there and could not be asked.
        """
        with _opened(order, cwd, streams, more) as descriptors:
            for _ in range(_ATTEMPTS):
                with self._ask(descriptors, is_first=order["enclosure"] is not None) as asked:
                    if not asked.line.is_answered(_DOUBT_S):
                        asked.wake()
                        asked.line.is_answered(_ANSWER_S)
                    if (held := self._take(asked)) is not None:
                        return held
        raise OSError(f"no process could be made: {_SILENT}")

    async def start_meanwhile(
        self, order: Mapping[str, object], *, cwd: Path, streams: Sequence[int], more: Sequence[int] = ()
    ) -> Held:
        """The same in an event loop, in which others go on."""
        with _opened(order, cwd, streams, more) as descriptors:
            for _ in range(_ATTEMPTS):
                with self._ask(descriptors, is_first=order["enclosure"] is not None) as asked:
                    if not await asked.line.is_answered_meanwhile(_DOUBT_S):
                        asked.wake()
                        await asked.line.is_answered_meanwhile(_ANSWER_S)
                    if (held := self._take(asked)) is not None:
                        return held
        raise OSError(f"no process could be made: {_SILENT}")

    def close(self) -> None:
        """Let it go; holders see their commands through all the same."""
        with self._lock:
            self._hang_up()

    def _ask(self, descriptors: Sequence[int], *, is_first: bool) -> _Asked:
        """Hand over an order; a helper that is gone is noticed by its silence."""
        line = Line()
        try:
            with self._lock, line.theirs:
                door = self._reach()
                assert self._brood is not None  # noqa: S101 - there is one for each helper
                _hand_over(door, [descriptors[0], line.theirs.fileno(), *descriptors[1:]])
                return _Asked(line, door, self._brood, is_first=is_first)
        except BaseException:
            line.close()
            raise

    def _take(self, asked: _Asked) -> Held | None:
        """The holder that was asked for; None if the helper is gone, and then the next one is a new one."""
        answer = asked.line.answer()
        number = answer.removesuffix(MEMBER)
        if number.isdigit():
            return asked.become(int(number), is_member=number != answer)
        if answer:
            raise OSError(f"no process could be made: {answer.decode()}")
        with self._lock:
            if self._door is asked.door:
                self._hang_up()
        return None

    def _reach(self) -> socket.socket:
        if self._door is None or self._owner != os.getpid():
            self._hang_up()
            self._door, pid = _start()
            self._brood, self._owner = Brood(pid), os.getpid()
        return self._door

    def _hang_up(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None
        if self._brood is not None:
            self._brood.wake()  # one that is stopped would not notice
            self._brood.leave()
            self._brood = None
        orphans.collect()

    def __del__(self) -> None:
        self._hang_up()


@contextmanager
def _opened(
    order: Mapping[str, object], cwd: Path, streams: Sequence[int], more: Sequence[int]
) -> Iterator[Sequence[int]]:
    """What goes with an order: it, written down, the folder, and what the command is given."""
    folder = os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        written = _written({**order, "reads": len(streams) > _WRITES})
        try:
            yield [written, folder, *streams, *more]
        finally:
            os.close(written)
    finally:
        os.close(folder)


def _hand_over(door: socket.socket, descriptors: list[int]) -> None:
    """Send an order, if anybody is there to take it; raises `Unavailable` if we cannot send."""
    try:
        socket.send_fds(door, [b"o"], descriptors)
    except OSError as problem:
        if isinstance(problem, TimeoutError) or problem.errno in _GONE:
            return  # which its silence on the line tells as well
        # The helper lives, and so do its holders: whoever brought this about must not have it dropped.
        said = f"The sandbox could not be asked to start a command: {problem.strerror}."
        raise Unavailable(said, hint=passing_hint(problem), code="sandbox_failed") from problem


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
