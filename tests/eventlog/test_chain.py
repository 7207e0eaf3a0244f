"""The chain: every event holds on to the one before it, also in logs that were written before there was one."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from agi.eventlog import chain
from agi.eventlog.log import EventLog
from agi.eventlog.mirroring import rebuild_mirrors
from agi.eventlog.repair import rebuild_database
from agi.eventlog.schema import STEPS, prepare
from agi.eventlog.verify import LogFiles
from agi.protocol import events as ev
from agi.protocol.chains import Span
from agi.views.tables import Tables, anchor

TS = "2026-01-01T00:00:00.000Z"
SESSION = "sess_0190000000007000800000000000c4a1"
GOLDEN = Path(__file__).parent / "golden" / "before_hashes"


def event(seq: int, text: str = "x", **changed: object) -> ev.Event:
    made = ev.Event.of(seq, TS, SESSION, None, ev.Notice(code="note", message=text))
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def check(folder: Path, session_id: str = SESSION, head: str = ""):
    return LogFiles(folder, folder / "agi.sqlite").check(session_id, anchor, head)


@pytest.fixture
def old(folder: Path) -> Path:
    """A data folder as the version before hashes left it."""
    place = folder / "sessions" / SESSION
    place.mkdir(parents=True)
    for name in ("events.ndjson", "session.json"):
        shutil.copy(GOLDEN / name, place / name)
    db = sqlite3.connect(folder / "agi.sqlite")
    db.executescript((GOLDEN / "log.sql").read_text())
    db.close()
    return folder


def test_a_link_covers_the_event_its_place_and_how_it_came_about():
    """Another byte, another event before it or another way of chaining is another hash."""
    first = chain.link("", event(1))
    links = {
        first,
        chain.link("", event(1, "y")),
        chain.link_late("", event(1)),
        chain.begin_anew(event(1)),
        chain.link(first, event(2)),
        chain.link(chain.link("", event(1, "y")), event(2)),
    }
    assert len({chain.digest_of(one) for one in links}) == 6


def test_what_follows_an_event_without_a_hash_begins_anew():
    """There is nothing to hold on to, and the link says so."""
    assert chain.kind_of(chain.link("", event(5))) == "anew"


@pytest.mark.parametrize("text", ["", "made", "late:", "f" * 63, "F" * 64, "soon:" + "f" * 64, "f" * 64 + "\n"])
def test_what_is_no_hash_fits_nowhere(text):
    """Only our own words count."""
    assert chain.kind_of(text) is None
    assert not chain.fits("", event(1, hash=text))


def test_bytes_that_move_from_one_column_to_another_are_a_change():
    """The envelope is the same, the row is not."""
    row = ev.Event(1, TS, SESSION, None, "notice", b'{"code":"a","message":"b"}')
    row.hash = chain.link("", row)
    moved = ev.Event(1, f'{TS}","session_id":"{SESSION}","turn_id":null,"type":"x', "", None, "notice", b"{}")
    moved.hash = chain.link("", moved)

    assert chain.fits("", row)
    assert not chain.fits("", moved)


async def test_every_appended_event_is_chained_to_the_one_before(log: EventLog, story):
    """Also over several appends."""
    await story.note()
    before = ""
    for one in log.read(story.id):
        assert chain.fits(before, one)
        assert chain.kind_of(one.hash) == "written"
        before = one.hash
    assert anchor(log.db, story.id) == (4, before)


async def test_each_session_has_a_chain_of_its_own(log: EventLog, tell):
    """Sessions written in turns do not mix."""
    one, other = tell(log), tell(log)
    await one.begin()
    await other.begin()
    await one.note()
    await other.note()
    await log.mirrored()

    assert all(check(log.folder, story.id).intact for story in (one, other))


async def test_an_old_log_still_loads_and_is_chained_once_and_said_so(old, logs):
    """Its events are what they were, chained late; what is appended now is chained as it is written."""
    lines = (GOLDEN / "events.ndjson").read_bytes().splitlines()
    log = logs.open()
    found = log.read(SESSION)
    await log.append(SESSION, [(None, ev.Notice(code="note", message="new"))])
    await log.mirrored()
    looked = check(old)

    assert [one.envelope() for one in found] == lines
    assert {chain.kind_of(one.hash) for one in found} == {"late"}
    assert looked.intact, looked.findings
    assert (looked.events, looked.late, looked.anew) == (7, (Span(1, 6),), ())


async def test_an_old_log_has_the_shape_of_a_new_one(old, logs, tmp_path):
    """An update leaves the same tables and columns as a fresh start."""
    logs.open()
    fresh = tmp_path / "fresh.sqlite"
    prepare(fresh, (*STEPS, *Tables.steps))
    shapes = []
    for path in (old / "agi.sqlite", fresh):
        db = sqlite3.connect(path)
        tables = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
        shapes.append(db.execute(tables).fetchall())
        db.close()
    assert shapes[0] == shapes[1]


async def test_an_old_log_whose_database_is_lost_gets_the_same_chain_from_its_mirror(old, logs):
    """Lines with and without hashes stand in one mirror, and the head is the same as before."""
    log = logs.open()
    await log.append(SESSION, [(None, ev.Notice(code="note", message="new"))])
    await logs.close()
    head = check(old).head
    (old / "agi.sqlite").unlink()

    report = rebuild_database(old, old / "agi.sqlite", Tables())
    looked = check(old)

    assert report.anew == []
    assert (looked.head, looked.intact, looked.late) == (head, True, (Span(1, 6),))


async def test_a_repair_writes_the_mirror_of_an_old_log_anew_and_calls_nothing_strange(old, logs):
    """Lines without hashes are what an older version wrote."""
    logs.open()
    await logs.close()

    report = rebuild_mirrors(old, old / "agi.sqlite", Tables())

    assert (report.mirrors, report.set_aside) == (1, [])
    assert check(old).intact


async def test_an_event_that_another_version_wrote_without_a_hash_is_found(log: EventLog, story):
    """What comes after it begins anew: it cannot vouch for it."""
    db = sqlite3.connect(log.path)
    db.execute(
        'INSERT INTO events (session_id, seq, ts, type, data) VALUES (?,4,?,\'notice\',\'{"code":"a","message":"b"}\')',
        (story.id, TS),
    )
    db.commit()
    db.close()
    await story.note()
    await log.mirrored()
    looked = check(log.folder, story.id)

    assert next((one.problem, one.seq) for one in looked.findings) == ("unchained", 4)
    assert looked.anew == (5,)
