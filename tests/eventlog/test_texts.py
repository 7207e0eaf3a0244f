"""Texts that events have in common are kept once, and nobody who reads a log can tell."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agi.eventlog import texts
from agi.eventlog.log import EventLog
from agi.eventlog.mirroring import rebuild_mirrors
from agi.eventlog.repair import rebuild_database
from agi.eventlog.salvage import read_database
from agi.eventlog.schema import STEPS, prepare
from agi.eventlog.verify import LogFiles
from agi.protocol import events as ev
from agi.protocol.context import ContextSection
from agi.protocol.events import parse_envelope
from agi.views.tables import Tables, anchor

RULES = "Grüße: read before you write.\n" * 40


def head(text: str = RULES) -> ev.ContextAssembled:
    section = ContextSection(name="rules", source="AGENTS.md", tokens=7, digest="d" * 16, text=text)
    return ev.ContextAssembled(cause="first_turn", agent="build", provider="p", model="m", sections=(section,))


def check(log: EventLog, session_id: str):
    return LogFiles(log.folder, log.path).check(session_id, anchor)


def kept(log: EventLog) -> list[str]:
    return [row[0] for row in log.db.execute("SELECT data FROM texts ORDER BY id")]


def sql(log: EventLog, *statements: str) -> None:
    with closing(sqlite3.connect(log.path)) as db, db:
        for statement in statements:
            db.execute(statement)


async def told(log: EventLog, tell, *heads: ev.ContextAssembled) -> list:
    """A session for each head."""
    stories = [tell(log) for _ in heads]
    for story, said in zip(stories, heads, strict=True):
        await story.begin()
        await story.write(said)
    return stories


async def test_what_every_session_begins_with_is_kept_once(log, tell):
    """Two sessions of one agent share their head, a third that is told otherwise has its own; all read as written."""
    said = [head(), head(), head(RULES + "And be brief.")]
    stories = await told(log, tell, *said)

    assert [log.read(one.id)[3].data for one in stories] == said
    assert kept(log) == [ev.encode_data(said[0]).decode(), ev.encode_data(said[2]).decode()]
    assert [row[0] for row in log.db.execute("SELECT text_id FROM events WHERE text_id IS NOT NULL")] == [1, 1, 2]


@pytest.mark.parametrize("text", ["short", "x" * texts.LONGEST])
async def test_what_is_short_or_very_long_stays_in_its_event(log, tell, text):
    """Sharing it would win nothing, or let a small file stand for a very large log."""
    (story,) = await told(log, tell, head(text))

    assert kept(log) == []
    assert log.read(story.id)[3].data == head(text)


async def test_the_chain_covers_what_is_shared_and_mirrors_hold_it_whole(log, tell):
    """Each mirror is enough by itself."""
    stories = await told(log, tell, head(), head())
    await log.mirrored()

    for story in stories:
        line = (log.folder / "sessions" / story.id / "events.ndjson").read_bytes().splitlines()[3]
        assert parse_envelope(line).data == head()
        assert check(log, story.id).intact


async def test_a_byte_changed_in_a_shared_text_is_found_in_every_session_that_has_it(log, logs, tell):
    """And put back from the mirrors."""
    stories = await told(log, tell, head(), head(), head("Another. " * 100))
    await log.mirrored()
    sql(log, "UPDATE texts SET data=replace(data, 'before', 'beside') WHERE id=1")

    looked = [check(log, story.id) for story in stories]
    assert [one.intact for one in looked] == [False, False, True]
    assert {(one.place, one.problem, one.seq) for one in looked[0].findings} >= {("database", "changed", 4)}
    await logs.close()
    report = rebuild_database(log.folder, log.path, Tables())

    assert (report.lost, report.anew) == (0, [])
    assert all(check(log, story.id).intact for story in stories)


async def test_a_text_that_was_lost_is_damage_and_not_an_event_that_says_nothing(log, logs, tell):
    """What points to nothing is no data of its type; the mirror has it."""
    (story,) = await told(log, tell, head())
    await log.mirrored()
    sql(log, "DELETE FROM texts")

    assert {(one.place, one.seq) for one in check(log, story.id).findings} >= {("database", 4)}
    assert 4 not in read_database(log.path).sessions[story.id]
    await logs.close()
    rebuild_database(log.folder, log.path, Tables())
    assert check(log, story.id).intact


async def test_a_damaged_text_is_not_shared_with_whoever_comes_now(log, tell):
    """A text is found by its content, not by what it is said to be."""
    await told(log, tell, head())
    sql(log, "UPDATE texts SET data=replace(data, 'before', 'beside')")
    (later,) = await told(log, tell, head())
    await log.mirrored()

    assert log.read(later.id)[3].data == head()
    assert check(log, later.id).intact


async def test_a_text_goes_with_the_last_session_that_has_it(log, tell):
    """Deleting is for good, and takes nothing from others."""
    first, second = await told(log, tell, head(), head())

    await log.delete(first.id)
    assert log.read(second.id)[3].data == head()
    await log.delete(second.id)

    assert kept(log) == []


async def test_a_refused_append_leaves_no_text_behind(log, tell):
    """The text is written in the transaction of its event."""
    (story,) = await told(log, tell, head("Small."))

    def refuse(db: sqlite3.Connection) -> None:
        raise ValueError("not now")

    with pytest.raises(ValueError):
        await story.write(head(), check=refuse)
    broken = ev.MessageAdded(message=ev.Message(id="m", role="user", parts=(), created_at="never", status="complete"))
    with pytest.raises(ValueError):
        await story.write(head(), broken)

    assert kept(log) == []


async def test_mirrors_are_made_from_shared_texts(log, logs, tell):
    """Losing every mirror loses nothing."""
    stories = await told(log, tell, head(), head())
    await log.mirrored()
    files = [log.folder / "sessions" / story.id / "events.ndjson" for story in stories]
    before = [file.read_bytes() for file in files]
    await logs.close()
    for file in files:
        file.unlink()

    rebuild_mirrors(log.folder, log.path, Tables())

    assert [file.read_bytes() for file in files] == before


async def test_a_database_without_mirrors_is_read_as_text_with_what_its_events_share(log, logs, tell):
    """Every event is read, whole."""
    stories = await told(log, tell, head(), head())
    await logs.close()

    found = read_database(log.path)

    assert found.is_whole
    assert [found.sessions[story.id][4].data for story in stories] == [head(), head()]


async def test_a_small_file_cannot_stand_for_an_endless_log(log, logs, tell):
    """Many events that point to one long text are read as far as an honest log would come, and the rest is not."""
    long = "x" * (texts.LONGEST - 1_000)
    (story,) = await told(log, tell, head(long))
    copies = 40_000
    sql(
        log,
        "WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i+1 FROM n WHERE i<" + str(copies) + ")"
        " INSERT INTO events (session_id, seq, ts, type, data, hash, text_id)"
        " SELECT session_id, i, ts, type, data, '', text_id FROM events, n WHERE text_id IS NOT NULL",
    )
    await logs.close()
    size = log.path.stat().st_size

    found = read_database(log.path)

    shared = [event for event in found.sessions[story.id].values() if event.type == texts.SHARED]
    assert not found.is_whole
    assert 1 < len(shared) <= 64 * size // len(long) + 1
    assert len({id(event.raw) for event in shared}) == len({id(event.data) for event in shared}) == 1, "held once"


async def test_a_table_of_texts_that_is_a_program_is_not_run(log, logs, tell):
    """A view in its place is somebody's words about the log, not the log."""
    (story,) = await told(log, tell, head())
    await logs.close()
    sql(log, "DROP TABLE texts", "CREATE VIEW texts AS SELECT 1 AS id, 1 AS digest, '{\"cause\":1}' AS data")

    found = read_database(log.path)

    assert sorted(found.sessions[story.id]) == [1, 2, 3]
    assert not found.is_whole


def test_events_that_held_their_texts_share_them_once_the_file_is_brought_up(tmp_path: Path):
    """Also where one of them is no text any more: that is damage, and keeps nobody from the others."""
    path = tmp_path / "agi.sqlite"
    prepare(path, (*STEPS, *Tables.steps[:-1]))
    data = ev.encode_data(head())
    insert = "INSERT INTO events (session_id, seq, ts, type, data) VALUES (?,1,'t',?,CAST(? AS TEXT))"
    with closing(sqlite3.connect(path)) as db, db:
        for n, raw in enumerate((data, data, b"{" + b"\xff" * 500)):
            db.execute(insert, (f"s{n}", texts.SHARED, raw))
        db.execute(insert, ("s9", "notice", data))

    prepare(path, (*STEPS, *Tables.steps))

    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        found = db.execute("SELECT data, text_id FROM events ORDER BY id").fetchall()
        assert found == [(b"{}", 1), (b"{}", 1), (b"{}", 2), (data, None)]
        assert db.execute("SELECT data FROM texts ORDER BY id").fetchall() == [(data,), (b"{" + b"\xff" * 500,)]
