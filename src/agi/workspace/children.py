"""A child process in its own session: its pipes read by the event loop, its exit noticed at once, its group ended.

The exit is the leader's, not the end of its pipes, which a process left in the background may hold open for ever.
Processes that leave the group on purpose are not followed: that takes a sandbox. May import: sandbox.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from agi.sandbox.survivors import end_at_once

Channel = Literal["stdout", "stderr"]

_READ_SIZE = 1 << 16
_POLL_S = 0.01
_REAP_S = 2.0


class Process(Protocol):
    """What stands for a program that was started, whoever started it."""

    pid: int
    returncode: int | None

    def wait(self) -> int | None:
        """Wait for its end."""

    def collect(self) -> None:
        """It has ended: find out how, without waiting."""

    def signal(self, number: int) -> bool:
        """Send a signal to it and its group, 0 to send none; False if nobody is left."""


Start = Callable[[Path, Sequence[int]], Awaitable[Process]]
"""Starts a program in a folder, with what it writes to, twice, and what it reads, if that is anything."""


class Spawned(subprocess.Popen[bytes]):
    """A child of ours, the first in a session and a group of its own."""

    def collect(self) -> None:
        """It has ended: nobody else may wait for it."""
        self.wait()

    def signal(self, number: int) -> bool:
        """Send a signal to its whole group, 0 to send none; False if nobody is left in it."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def spawning(
    argv: Sequence[str], *, env: Mapping[str, str], stdin: int = subprocess.DEVNULL, pass_fds: Collection[int] = ()
) -> Start:
    """How a program is started as a child of ours."""

    async def spawn(cwd: Path, streams: Sequence[int]) -> Process:
        # No preexec_fn: with one, Python forks the whole daemon instead of using vfork, and may deadlock.
        return Spawned(
            argv,
            stdin=stdin,
            stdout=streams[0],
            stderr=streams[1],
            cwd=cwd,
            env=env,
            start_new_session=True,
            pass_fds=pass_fds,
        )

    return spawn


class Child:
    """A running process, as `started` makes it; to be abandoned in the end."""

    def __init__(
        self, process: Process, on_bytes: Callable[[Channel, bytes], None], *, has_inner_group: bool = False
    ) -> None:
        self._process = process
        self._on_bytes = on_bytes
        self._has_inner_group = has_inner_group
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._at_end: asyncio.Future[None] = self._loop.create_future()
        self._pipes: set[int] = set()

    @classmethod
    async def started(
        cls,
        start: Start,
        cwd: Path,
        *,
        on_bytes: Callable[[Channel, bytes], None],
        stdin: int = subprocess.DEVNULL,
        has_inner_group: bool = False,
    ) -> Child:
        """Start a program with pipes of its own, and begin to read them."""
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        try:
            streams = [out_end, err_end] if stdin == subprocess.DEVNULL else [out_end, err_end, stdin]
            child = cls(await start(cwd, streams), on_bytes, has_inner_group=has_inner_group)
        except BaseException:
            os.close(out)
            os.close(err)
            raise
        finally:
            os.close(out_end)
            os.close(err_end)
        child._listen(out, "stdout")
        child._listen(err, "stderr")
        child._watch_exit()
        return child

    @property
    def pid(self) -> int:
        """Its process id, also of its group and session."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it, or None while it runs."""
        return self._process.returncode

    async def exited_within(self, seconds: float) -> bool:
        """Wait for the process itself to exit; raises what `on_bytes` raised."""
        done, _ = await asyncio.wait({self._exited}, timeout=seconds)
        for future in done:
            future.result()
        return bool(done)

    async def over_within(self, seconds: float) -> bool:
        """Wait until both pipes are at their end and nobody is left in the group."""
        until = time.monotonic() + seconds
        done, _ = await asyncio.wait({self._at_end}, timeout=seconds)
        return bool(done) and await self._empty_by(until)

    def signal(self, number: int) -> bool:
        """Send a signal to the whole group, 0 to send none; False if nobody is left in it."""
        return self._process.signal(number)

    async def end(self, grace_s: float) -> bool:
        """End the group: ask, wait a little, then insist; False if nobody was left to end."""
        if not self._is_anyone_left():
            return False
        self._ask_to_end()
        try:
            await self._empty_by(time.monotonic() + grace_s)
        finally:
            self.kill()
        if self.returncode is None:
            await asyncio.wait({self._exited}, timeout=_REAP_S)
        return True

    def kill(self) -> None:
        """End it at once. What it watches over is killed by number too: that may not end with it yet."""
        inner = self._inner()
        self.signal(signal.SIGKILL)
        if inner is not None:
            end_at_once(inner)

    def _ask_to_end(self) -> None:
        """Where the child only watches over a group of its own, that group is asked: the watcher follows it."""
        if not self._has_inner_group:
            self.signal(signal.SIGTERM)
            return
        inner = self._inner()
        try:
            if inner is None:
                raise ProcessLookupError
            os.killpg(inner, signal.SIGTERM)
        except OSError:
            self.kill()  # it has not come so far that anything of the command runs

    def _inner(self) -> int | None:
        is_there = self._has_inner_group and self.returncode is None
        return _first_child(self._process.pid) if is_there else None

    def abandon(self) -> None:
        """Stop reading, and kill what is left; the exit is still collected when it comes."""
        if self.returncode is None:
            self.kill()
        for fd in tuple(self._pipes):
            self._stop_listening(fd)
        if self._exited.done() and not self._exited.cancelled():
            self._exited.exception()

    async def _empty_by(self, until: float) -> bool:
        """Wait for the group to be empty; nothing tells when its last member is gone, so it is asked for."""
        while self._is_anyone_left():
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    def _is_anyone_left(self) -> bool:
        """Whether a member of the group still runs; one that ended and was not yet collected does not count."""
        return self.signal(0) and (self.returncode is None or _has_live_member(self._process.pid))

    def _listen(self, fd: int, channel: Channel) -> None:
        os.set_blocking(fd, False)
        self._pipes.add(fd)
        self._loop.add_reader(fd, self._read, fd, channel)

    def _stop_listening(self, fd: int) -> None:
        self._pipes.discard(fd)
        self._loop.remove_reader(fd)
        os.close(fd)
        if not self._pipes and not self._at_end.done():
            self._at_end.set_result(None)

    def _read(self, fd: int, channel: Channel) -> None:
        try:
            data = os.read(fd, _READ_SIZE)
            if data:
                self._on_bytes(channel, data)
            else:
                self._stop_listening(fd)
        except BlockingIOError:
            return
        except Exception as error:
            # Nobody awaits this callback: the failure is handed to whoever waits for the exit.
            self._stop_listening(fd)
            if not self._exited.done():
                self._exited.set_exception(error)

    def _watch_exit(self) -> None:
        try:
            pidfd = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            self._loop.run_in_executor(None, self._process.wait).add_done_callback(lambda _: self._note_exit())
            return
        self._loop.add_reader(pidfd, self._collect, pidfd)

    def _collect(self, pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        os.close(pidfd)
        self._process.collect()
        self._note_exit()

    def _note_exit(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)


def _first_child(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return int(file.read().split()[0])
    except (OSError, IndexError, ValueError):
        return None


def _has_live_member(group: int) -> bool:
    """Look through all processes, since the system does not list a group's."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    return any(_is_live_member(pid, group) for pid in pids)


def _is_live_member(pid: str, group: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in parentheses may hold anything; after it come state, parent and group.
            state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return int(its_group) == group and state not in (b"Z", b"X")
