"""Making room: by age, by size, never what is at work; what kills left behind; and the room is really given back."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time

import pytest

from agi.checkpoints.opened import store_at
from agi.errors import Conflict, NotFound
from agi.eventlog import leases
from agi.eventlog.base import Cursor
from agi.eventlog.schema import STEPS, prepare
from agi.models.scripted import Call, Say, Wait
from agi.protocol.commands import CollectGarbage, CreateSession, ForkSession, PostMessage, Revert
from agi.protocol.ids import SESSION, new_id
from agi.protocol.storage import Collected, RetentionPolicy, StorageUse
from agi.protocol.times import to_millis
from agi.sessions.collecting import choose, is_quiet
from agi.sessions.measuring import Kept, Measured, measure
from agi.sessions.retaining import DAILY_S, retain
from agi.views.tables import Tables

DAY_MS = 86_400_000
QUIET = '{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}'


async def gc(place, **fields: object) -> Collected:
    return await place.harness.collect_garbage(CollectGarbage(**fields))


async def sessions(place, count: int, text: str = "x") -> list[str]:
    """So many sessions with a message in each, the oldest first."""
    made = []
    for _ in range(count):
        one = await place.harness.create_session(CreateSession())
        await place.harness.post_message(one.id, PostMessage(content=text, auto_run=False))
        made.append(one.id)
    return made


def there(place) -> set[str]:
    return {one.id for one in place.harness.sessions(limit=1000)}


def look(*ages_in_days: float, live: tuple[int, ...] = (), now: float = 1e9) -> Measured:
    """Sessions of these ages, of 100 bytes each."""
    kept = [
        Kept(id=f"s{n}", title=None, updated_at=int(now * 1000 - age * DAY_MS), is_live=n in live, files=100)
        for n, age in enumerate(ages_in_days)
    ]
    return Measured(use=StorageUse(total=100 * len(kept)), sessions=kept)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (RetentionPolicy(), []),
        (RetentionPolicy(max_age_days=15), ["s0", "s1"]),
        (RetentionPolicy(max_age_days=0), ["s0", "s1", "s2", "s3"]),
        (RetentionPolicy(max_age_days=15, keep_sessions=3), ["s0"]),
        (RetentionPolicy(max_age_days=0, keep_sessions=9), []),
        (RetentionPolicy(max_bytes=400), []),
        (RetentionPolicy(max_bytes=399), ["s0"]),
        (RetentionPolicy(max_bytes=150), ["s0", "s1", "s2"]),
        (RetentionPolicy(max_bytes=0, keep_sessions=2), ["s0", "s1"]),
        (RetentionPolicy(max_age_days=25, max_bytes=250), ["s0", "s1"]),
    ],
)
def test_the_quietest_go_first_and_no_more_than_needed(policy, expected):
    """By age, by size, or both; the latest stay if that is asked for."""
    assert [one.id for one in choose(look(30, 20, 10, 0.1), policy, 1e9, set())] == expected


def test_what_is_at_work_is_passed_over_and_noted():
    """However old it is, and however little room there is."""
    in_use: set[str] = set()
    chosen = choose(look(30, 20, live=(0,)), RetentionPolicy(max_age_days=1, max_bytes=0), 1e9, in_use)
    assert ([one.id for one in chosen], in_use) == (["s1"], {"s0"})


async def test_without_limits_no_session_is_removed(place):
    """Nothing is deleted by itself, and a look says what there is."""
    await sessions(place, 2)
    done = await gc(place)

    assert (done.sessions, len(there(place))) == ((), 3)
    assert done.before.sessions == 3
    use = done.before
    parts = (use.database, use.mirrors, use.attachments, use.artifacts, use.checkpoints, use.other)
    assert use.total == sum(parts) > use.database > 0


async def test_a_dry_run_says_what_would_go_and_changes_nothing(place):
    """The same sessions go when it is meant."""
    await sessions(place, 2)
    before = set(place.harness.folder.rglob("*"))
    told = await gc(place, dry_run=True, older_than_days=0)
    assert set(place.harness.folder.rglob("*")) == before

    done = await gc(place, older_than_days=0)
    assert [one.id for one in told.sessions] == [one.id for one in done.sessions]
    assert there(place) == set()
    assert not list((place.harness.folder / "sessions").iterdir())


async def test_the_room_is_given_back_to_the_disk(place):
    """The database gets smaller, in steps: what lies beside it meanwhile stays small."""
    await sessions(place, 30, text="word " * 40_000)
    database = place.harness.log.path
    before = database.stat().st_size + _wal(place)

    done = await gc(place, older_than_days=0)

    assert before > 10_000_000
    assert database.stat().st_size + _wal(place) < before // 20
    assert done.before.total - done.after.total > before
    assert place.harness.log.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _wal(place) -> int:
    path = place.harness.log.path.with_name("agi.sqlite-wal")
    return path.stat().st_size if path.exists() else 0


async def test_the_oldest_go_until_it_fits(place):
    """What a session takes is known about; it is looked at again until the limit holds."""
    made = await sessions(place, 10, text="word " * 40_000)
    total = (await gc(place)).after.total
    done = await gc(place, max_bytes=total // 2)

    kept = [one for one in made if one in there(place)]
    assert done.after.total <= total // 2
    assert kept == made[-len(kept) :]
    assert 2 <= len(kept) <= 5


async def test_a_session_that_runs_or_waits_stays(place):
    """A turn, a question and a queue: all are work."""
    gate = asyncio.Event()
    place.model.plays(Say("half"), Wait(gate))
    posted = await place.say("go")
    waits = (await sessions(place, 1))[0]
    place.model.plays(Call("shell", {"command": "echo 1"}))
    await place.harness.post_message(waits, PostMessage(content="run"))
    await place.until(lambda: bool(place.harness.session(waits).pending_approvals))

    done = await gc(place, older_than_days=0)
    gate.set()

    assert (done.sessions, done.in_use) == ((), 2)
    assert there(place) == {place.session_id, waits}
    assert (await place.ended(posted)).status == "completed"


async def test_a_session_that_another_process_holds_stays(place):
    """It is about to run it, or takes something back."""
    other = f"{os.getppid()}:{leases.started_at(os.getppid())}:{leases._boot()}:other"
    log = place.harness.log
    with sqlite3.connect(log.path) as db:
        leases.take(db, place.session_id, other)
    db.close()
    done = await gc(place, older_than_days=0)
    assert (done.in_use, there(place)) == (1, {place.session_id})


async def test_a_session_that_was_used_since_it_was_chosen_stays(place):
    """The condition is looked at where it is removed."""
    since = place.harness.session(place.session_id).updated_at
    await asyncio.sleep(0.002)
    await place.say("again", auto_run=False)
    with pytest.raises(Conflict):
        is_quiet(place.session_id, since)(place.harness.log.db)


async def test_a_client_that_pages_or_follows_meanwhile_is_not_confused(place):
    """The next page goes on where the last one ended; a follower comes to its end."""
    made = [place.session_id, *await sessions(place, 4)]
    found = place.harness.sessions(limit=2)
    page = (to_millis(found[-1].updated_at), found[-1].id)
    batches = place.harness.follow(made[0], Cursor(0, None, place.harness.log.epoch))
    assert (await anext(batches)).deliveries

    done = await gc(place, older_than_days=0, keep_sessions=3)

    assert [one.id for one in done.sessions] == made[:2]
    assert [one.id for one in place.harness.sessions(limit=2, before=page)] == [made[2]]
    assert [batch async for batch in batches] == []
    with pytest.raises(NotFound):
        place.harness.messages(made[0], limit=10, before=None)


async def test_a_fork_is_whole_after_its_source_went(place):
    """Its files and what it can take back are its own as well."""
    place.configure(QUIET)
    added = await place.harness.add_attachment(place.session_id, "a.txt", "text/plain", b"x" * 5000)
    (place.project / "a").write_text("0\n")
    place.model.calls("shell", command="echo 1 > a").then_says("done")
    await place.ask("edit")
    made = await place.harness.fork_session(place.session_id, ForkSession(seq=3))

    done = await gc(place, older_than_days=0, keep_sessions=1)

    assert [one.id for one in done.sessions] == [place.session_id]
    assert place.harness.fetch_file(made.id, *added.ref.split("/")).size == 5000
    await place.harness.revert(made.id, Revert(to="fork"))
    assert (place.project / "a").read_text() == "0\n"


async def test_checkpoints_of_sessions_that_are_gone_go_too(place):
    """With what only they needed."""
    place.configure(QUIET)
    place.model.calls("shell", command="head -c 3000000 /dev/urandom > big").then_says("done")
    await place.ask("make")
    (place.project / "big").unlink()
    place.model.calls("shell", command="true").then_says("done")
    await place.ask("look")
    before = (await gc(place)).after.checkpoints

    done = await gc(place, older_than_days=0)

    assert before > 3_000_000 > 300_000 > done.after.checkpoints
    with store_at(place.harness.folder).reading() as db:
        assert db.execute("SELECT count(*) FROM steps").fetchone() == (0,)


async def test_what_a_kill_left_behind_is_removed(place):
    """Half-made folders, files nobody knows, temporary ones; only when they are old enough not to be in the making."""
    folder = place.harness.folder
    own = place.harness.session_folder(place.session_id)
    half = folder / "sessions" / new_id(SESSION)
    (half / "attachments").mkdir(parents=True)
    (half / "attachments" / "x").write_bytes(b"x" * 100)
    (own / "attachments").mkdir()
    lost = [own / "attachments" / "nobody-knows", own / ".session.json.123", folder / "agi.sqlite.rebuilding"]
    for path in lost:
        path.write_bytes(b"x")
    assert (await gc(place)).leftovers == ()
    long_ago = time.time() - 7200
    for path in (half, *lost):
        os.utime(path, (long_ago, long_ago))

    told = await gc(place, dry_run=True)
    done = await gc(place)

    assert {one.path for one in told.leftovers} == {str(path.relative_to(folder)) for path in (half, *lost)}
    assert sum(one.bytes for one in done.leftovers) == 103
    assert not any(path.exists() for path in (half, *lost))
    assert (own / "events.ndjson").exists()


async def test_a_removal_that_a_kill_cut_off_is_finished(place):
    """The log is gone, the folder was not yet; it does not come back."""
    made = (await sessions(place, 1))[0]
    folder = place.harness.session_folder(made)
    place.harness.log.mirror.forget = lambda session_id: None
    await place.harness.delete_session(made)
    del place.harness.log.mirror.forget
    assert folder.exists()

    done = await gc(place)

    assert [one.path for one in done.leftovers] == [f"sessions/{made}"]
    assert not folder.exists()


async def test_a_log_that_the_database_does_not_know_is_kept_and_told(place):
    """It may be all there is of a session."""
    stranger = place.harness.folder / "sessions" / new_id(SESSION)
    stranger.mkdir()
    (stranger / "events.ndjson").write_text("{}\n")
    os.utime(stranger, (1, 1))
    done = await gc(place, older_than_days=0)
    assert (done.unknown, stranger.exists()) == ((stranger.name,), True)


def test_links_are_not_followed(tmp_path):
    """What lies elsewhere is neither counted nor removed."""
    folder = tmp_path / ".agi"
    (folder / "sessions").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x" * 10_000_000)
    (folder / "sessions" / new_id(SESSION)).symlink_to(outside)
    database = folder / "agi.sqlite"
    prepare(database, (*STEPS, *Tables.steps))

    seen = measure(folder, database, time.time() + 1e6)

    assert (seen.leftovers, seen.unknown) == ([], [])
    assert seen.use.total < 1_000_000


async def test_the_configured_limits_hold_once_at_the_start_and_then_daily(place):
    """And it is told; without limits nothing is looked at."""
    place.configure('{"retention": {"maxAgeDays": 0.0000001, "keepSessions": 1}}')
    made = await sessions(place, 2)
    told: list[str] = []
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            raise asyncio.CancelledError

    harness = place.harness
    with pytest.raises(asyncio.CancelledError):
        await retain(lambda: harness.site().config.retention, harness.collect_garbage, told.append, sleep)

    assert there(place) == {made[-1]}
    assert slept == [DAILY_S, DAILY_S]
    assert len(told) == 1
    assert "2 sessions removed" in told[0]


async def test_a_project_nobody_trusts_removes_nothing(tmp_path, place):
    """What is kept is not for a repository to say."""
    place.trusted = False
    await place.reopen()
    place.configure('{"retention": {"maxAgeDays": 1, "maxBytes": 0}}')
    config = place.harness.site().config
    assert not config.retention.limits
    assert {"retention.maxAgeDays", "retention.maxBytes"} <= set(config.ignored)
