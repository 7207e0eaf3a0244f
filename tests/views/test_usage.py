"""The table of usage: made with the events, made again from the log, and cut into the days of any zone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agi.eventlog.schema import STEPS, connect, prepare
from agi.protocol.events import Event, SessionCreated, UsageRecorded, encode_data
from agi.protocol.messages import Usage
from agi.protocol.times import to_millis
from agi.views import usage
from agi.views.tables import Tables

NOW = to_millis("2026-03-10T12:00:00.000Z")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[object]:
    path = tmp_path / "agi.sqlite"
    prepare(path, (*STEPS, *Tables.steps))
    connection = connect(path)
    yield connection
    connection.close()


def used(seq: int, ts: str, *, cost: float | None = 1.0, model: str = "m", session_id: str = "sess_1") -> Event:
    data = UsageRecorded(
        message_id="", provider="p", model=model, usage=Usage(requests=1, input_tokens=100, cost_usd=cost)
    )
    return Event(seq, ts, session_id, None, data.TYPE, encode_data(data))


def begun(session_id: str = "sess_1") -> Event:
    data = SessionCreated(
        id=session_id, agent="a", workspace_path="/w", project_path="/w", created_at="2026-03-01T00:00:00.000Z"
    )
    return Event(1, "2026-03-01T00:00:00.000Z", session_id, None, data.TYPE, encode_data(data))


def test_days_are_those_of_the_zone(db):
    """Half past eleven in the evening is tomorrow one hour further east, also where zones differ by quarters."""
    Tables().apply(db, "sess_1", [begun(), used(2, "2026-03-09T23:30:00.000Z"), used(3, "2026-03-10T01:00:00.000Z")])

    def days(offset: int) -> list[tuple[str, int]]:
        told = usage.report(db, now_ms=NOW, days=5, utc_offset=offset)
        return [(one.day, one.requests) for one in told.days]

    assert days(0) == [("2026-03-09", 1), ("2026-03-10", 1)]
    assert days(60) == [("2026-03-10", 2)]
    assert days(-75) == [("2026-03-09", 2)]


def test_only_the_days_that_were_asked_for_count(db):
    """Today and the days before it, to the minute."""
    events = [begun(), used(2, "2026-03-08T23:59:59.000Z"), used(3, "2026-03-09T00:00:00.000Z")]
    Tables().apply(db, "sess_1", events)

    told = usage.report(db, now_ms=NOW, days=2)

    assert (told.since, told.until) == ("2026-03-09T00:00:00.000Z", "2026-03-11T00:00:00.000Z")
    assert told.total.requests == 1


@pytest.mark.parametrize(("ts", "tokens"), [("yesterday", 100), ("2026-03-10T01:00:00.000Z", 10**30)])
def test_what_cannot_be_counted_keeps_no_log_from_being_opened(db, ts, tokens):
    """A time that is none, or a number beyond all numbers, is passed over; what is right beside it is counted."""
    Tables().apply(db, "sess_1", [begun()])
    for event in (used(2, ts), used(3, "2026-03-10T02:00:00.000Z")):
        raw = event.raw.replace(b":100", b":%d" % tokens) if event.seq == 2 else event.raw
        db.execute(
            "INSERT INTO events (session_id, seq, ts, turn_id, type, data) VALUES (?,?,?,?,?,CAST(? AS TEXT))",
            (event.session_id, event.seq, event.ts, None, event.type, raw),
        )
    db.execute("DROP TABLE usage")

    usage.step(db)

    assert usage.report(db, now_ms=NOW, days=1).total.requests == 1


def test_a_log_from_before_the_table_is_counted_when_it_is_made(db):
    """Nothing is lost by having been used earlier."""
    Tables().apply(db, "sess_1", [begun()])
    event = used(2, "2026-03-10T01:00:00.000Z", cost=None)
    db.execute(
        "INSERT INTO events (session_id, seq, ts, turn_id, type, data) VALUES (?,?,?,?,?,CAST(? AS TEXT))",
        (event.session_id, event.seq, event.ts, None, event.type, event.raw),
    )
    db.execute("DROP TABLE usage")

    usage.step(db)

    told = usage.report(db, now_ms=NOW, days=1)
    assert (told.total.requests, told.total.unpriced, told.total.cost_usd) == (1, 1, None)


def test_a_deleted_session_takes_its_usage_along(db):
    """The table says what the log says, and nothing else."""
    tables = Tables()
    tables.apply(db, "sess_1", [begun(), used(2, "2026-03-10T01:00:00.000Z")])
    tables.apply(db, "sess_2", [begun("sess_2"), used(2, "2026-03-10T01:00:00.000Z", session_id="sess_2")])

    tables.forget(db, "sess_1")

    assert [one.session_id for one in usage.report(db, now_ms=NOW, days=1).sessions] == ["sess_2"]


def test_a_free_model_costs_nothing_and_that_is_known(db):
    """A price of 0 is a price."""
    Tables().apply(db, "sess_1", [begun(), used(2, "2026-03-10T01:00:00.000Z", cost=0.0)])

    assert usage.report(db, now_ms=NOW, days=1).total.cost_usd == 0.0
