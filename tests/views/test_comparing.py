"""Tables that say something else than the events they are made from."""

from __future__ import annotations

import sqlite3

import pytest

from agi.protocol.events import Event
from agi.sessions.harness import Harness
from agi.views.comparing import COLUMNS, differing


async def kept(place) -> tuple[Harness, str]:
    """A session in which most tables have a row."""
    place.model.calls("repo_tree").calls("write_file", path="n.txt", content="honey").says("There is honey.")
    await place.ask("what is there?", on_ask="deny")
    await place.harness.add_attachment(place.session_id, "n.txt", "text/plain", b"honey")
    return place.harness, place.session_id


def looked(place, session_id: str) -> tuple[str, ...]:
    return differing(place.harness.log.db, session_id, place.events())


async def test_tables_say_what_the_events_say(place):
    """Whatever was done in it; every kind of session is looked at so where it is played again."""
    harness, session_id = await kept(place)

    assert looked(place, session_id) == ()
    assert harness.log.db.execute("SELECT count(*) FROM messages").fetchone()[0] > 3


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("sessions", "title='hooey'"),
        ("sessions", "status=CAST('active' AS BLOB)"),
        ("messages", "role='assistant'"),
        ("messages", "position=position+1"),
        ("message_parts", "content=replace(content, 'honey', 'hooey')"),
        ("message_parts", "type=CAST(type AS BLOB)"),
        ("turns", "status='failed'"),
        ("attachments", "size=7"),
        ("usage", "input=input+1"),
    ],
)
async def test_a_row_that_rotted_is_found(place, table, change):
    """Whatever it says now, and of whatever kind."""
    _, session_id = await kept(place)
    with sqlite3.connect(place.project / ".agi" / "agi.sqlite") as db:
        db.execute(f"UPDATE {table} SET {change}")

    assert looked(place, session_id) == (table,)


async def test_events_that_make_nothing_are_not_compared(place):
    """Somebody else may have chained what no version writes; it is as it was written all the same."""
    _, session_id = await kept(place)
    said = next(one for one in place.events() if one.type == "message_added")
    raw = said.raw.replace(b'"role":"user"', b'"role":"oracle"')
    events = [Event(said.seq, said.ts, said.session_id, said.turn_id, said.type, raw)]

    assert differing(place.harness.log.db, session_id, events) == ()


async def test_a_row_that_is_gone_or_came_from_nowhere_is_found(place):
    """Each in its table; what hangs on it goes with it."""
    _, session_id = await kept(place)
    with sqlite3.connect(place.project / ".agi" / "agi.sqlite") as db:
        db.execute("DELETE FROM message_parts WHERE content LIKE '%There is honey%'")
        db.execute("INSERT INTO attachments VALUES (?, 'x', 'x', 'x', 1, 'x', 1)", (session_id,))

    assert looked(place, session_id) == ("message_parts", "attachments")


def test_every_table_of_the_views_is_looked_at():
    """But for the pool and the forks, which other sessions change as well, and the index of what was said."""
    from agi.eventlog.schema import STEPS
    from agi.views.tables import Tables

    with sqlite3.connect(":memory:") as db:
        for step in (*STEPS, *Tables.steps):
            step(db)
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}

    assert names - COLUMNS.keys() == {"events", "meta", "leases", "texts", "pool", "forks", "sqlite_sequence"}
