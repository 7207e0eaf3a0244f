"""The readable mirror: `sessions/<id>/events.ndjson` and `session.json`, written behind the log by a thread.

Never the truth while the database is there, but enough to rebuild it. The mirror follows each commit and is synced to
disk when a turn ends. May import: protocol.
"""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from agi.protocol.events import Event

STATE_CHANGES = ENDINGS | {
    "session_created",
    "session_updated",
    "message_added",
    "turn_started",
    "approval_requested",
    "approval_granted",
    "approval_denied",
    "session_completed",
    "session_failed",
    "session_canceled",
}
OPEN_FILES = 64

_Job = Callable[[], object]


class Mirror:
    """Writes what was committed, in order, without holding up the writer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: OrderedDict[str, int] = OrderedDict()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="agi-mirror", daemon=True)
        self._thread.start()
        self.failure: OSError | None = None
        """The last write that failed; the log itself is not affected."""

    def follow(self, session_id: str, events: Sequence[Event], snapshot: bytes | None) -> None:
        """Write these events, and the session's snapshot if there is a new one."""
        self._jobs.put(lambda: self._write(session_id, events, snapshot))

    def forget(self, session_id: str) -> None:
        """Remove a deleted session's folder, attachments and artifacts included."""
        self._jobs.put(lambda: self._remove(session_id))

    def flush(self) -> None:
        """Wait until everything handed over so far is written."""
        done = threading.Event()
        self._jobs.put(done.set)
        done.wait(30)

    def call_when_written(self, told: Callable[[], object]) -> None:
        """Call `told`, on the mirror's thread, once everything handed over so far is written."""
        self._jobs.put(told)

    def close(self) -> None:
        """Write what is queued and stop."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except OSError as error:
                self.failure = error
        for fd in self._files.values():
            os.close(fd)

    def _write(self, session_id: str, events: Sequence[Event], snapshot: bytes | None) -> None:
        fd = self._file(session_id)
        _write_all(fd, b"".join(b"%b\n" % event.envelope() for event in events))
        if snapshot is not None:
            _replace(self._folder / session_id / "session.json", snapshot)
        if any(event.type in ENDINGS for event in events):
            os.fdatasync(fd)

    def _file(self, session_id: str) -> int:
        fd = self._files.get(session_id)
        if fd is None:
            folder = self._folder / session_id
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = open_mirror(folder / "events.ndjson")
            self._files[session_id] = fd
            if len(self._files) > OPEN_FILES:
                os.close(self._files.popitem(last=False)[1])
        self._files.move_to_end(session_id)
        return fd

    def _remove(self, session_id: str) -> None:
        fd = self._files.pop(session_id, None)
        if fd is not None:
            os.close(fd)
        shutil.rmtree(self._folder / session_id, ignore_errors=True)


def open_mirror(path: Path) -> int:
    """Open a mirror for appending, behind a line break if a crash left half a line."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        _write_all(fd, b"\n")
    return fd


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        _write_all(fd, data)
    finally:
        os.close(fd)
    os.replace(beside, path)
