"""The writer: shared commits, failures that stay with their cause, a disk that is full, slow or broken."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from contextlib import closing

import pytest

from agi.errors import Conflict, DiskFull, StorageError, Unavailable
from agi.eventlog.log import EventLog
from agi.eventlog.schema import connect
from agi.eventlog.writer import Job, Writer
from agi.protocol import events as ev
from agi.views.tables import Tables


class Slips:
    """A writer on a file with one table of slips of paper, held up at will."""

    def __init__(self, path) -> None:
        self.path = path
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE slips (text TEXT)")
        db.commit()
        db.close()
        self.rollbacks = 0
        self.statements: list[str] = []
        self._gate = threading.Event()
        self.writer = Writer(path, self._rolled_back)

    def _rolled_back(self) -> None:
        self.rollbacks += 1

    def hold_up(self) -> None:
        """Let jobs gather behind one that waits, and listen to what it and the others do."""

        def wait(db: sqlite3.Connection) -> None:
            db.set_trace_callback(self.statements.append)
            self._gate.wait(10)

        self.writer.submit(Job(wait))

    def go_on(self) -> None:
        self._gate.set()

    def add(self, text: str, error: Exception | None = None) -> asyncio.Future[str]:
        def work(db: sqlite3.Connection) -> str:
            db.execute("INSERT INTO slips VALUES (?)", (text,))
            if error is not None:
                raise error
            return text

        return self.writer.submit(Job(work))

    def run(self, statement: str) -> asyncio.Future[None]:
        return self.writer.submit(Job(lambda db: db.execute(statement) and None))

    def on_disk(self) -> list[str]:
        db = connect(self.path)
        found = [row[0] for row in db.execute("SELECT text FROM slips")]
        db.close()
        return found

    def close(self) -> None:
        self._gate.set()
        self.writer.stop()
        self.writer.join()


@pytest.fixture
def slips(tmp_path):
    made = Slips(tmp_path / "slips.sqlite")
    yield made
    made.close()


async def test_jobs_that_gather_share_one_commit(slips):
    """While one commit is under way the next hundred jobs wait, and then take one commit together."""
    slips.hold_up()
    added = [slips.add(str(n)) for n in range(100)]
    slips.go_on()

    assert await asyncio.gather(*added) == [str(n) for n in range(100)]
    assert slips.statements.count("COMMIT") <= 2
    assert slips.on_disk() == [str(n) for n in range(100)]


async def test_a_lone_job_is_committed_at_once(slips):
    """Nothing waits for company."""
    assert await slips.add("alone") == "alone"
    assert slips.on_disk() == ["alone"]


async def test_a_failing_job_takes_no_other_with_it(slips):
    """Its own work is undone, everybody else's is done, in order."""
    slips.hold_up()
    added = [slips.add(str(n), Conflict("no") if n == 5 else None) for n in range(10)]
    slips.go_on()

    outcomes = await asyncio.gather(*added, return_exceptions=True)

    assert [isinstance(outcome, Conflict) for outcome in outcomes] == [n == 5 for n in range(10)]
    assert slips.on_disk() == [str(n) for n in range(10) if n != 5]


async def test_what_was_remembered_of_a_failed_transaction_is_dropped(slips):
    """Whoever keeps state beside the database is told of every rollback."""
    with pytest.raises(Conflict):
        await slips.add("x", Conflict("no"))

    assert slips.rollbacks == 1


async def test_everybody_hears_before_the_first_caller_goes_on(slips):
    """The events of a whole group are told before any of its futures is done."""
    order: list[str] = []

    class Told(Job[str]):
        def told(self) -> None:
            order.append("told")

    def note(future: asyncio.Future[str]) -> None:
        order.append(future.result())

    slips.hold_up()
    for name in ("first", "second"):
        slips.writer.submit(Told(lambda db, name=name: name)).add_done_callback(note)
    slips.go_on()
    await slips.add("after")
    await asyncio.sleep(0)

    assert order == ["told", "told", "first", "second"]


@pytest.mark.threat("T48")
async def test_a_failing_disk_stops_the_writer(slips):
    """After an I/O error nobody knows what reached the disk, so nothing is tried again and nothing more is taken."""
    slips.hold_up()
    added = [slips.add("a"), slips.add("b", sqlite3.OperationalError("disk I/O error")), slips.add("c")]
    slips.go_on()

    outcomes = await asyncio.gather(*added, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StorageError] * 3
    with pytest.raises(StorageError, match="takes no more") as refused:
        await slips.add("d")

    assert refused.value.hint
    assert slips.on_disk() == []


async def test_a_full_disk_is_told_apart_and_passes(slips):
    """Running out of space is an error of its own, and no reason to stop."""
    slips.hold_up()
    added = [slips.add("big", sqlite3.OperationalError("database or disk is full")), slips.add("small")]
    slips.go_on()

    outcomes = await asyncio.gather(*added, return_exceptions=True)

    assert isinstance(outcomes[0], DiskFull)
    assert outcomes[1] == "small"
    assert slips.on_disk() == ["small"]


async def test_a_lock_that_is_given_back_is_waited_for(slips):
    """Another process in the middle of its own write only makes us wait."""
    other = sqlite3.connect(slips.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = slips.add("patient")
    await asyncio.sleep(0.02)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()

    assert await waiting == "patient"


async def test_a_lock_that_is_never_given_back_fails_all_who_waited_for_it_once(slips):
    """The whole group is told after one wait, not one after the other, and later jobs are taken again."""
    await slips.run("PRAGMA user_version")
    other = sqlite3.connect(slips.path, isolation_level=None)
    slips.hold_up()
    added = [slips.add(str(n)) for n in range(50)]
    slips.writer._db.execute("PRAGMA busy_timeout=60")
    slips.go_on()
    await asyncio.gather(*added)
    slips._gate.clear()
    other.execute("BEGIN IMMEDIATE")
    begun = asyncio.get_running_loop().time()
    refused = await asyncio.gather(*(slips.add("late") for _ in range(20)), return_exceptions=True)
    took = asyncio.get_running_loop().time() - begun
    other.execute("ROLLBACK")
    other.close()

    assert {type(outcome) for outcome in refused} == {StorageError}
    assert took < 0.06 * 20 / 2
    assert await slips.add("again") == "again"


async def test_a_closed_writer_refuses(slips):
    """It finishes what it was given and takes nothing more."""
    last = slips.add("last")
    slips.close()

    assert await last == "last"
    with pytest.raises(Unavailable):
        slips.add("too late")


def test_work_is_done_even_if_its_event_loop_is_gone(slips):
    """A caller that disappears takes nothing back."""

    async def leave() -> None:
        slips.add("orphan")

    asyncio.run(leave())
    slips.close()

    assert slips.on_disk() == ["orphan"]


def test_a_file_that_cannot_be_opened_is_an_error_at_once(tmp_path):
    """Not a thread that dies in silence and callers that wait for ever."""
    with pytest.raises(StorageError):
        Writer(tmp_path / "missing" / "x.sqlite", lambda: None)


async def fill(log, story) -> int:
    """Append until the disk is full, the mirror keeping up; returns how many appends were acknowledged."""
    for written in range(1000):
        try:
            await story.write(*(ev.Notice(code="n", message="x" * 2000) for _ in range(5)))
            await log.mirrored()
        except DiskFull:
            return written
    raise AssertionError("the disk never got full")


@pytest.mark.threat("T47")
@pytest.mark.parametrize("ballast", range(0, 500_000, 45_000))
async def test_a_full_disk_loses_nothing_and_is_got_over(small_disk, tell, ballast):
    """Appends fail whole and with a clear error, what was acknowledged is there, and with space again all goes on."""
    log = EventLog(small_disk / ".agi", Tables())
    story = tell(log)
    await story.begin()
    (small_disk / "ballast").write_bytes(bytes(ballast))
    (small_disk / "more").write_bytes(bytes(1_000_000))
    written = await fill(log, story) * 5

    assert [event.seq for event in log.read(story.id, limit=5000)] == list(range(1, 4 + written))
    for name in ("ballast", "more"):
        (small_disk / name).unlink()
    (event,) = await story.write(ev.Notice(code="n", message="on"))
    assert event.seq == 4 + written
    await log.mirrored()
    mirror = small_disk / ".agi" / "sessions" / story.id / "events.ndjson"
    lines = mirror.read_bytes().split(b"\n")
    whole = [event.line() for event in log.read(story.id, limit=5000)]
    assert [line for line in lines if line in whole] == whole
    await log.close()
    db = connect(small_disk / ".agi" / "agi.sqlite")
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    db.close()


async def test_nothing_is_written_to_a_file_in_whose_place_another_stands(slips, tmp_path):
    """It was made again meanwhile: who is told that something is on disk may rely on finding it there."""
    await slips.add("before")
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE slips (text TEXT)")
    for ending in ("", "-wal", "-shm"):
        os.replace(f"{slips.path}{ending}", tmp_path / f"aside.sqlite{ending}")
    await slips.add("while there is none")
    os.replace(other, slips.path)

    for _ in range(2):
        with pytest.raises(StorageError, match="was made again") as refused:
            await slips.add("after")
        assert refused.value.hint == "Start agi again."
    assert slips.on_disk() == []
