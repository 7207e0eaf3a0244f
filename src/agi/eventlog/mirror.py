"""The readable mirror: `sessions/<id>/events.ndjson` and `session.json`, written behind the log by a thread.

Never the truth while the database is there, but enough to rebuild it. The mirror follows each commit and is synced to
disk when a turn ends; what a crash or a full disk kept from it is made up for from the database, when the file is
opened the next time or at the daemon's start. May import: protocol, eventlog.
"""

from __future__ import annotations

import os
import queue
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from agi.eventlog.base import ENDINGS
from agi.eventlog.rows import read_page
from agi.eventlog.schema import connect
from agi.protocol.events import Event, parse_envelope

STATE_CHANGES = ENDINGS | {
    "session_created",
    "session_updated",
    "message_added",
    "steer_requested",
    "message_steered",
    "turn_requested",
    "turn_started",
    "turn_resumed",
    "approval_requested",
    "approval_granted",
    "approval_denied",
    "verification_started",
    "verification_completed",
    "job_started",
    "job_ended",
    "session_completed",
    "session_failed",
    "session_canceled",
}
"""The events after which `session.json` is written anew."""
OPEN_FILES = 64
PAUSE_S = 0.01
"""How long the mirror lets the turn go first: both need the interpreter, and only the turn has somebody waiting."""
TAIL = 4096
PAGE = 200
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)

_Job = Callable[[], object]
T = TypeVar("T")


class Mirror:
    """Writes what was committed, in order, without holding up the writer."""

    def __init__(self, folder: Path, database: Path) -> None:
        self.folder = folder
        self._database = database
        self._files: OrderedDict[str, int] = OrderedDict()
        self._written: dict[str, int] = {}
        """The last event we wrote to each open file."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._wanted = threading.Event()
        """Set while somebody waits for the mirror."""
        self.failure: Exception | None = None
        """The last write that failed; the log itself is not affected."""
        self._thread = threading.Thread(target=self._run, name="agi-mirror", daemon=True)
        self._thread.start()

    def follow(self, session_id: str, events: Sequence[Event], snapshot: bytes | None) -> None:
        """Write these events, and the session's snapshot if there is a new one."""
        self._jobs.put(lambda: self._write(session_id, events, snapshot))

    def forget(self, session_id: str) -> None:
        """Remove a deleted session's folder, attachments and artifacts included."""
        self._jobs.put(lambda: self._remove(session_id))

    def ask(self, work: Callable[[], T]) -> Future[T]:
        """Have `work` done on the mirror's thread, once everything handed over so far is written."""
        answer: Future[T] = Future()
        self._jobs.put(partial(_answer, work, answer))
        self._wanted.set()
        return answer

    def close(self) -> None:
        """Write what is queued and stop."""
        self._jobs.put(None)
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            if self._jobs.empty():
                self._wanted.wait(PAUSE_S)
                self._wanted.clear()
            try:
                job()
            except Exception as error:  # whatever is wrong with one session's files, the others are mirrored
                self.failure = error
        for fd in self._files.values():
            os.close(fd)

    def _write(self, session_id: str, events: Sequence[Event], snapshot: bytes | None) -> None:
        try:
            fd = self._file(session_id, events[0].seq)
            _write_all(fd, b"".join(b"%b\n" % event.line() for event in events))
            self._written[session_id] = events[-1].seq
            if snapshot is not None:
                replace_file(session_folder(self.folder, session_id) / "session.json", snapshot)
            if any(event.type in ENDINGS for event in events):
                os.fdatasync(fd)
        except Exception:
            self._close(session_id)  # opening it again finds out what is missing
            raise

    def restore(self, session_id: str, through: int, snapshot: bytes | None) -> None:
        """Make up for what a session's files lack up to event `through`; on the mirror's thread."""
        try:
            fd = self._file(session_id, through + 1)
            self._written[session_id] = through
            if snapshot is not None:
                replace_file(session_folder(self.folder, session_id) / "session.json", snapshot)
            os.fdatasync(fd)
        except Exception:
            self._close(session_id)
            raise

    def _file(self, session_id: str, first: int) -> int:
        """The open mirror of a session, up to the event before `first`."""
        fd = self._files.get(session_id)
        if fd is None:
            folder = session_folder(self.folder, session_id)
            for made in (self.folder, folder):
                made.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = self._files[session_id] = open_mirror(folder / "events.ndjson")
            if len(self._files) > OPEN_FILES:
                self._close(next(iter(self._files)))
        if self._written.get(session_id) != first - 1:
            self._make_up(fd, session_id, first)
        self._files.move_to_end(session_id)
        return fd

    def _make_up(self, fd: int, session_id: str, first: int) -> None:
        """Write what the mirror lacks before `first`: another process may not have come to it."""
        last = last_seq(fd, session_id, first - 1)
        if last == first - 1:
            return
        with closing(connect(self._database)) as db:
            while page := [
                one for one in read_page(db, session_id, last, min(PAGE, first - 1 - last)) if one.seq < first
            ]:
                _write_all(fd, b"".join(b"%b\n" % event.line() for event in page))
                last = page[-1].seq

    def _close(self, session_id: str) -> None:
        fd = self._files.pop(session_id, None)
        self._written.pop(session_id, None)
        if fd is not None:
            os.close(fd)

    def _remove(self, session_id: str) -> None:
        self._close(session_id)
        import shutil  # late: it brings archives along, and hardly any run deletes something

        shutil.rmtree(session_folder(self.folder, session_id), ignore_errors=True)


def session_folder(sessions: Path, session_id: str) -> Path:
    """Where a session's files are; refuses ids that would lead elsewhere."""
    folder = sessions / session_id
    if _NAME.fullmatch(session_id) is None or folder.is_symlink():
        raise PermissionError(f"{session_id[:100]!r} is not the name of a folder of ours")
    return folder


def open_mirror(path: Path) -> int:
    """Open a mirror for appending, behind a line break if a crash left half a line."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise PermissionError(f"{path} is not a regular file")
        if state.st_size and os.pread(fd, 1, state.st_size - 1) != b"\n":
            _write_all(fd, b"\n")
    except OSError:
        os.close(fd)
        raise
    return fd


def last_seq(fd: int, session_id: str, newest: int) -> int:
    """The number of the last event a mirror holds; what is half a line, or beyond `newest`, does not count."""
    return next((seq for seq in seqs_from_end(fd, session_id) if seq <= newest), 0)


def seqs_from_end(fd: int, session_id: str, most: int | None = None) -> Iterator[int]:
    """The numbers of the events in a mirror, the last first; `most` is about how many bytes are read for them."""
    end, rest = os.fstat(fd).st_size, b""
    stop = 0 if most is None else end - most
    while end > max(0, stop):
        start = max(0, end - max(TAIL, len(rest)))
        rest, *lines = (os.pread(fd, end - start, start) + rest).split(b"\n")
        for line in reversed(lines if start else [rest, *lines]):
            try:
                event = parse_envelope(line)
            except (msgspec.DecodeError, ValueError, RecursionError):
                continue
            if event.session_id == session_id:
                yield event.seq
        end = start


def replace_file(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Put a private file in the place of another at once."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            _write_all(fd, data)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _answer(work: Callable[[], T], answer: Future[T]) -> None:
    if answer.set_running_or_notify_cancel():
        try:
            answer.set_result(work())
        except Exception as error:  # it goes to whoever asked
            answer.set_exception(error)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
