"""Leases: one process runs a session at a time, and a dead one holds nobody up."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess

import pytest

from agi.errors import Conflict, LeaseLost
from agi.eventlog import leases
from agi.eventlog.schema import STEPS, connect, prepare
from agi.eventlog.writer import Job
from agi.protocol import events as ev

HOLD = """
async def main():
    log = EventLog(folder, Tables())
    lease = await log.take_lease(session_id)
    print(lease.generation, flush=True)
    sys.stdin.readline()
    await log.release_lease(lease)
    print("released", flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""
NOW = 1_000_000.0
OURS = leases.process_owner()
DEAD = "1:0:" + OURS.split(":")[2] + ":00000000"
"""A process with the number of one that is alive but was started at another time."""


@pytest.fixture
def db(tmp_path):
    prepare(tmp_path / "x.sqlite", STEPS)
    made = connect(tmp_path / "x.sqlite")
    yield made
    made.close()


def someone_else() -> str:
    """A living process that is not this log's: the one that started us."""
    _, _, boot, tail = OURS.split(":")
    return f"{os.getppid()}:{leases.started_at(os.getppid())}:{boot}:{tail}"


def test_a_free_session_is_taken(db):
    """The first lease has the first generation."""
    assert leases.is_free(db, "s", NOW)
    assert leases.take(db, "s", OURS, NOW) == leases.Lease("s", OURS, 1)
    assert not leases.is_free(db, "s", NOW)
    assert leases.is_free(db, "other", NOW)


def test_a_session_that_somebody_runs_is_refused(db):
    """While its owner lives and renews, nobody else gets it; the refusal names the process."""
    leases.take(db, "s", someone_else(), NOW)

    with pytest.raises(Conflict) as refused:
        leases.take(db, "s", OURS, NOW + leases.TTL_S - 1)

    assert refused.value.code == "session_busy_elsewhere"
    assert str(os.getppid()) in refused.value.hint


def test_a_lease_runs_out_unless_it_is_renewed(db):
    """After its time it is free for all; renewing begins the time anew."""
    leases.take(db, "s", someone_else(), NOW)
    leases.take(db, "t", someone_else(), NOW)
    later = NOW + leases.TTL_S - 1
    db.execute("UPDATE leases SET owner=? WHERE session_id='t'", (OURS,))
    leases.renew(db, OURS, later)

    assert leases.is_free(db, "s", later + 2)
    assert not leases.is_free(db, "t", later + 2)
    assert leases.take(db, "s", OURS, later + 2).generation == 2


def test_a_lease_of_a_process_that_is_gone_is_free_at_once(db):
    """Pid and start time tell: a number that was given to a new process is not the old one."""
    leases.take(db, "s", DEAD, NOW)

    assert leases.is_free(db, "s", NOW)
    assert leases.take(db, "s", OURS, NOW).generation == 2


def test_a_lease_from_before_the_last_boot_is_free_at_once(db):
    """Whatever ran then does not run now."""
    pid, started, _, tail = OURS.split(":")
    leases.take(db, "s", f"{pid}:{started}:00000000:{tail}", NOW)

    assert leases.is_free(db, "s", NOW)


def test_who_takes_it_again_gets_a_new_generation(db):
    """The same process may take its own lease again; the older one is worth nothing then."""
    first = leases.take(db, "s", OURS, NOW)
    second = leases.take(db, "s", OURS, NOW)

    leases.require(db, second)
    with pytest.raises(LeaseLost):
        leases.require(db, first)


def test_a_lease_that_was_given_back_stays_free(db):
    """Renewing the others does not take it again, and the next owner has a higher generation."""
    lease = leases.take(db, "s", OURS, NOW)
    leases.release(db, lease)
    leases.renew(db, OURS, NOW)

    assert leases.is_free(db, "s", NOW)
    assert leases.take(db, "s", someone_else(), NOW).generation == 2


def test_giving_back_a_lost_lease_takes_nothing_from_the_new_owner(db):
    """Only the lease itself is released, not its successor."""
    lost = leases.take(db, "s", DEAD, NOW)
    leases.take(db, "s", someone_else(), NOW)
    leases.release(db, lost)

    assert not leases.is_free(db, "s", NOW)


def test_a_process_is_told_apart_from_all_others():
    """Two logs in one process are two owners, and both are alive."""
    one, two = leases.process_owner(), leases.process_owner()

    assert one != two
    assert leases.is_alive(one)
    assert leases.is_alive(two)
    assert not leases.is_alive(DEAD)


def test_who_was_killed_and_not_collected_yet_is_gone(db):
    """A supervisor may leave it so for ever; its sessions are free at once all the same."""
    killed = subprocess.Popen(["sleep", "100"])
    owner = f"{killed.pid}:{leases.started_at(killed.pid)}:{leases._boot()}:killed"
    assert leases.is_alive(owner)
    killed.kill()
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)

    assert not leases.is_alive(owner)
    killed.wait()


ROTTED = [("owner", 7), ("owner", b"\xff"), ("owner", "x"), ("generation", b""), ("expires_at", None)]


@pytest.mark.parametrize(("column", "value"), ROTTED)
def test_a_row_that_rotted_is_no_lease(db, column, value):
    """A bit that flips makes a number nothing, or bytes: nobody is kept from the session for that."""
    leases.take(db, "s", someone_else(), NOW)
    db.execute("PRAGMA writable_schema=ON")
    db.execute("UPDATE sqlite_master SET sql=replace(sql, ' NOT NULL', '') WHERE name='leases'")
    db.execute("PRAGMA writable_schema=RESET")
    db.execute(f"UPDATE leases SET {column}=?", (value,))

    assert leases.is_free(db, "s", NOW)
    lease = leases.take(db, "s", OURS, NOW)
    leases.require(db, lease)
    assert not leases.is_free(db, "s", NOW)


async def test_an_append_after_a_takeover_is_refused(logs, log, story):
    """A process that was only asleep finds its lease gone, and its events do not get in."""
    lease = await log.take_lease(story.id)
    await story.write(ev.Notice(code="n", message="mine"), lease=lease)
    other = logs.open()
    await other._writer.submit(Job(lambda db: leases.take(db, story.id, other.owner, 10**10)))

    with pytest.raises(LeaseLost):
        await story.write(ev.Notice(code="n", message="too late"), lease=lease)

    assert log.last_seq(story.id) == 4


async def test_a_lease_may_be_taken_with_the_first_event_it_covers(log, story):
    """Taken in a check, the lease and the events are in one transaction: both or none."""
    taken: list[leases.Lease] = []

    def take(db: sqlite3.Connection) -> None:
        taken[:] = [leases.take(db, story.id, log.owner)]

    await story.write(ev.Notice(code="n", message="x"), check=take)

    assert not leases.is_free(log.db, story.id)
    await story.write(ev.Notice(code="n", message="y"), lease=taken[0])


@pytest.mark.parametrize("moment", ["before it is taken", "after it is taken"])
async def test_a_lease_nobody_waited_for_is_given_back(log, story, moment):
    """A caller that was canceled does not know of it and could not release it; the session must not be stuck."""
    taking = asyncio.create_task(log.take_lease(story.id))
    await asyncio.sleep(0)
    if moment == "after it is taken":
        while leases.is_free(log.db, story.id):
            pass  # the event loop stands still
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    await log.renew_leases()
    await log.renew_leases()

    assert taking.cancelled()
    assert leases.is_free(log.db, story.id)
    assert (await log.take_lease(story.id)).generation == 2


async def test_a_lease_that_was_refused_to_nobody_is_no_trouble(log, story, process):
    """Nobody waits for the refusal, and nobody else's lease is given back."""
    holder = process(HOLD, story.id)
    assert holder.stdout.readline() == "1\n"
    taking = asyncio.create_task(log.take_lease(story.id))
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    await log.renew_leases()

    assert not leases.is_free(log.db, story.id)


async def test_a_log_that_closes_gives_back_what_nobody_waited_for(logs, tell):
    """Canceled and closed at once, as at a shutdown."""
    story = tell(logs.open())
    await story.begin()
    taking = asyncio.create_task(story.log.take_lease(story.id))
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.gather(logs.close(), taking, return_exceptions=True)

    assert leases.is_free(logs.open().db, story.id)


async def test_a_killed_process_leaves_its_session_to_the_next(log, story, process):
    """While it lives nobody gets the session; killed without a word, its session is free at once."""
    holder = process(HOLD, story.id)
    assert holder.stdout.readline() == "1\n"
    with pytest.raises(Conflict):
        await log.take_lease(story.id)

    holder.kill()
    await asyncio.to_thread(holder.wait, 10)

    lease = await log.take_lease(story.id)
    assert lease.generation == 2
    await story.write(ev.Notice(code="n", message="on"), lease=lease)


async def test_a_process_that_is_done_hands_the_session_over(log, story, process):
    """A released lease is free although its owner lives on."""
    holder = process(HOLD, story.id)
    assert holder.stdout.readline() == "1\n"
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "released\n"

    lease = await log.take_lease(story.id)
    await log.renew_leases()
    await log.release_lease(lease)
    await log.renew_leases()

    assert leases.is_free(log.db, story.id)
