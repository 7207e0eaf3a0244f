"""Symbols of many files, found in a process of its own: a hostile file can end that process, and only that.

The process is started when it is first needed, kept for the next files, and ends by itself when it is not asked for a
while. Blocking; one thread at a time. May import: index, workspace.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from agi.index.languages import language_of
from agi.index.symbols import Symbols
from agi.index.worker import LENGTH, SECONDS_PER_FILE
from agi.workspace.processes import child_environment

LONGEST_ANSWER = 8 << 20
_PATIENCE_S = SECONDS_PER_FILE + 8.0
"""A process that neither answers nor ends by then is ended; the first answer waits for its start."""
_LOOK_S = 0.1
_PIECE = 1 << 18


class Source(Struct, frozen=True):
    """A file to be parsed."""

    path: str
    data: bytes


class _Ended(Exception):
    """The process is gone, or was ended."""


class Parsing:
    """Parses files in another process."""

    def __init__(self, argv: Sequence[str] = ()) -> None:
        # Nothing in the folder it is started in is imported (-P), nor told to the interpreter by variables (-E).
        self._argv = tuple(argv) or (sys.executable, "-E", "-P", "-m", "agi.index.worker")
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._ending: weakref.finalize[..., Parsing] | None = None

    def read(self, sources: Sequence[Source], stop: threading.Event) -> list[Symbols]:
        """The symbols of each file; fewer if told to stop. One that breaks the parser has none, and is partial."""
        with self._lock:
            found: list[Symbols] = []
            starts = 0
            while len(found) < len(sources) and not stop.is_set():
                before = len(found)
                try:
                    self._exchange(sources[before:], found, stop)
                except _Ended:
                    self._end()
                    starts = 0 if len(found) > before else starts + 1
                    if not stop.is_set() and (len(found) > before or starts > 1):
                        # Answers come in order: the first that is missing is the file that was too much. At once
                        # after a start it gets a second chance, as a process kept from before may have just ended.
                        found.append(Symbols(language=language_of(sources[len(found)].path), partial=True))
                        starts = 0
            return found

    def close(self) -> None:
        """End the process; it is started again when there is something to parse."""
        with self._lock:
            self._end()

    def _exchange(self, sources: Sequence[Source], found: list[Symbols], stop: threading.Event) -> None:
        process = self._started()
        assert process.stdout is not None  # noqa: S101
        feeding = threading.Thread(target=_feed, args=(process, sources), daemon=True)
        feeding.start()
        answers = _Answers(process.stdout.fileno(), stop)
        try:
            for _ in sources:
                found.append(answers.next())
        except _Ended:
            self._end()  # before the thread is waited for: it may hang on a pipe that nobody reads
            raise
        finally:
            feeding.join()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        self._process = subprocess.Popen(  # noqa: S603
            self._argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=child_environment({}, os.getpid()),
            start_new_session=True,
        )
        self._ending = weakref.finalize(self, _end, self._process)
        return self._process

    def _end(self) -> None:
        if self._ending is not None:
            self._ending()
        self._process = self._ending = None


def _feed(process: subprocess.Popen[bytes], sources: Sequence[Source]) -> None:
    assert process.stdin is not None  # noqa: S101
    for source in sources:
        # A name that is no text is not needed: only its ending counts.
        path = source.path.encode(errors="replace").decode()
        asked = msgspec.msgpack.encode((path, source.data))
        try:
            process.stdin.write(LENGTH.pack(len(asked)) + asked)
            process.stdin.flush()
        except (OSError, ValueError):
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError, ValueError):
                pipe.close()


class _Answers:
    """What the process says, answer by answer."""

    def __init__(self, fd: int, stop: threading.Event) -> None:
        self._fd = fd
        self._stop = stop
        self._held = bytearray()

    def next(self) -> Symbols:
        until = time.monotonic() + _PATIENCE_S
        self._fill(LENGTH.size, until)
        (length,) = LENGTH.unpack_from(self._held)
        if length > LONGEST_ANSWER:
            raise _Ended
        self._fill(LENGTH.size + length, until)
        answer = bytes(self._held[LENGTH.size : LENGTH.size + length])
        del self._held[: LENGTH.size + length]
        try:
            return msgspec.msgpack.decode(answer, type=Symbols)
        except msgspec.MsgspecError:
            raise _Ended from None

    def _fill(self, size: int, until: float) -> None:
        while len(self._held) < size:
            if self._stop.is_set() or time.monotonic() > until:
                raise _Ended
            if select.select([self._fd], [], [], _LOOK_S)[0]:
                piece = os.read(self._fd, _PIECE)
                if not piece:
                    raise _Ended
                self._held += piece
