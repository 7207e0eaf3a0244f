"""The load's subscribers: what they did not hear, or heard twice, is counted."""

import json
import sqlite3
from contextlib import closing

import pytest
from bench.load import Subscriber, _missed

EVENTS = [(1, "session_created"), (2, "turn_started"), (5, "turn_completed")]
"""What stands in the database beside text."""


def heard(*events):
    """A subscriber who was told these."""
    one = Subscriber()
    for seq, kind, data in events:
        one._hear({"seq": seq, "type": kind, "data": data})
    return one


@pytest.mark.parametrize(
    ("events", "missed"),
    [(EVENTS, 0), (EVENTS[:1] + EVENTS[2:], 1), (EVENTS[:2] + EVENTS[1:], 1), ([], 1)],
    ids=["all of it", "a gap", "a repeat", "nothing at all"],
)
def test_events_are_held_against_the_database(tmp_path, events, missed):
    """Numbers alone do not tell: text has some of them, and comes in other pieces."""
    (tmp_path / ".agi").mkdir()
    with closing(sqlite3.connect(tmp_path / ".agi" / "agi.sqlite")) as db, db:
        db.execute("CREATE TABLE events (session_id, seq, type)")
        rows = [*EVENTS, (3, "model_output_delta"), (4, "model_output_delta")]
        db.executemany("INSERT INTO events VALUES ('sess_1', ?, ?)", rows)

    assert _missed(tmp_path, {"sess_1": [heard(*((seq, kind, {}) for seq, kind in events))]}) == missed


@pytest.mark.parametrize(("offset", "wrong"), [(2, 0), (3, 1), (0, 1)], ids=["goes on", "a gap", "a repeat"])
def test_text_follows_without_gap_or_repeat(offset, wrong):
    """Each piece says where it begins."""
    told = json.loads('{"offset": 0, "delta": "1 "}')

    one = heard((2, "model_output_delta", told), (2, "model_output_delta", {"offset": offset, "delta": "2 "}))

    assert one.wrong == wrong
    assert len(one.ages) == 2
