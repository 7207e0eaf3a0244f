"""Verifying: whatever byte of the log was changed, lost, moved or cut off, the first event it concerns is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from agi.errors import Damaged, StorageError
from agi.eventlog import chain
from agi.eventlog.mirroring import rebuild_mirrors
from agi.eventlog.repair import is_damaged, rebuild_database
from agi.eventlog.rows import read_page
from agi.eventlog.schema import connect
from agi.eventlog.verify import LogFiles
from agi.protocol import events as ev
from agi.views.tables import Tables


def test_a_log_as_it_was_written_is_intact(told):
    """Nothing is found, and the head is that of the last event."""
    looked = told.look()
    assert (looked.intact, looked.events, looked.findings, looked.late, looked.anew) == (True, 8, (), (), ())
    assert chain.kind_of(looked.head) == "written"


@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_every_byte_of_a_row_is_covered(told, mask):
    """Whichever column it is in, the event is named."""
    db = sqlite3.connect(told.database)
    for column in ("ts", "turn_id", "type", "data", "hash"):
        query = f"SELECT CAST({column} AS BLOB) FROM events WHERE seq=4"
        whole = db.execute(query).fetchone()[0]
        for at in range(0, len(whole), 3):
            changed = whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :]
            db.execute(f"UPDATE events SET {column}=CAST(? AS TEXT) WHERE seq=4", (changed,))
            db.commit()
            assert told.first()[:3] == ("database", "changed", 4), (column, at)
        db.execute(f"UPDATE events SET {column}=CAST(? AS TEXT) WHERE seq=4", (whole,))
        db.commit()
    db.close()
    assert told.look().intact


@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_every_byte_of_a_mirror_is_covered(told, mask):
    """Also where the line is no event any more, and also its line break."""
    whole = told.mirror.read_bytes()
    start = len(b"".join(told.lines()[:3]))
    for at in range(start, start + len(told.lines()[3]), 3):
        told.mirror.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        found = told.look().findings
        assert found, at
        assert (found[0].place, found[0].seq) == ("mirror", 4), at


def test_every_byte_of_a_mirror_is_covered_where_the_database_is_lost(told):
    """The mirror carries its own hashes."""
    told.database.unlink()
    whole = told.mirror.read_bytes()
    start = len(b"".join(told.lines()[:3]))
    for at in range(start, start + len(told.lines()[3]) - 1, 5):
        told.mirror.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        found = [one for one in told.look().findings if one.place == "mirror"]
        assert found[0].seq == 4, at


def test_a_row_that_is_gone_is_missed(told):
    """In the middle, the number tells."""
    told.sql("DELETE FROM events WHERE seq=5")
    assert told.first() == ("database", "missing", 5)


def test_a_tail_that_is_gone_is_missed(told):
    """At the end, the sessions table, the mirror and session.json tell."""
    told.sql("DELETE FROM events WHERE seq>6")
    told.mirror.write_bytes(b"".join(told.lines()[:6]))
    assert told.first() == ("database", "truncated", 7)


def test_a_tail_that_is_gone_everywhere_is_missed_by_whoever_kept_the_head(told):
    """Someone who cleans up after himself leaves a shorter log that holds; a head kept elsewhere shows it."""
    kept = told.look().head
    shorter = told.lines()[:6]
    told.sql(
        "DELETE FROM events WHERE seq>6",
        "UPDATE sessions SET last_seq=6, state=json_set(state, '$.head', (SELECT hash FROM events WHERE seq=6))",
    )
    told.mirror.write_bytes(b"".join(shorter))
    told.mirror.with_name("session.json").unlink()

    assert told.look().intact
    looked = told.look(kept)
    assert [(one.place, one.problem) for one in looked.findings] == [("head", "unknown")]


def test_a_session_without_a_row_is_missed(told):
    """Its events are all there, and no command would find it."""
    told.sql("DELETE FROM sessions")
    assert told.first() == ("database", "unknown", 1)


def test_a_session_whose_row_cannot_be_read_is_told_and_its_events_are_not_blamed(told):
    """They were all there to be read."""
    told.sql("UPDATE sessions SET state=replace(state, '\"agent\":', '\"agent\";')")
    looked = told.look()
    assert [(one.place, one.problem, one.message) for one in looked.findings] == [
        ("database", "unreadable", "What the sessions table says of it cannot be read.")
    ]
    assert (looked.events, looked.head) == (8, told.head)


def test_a_log_that_was_chained_again_is_found_out_by_a_kept_head(told):
    """Without a signature a chain can be made again; not with the same head."""
    events = [ev.parse_envelope(line) for line in told.lines()]
    events[3].raw = events[3].raw.replace(b"Nr. 4", b"Nr. 5")
    before = ""
    for one in events:
        before = one.hash = chain.link(before, one)
        told.sql(f"UPDATE events SET data='{one.raw.decode()}', hash='{one.hash}' WHERE seq={one.seq}")
    told.sql(f"UPDATE sessions SET state=json_set(state, '$.head', '{before}')")
    told.mirror.write_bytes(b"".join(one.line() + b"\n" for one in events))
    told.mirror.with_name("session.json").unlink()

    assert told.look().intact
    assert not told.look(told.head).intact


def test_a_head_that_was_kept_is_found_again_after_the_log_has_grown(told):
    """It vouches for all up to its event."""
    third = told.look(ev.parse_envelope(told.lines()[2]).hash)
    assert (third.intact, third.head_seq) == (True, 3)


def test_rows_that_changed_places_are_found(told):
    """The number is part of what is hashed."""
    told.sql(
        "UPDATE events SET seq=-3 WHERE seq=3",
        "UPDATE events SET seq=3 WHERE seq=4",
        "UPDATE events SET seq=4 WHERE seq=-3",
    )
    assert told.first() == ("database", "changed", 3)


def test_lines_that_changed_places_are_found(told):
    """Of those the first that is not where it belongs is named."""
    lines = told.lines()
    told.mirror.write_bytes(b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]))
    assert told.first() == ("mirror", "reordered", 3)


@pytest.mark.parametrize("kept", range(8))
def test_a_mirror_that_ends_too_early_is_found(told, kept):
    """The database knows more."""
    told.mirror.write_bytes(b"".join(told.lines()[:kept]))
    assert told.first() == ("mirror", "truncated", kept + 1)


def test_a_mirror_that_is_not_there_is_found(told):
    """It is half of what a log is."""
    told.mirror.unlink()
    assert told.first()[:2] == ("mirror", "missing")


def test_half_a_line_of_a_crash_and_a_line_written_twice_are_no_change(told):
    """Both happen in a log that nobody touched, and lose nothing."""
    lines = told.lines()
    told.mirror.write_bytes(b"".join([*lines[:4], lines[4][:30], b"\n", *lines[4:6], lines[5], *lines[6:], lines[6]]))
    assert told.look().intact


def test_half_a_line_at_the_end_is_noted_and_a_whole_one_is_found(told):
    """A crash leaves no line feed; whoever put one there wrote a line that is no event."""
    half = b'{"seq":9,"ts"'
    whole = told.mirror.read_bytes()
    told.mirror.write_bytes(whole + half)
    looked = told.look()
    assert (looked.intact, looked.events, looked.head, len(looked.notes)) == (True, 8, told.head, 1)
    told.mirror.write_bytes(whole + half + b"\n")
    assert told.first() == ("mirror", "truncated", 9)
    told.mirror.write_bytes(whole[:-40])
    assert told.first() == ("mirror", "truncated", 8)
    told.mirror.write_bytes(whole[:-1])
    assert (told.look().intact, told.look().notes) == (True, ())


@pytest.mark.parametrize(("kept", "rest"), [(3, 3), (3, 6), (0, 2), (8, 8), (4, 8)])
def test_lines_that_are_no_events_are_one_finding(told, kept, rest):
    """With their count, whatever they stand in the place of; the events behind them are not said to be misplaced."""
    lines = told.lines()
    told.mirror.write_bytes(b"".join([*lines[:kept], *[b"\xff\n"] * 12, *lines[rest:]]))
    found = told.look().findings
    assert "12 lines" in found[0].message
    assert f"from line {kept + 1} on" in found[0].message
    assert [one.problem for one in found] == ["truncated"] * len(found) if rest == 8 else ["changed"]


def test_a_mirror_of_garbage_is_one_finding(told):
    """It is none of the events' fault."""
    told.mirror.write_bytes(b"\xff\n" * 16 + b"\xff")
    looked = told.look()
    assert [(one.place, one.problem) for one in looked.findings] == [("mirror", "unreadable")]
    assert "16 lines" in looked.findings[0].message
    assert (looked.events, looked.head) == (8, told.head)


def test_a_line_that_was_put_in_is_found(told):
    """Even one that is well formed."""
    lines = told.lines()
    told.mirror.write_bytes(b"".join([*lines, lines[4].replace(b"Nr. 5", b"Nr. 6")]))
    assert told.first()[:2] == ("mirror", "reordered")


def test_a_lost_database_is_said_and_the_mirror_looked_through(told):
    """Its events hold by themselves."""
    told.database.unlink()
    looked = told.look()
    assert [(one.place, one.problem) for one in looked.findings] == [("database", "missing")]
    assert (looked.events, looked.head) == (8, told.head)


def test_a_file_that_is_no_database_is_said_and_the_mirror_looked_through(told):
    """Nothing can be said about its events; which sessions it had is an error with a hint."""
    for path in told.folder.glob("agi.sqlite*"):
        path.unlink()
    told.database.write_bytes(b"nothing of ours" * 100)
    looked = told.look()
    assert [(one.place, one.problem) for one in looked.findings] == [("database", "unreadable")]
    assert (looked.events, looked.head) == (8, told.head)
    with pytest.raises(Damaged) as refused:
        LogFiles(told.folder, told.database).sessions()
    assert refused.value.hint


@pytest.mark.parametrize("page", range(2, 13))
def test_a_page_that_is_damaged_is_a_finding_and_no_crash(told, page):
    """Whichever it is: what cannot be read is named, and the rest of the log still looked through."""
    with open(told.database, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 8192)
    files = LogFiles(told.folder, told.database)
    try:
        ids = files.sessions()
    except Damaged:
        ids = files.mirrored()
    assert ids == [told.id]
    looked = told.look()
    assert {(one.place, one.problem) for one in looked.findings} <= {("database", "unreadable")}
    assert (looked.events, looked.head) == (8, told.head)


def test_a_rebuilt_log_keeps_its_chain(told):
    """From the mirrors or from the database: the same hashes, the same head."""
    told.database.unlink()
    assert rebuild_database(told.folder, told.database, Tables()).anew == []
    assert told.look().head == told.head
    told.mirror.unlink()
    rebuild_mirrors(told.folder, told.database, Tables())
    assert (told.look().intact, told.look().head) == (True, told.head)


def test_a_changed_row_is_healed_from_the_mirror(told):
    """Of two tellings the one counts that goes with the chain."""
    told.sql("UPDATE events SET data=replace(data, 'Nr. 4', 'Nr. 9') WHERE seq=4")
    rebuild_database(told.folder, told.database, Tables())
    looked = told.look()
    assert (looked.intact, looked.head, looked.anew) == (True, told.head, ())


@pytest.mark.parametrize("column", ["ts", "session_id", "turn_id", "type", "data", "hash"])
def test_a_text_that_is_bytes_now_is_found_and_comes_back(told, column):
    """The same bytes: only what they are called has rotted, and nobody could read the event any more."""
    told.sql(f"UPDATE events SET {column}=CAST({column} AS BLOB) WHERE seq=4")
    places = {(one.place, one.seq) for one in told.look().findings}
    assert ("database", 4) in places
    if column != "session_id":  # by that it is not even found
        with closing(connect(told.database)) as db, pytest.raises(sqlite3.DatabaseError, match="malformed"):
            read_page(db, told.id, 0, 8)

    rebuild_database(told.folder, told.database, Tables())
    assert (told.look().intact, told.look().head) == (True, told.head)


@pytest.mark.parametrize("what", ["seq", "session_id"])
def test_a_row_that_says_another_place_is_found_and_comes_back_to_its_own(told, what):
    """An index answers for it to whoever reads, and not to whoever rebuilds: no event is lost, and no session made."""
    told.misplace(what)
    assert told.first() == ("database", "changed", 4)
    assert is_damaged(told.database)

    report = rebuild_database(told.folder, told.database, Tables())

    assert (report.sessions, report.events, report.lost, report.anew) == (1, 8, 0, [])
    assert (told.look().intact, told.look().head) == (True, told.head)
    assert LogFiles(told.folder, told.database).sessions() == [told.id]


def test_a_row_to_which_an_index_leads_in_vain_is_found(told):
    """What the index knows and the table does not is missing, however well the rest can be read."""
    raw = told.database.read_bytes()
    told.sql("DELETE FROM events WHERE seq=8")
    lacking = told.database.read_bytes()
    size = 4096
    pages = [n for n in range(0, len(raw), size) if raw[n : n + size] != lacking[n : n + size]]
    table = next(n for n in pages if b"Nr. 7" in raw[n : n + size])
    told.database.write_bytes(raw[:table] + lacking[table : table + size] + raw[table + size :])

    assert told.first() == ("database", "changed", 8)
    assert is_damaged(told.database)


@pytest.mark.parametrize("kinds", [b"\x00\x01", b"\x57\x00"])
def test_an_index_that_says_nothing_of_an_event_is_a_finding(told, kinds):
    """Neither of its session nor of its number; the row is there, and so is the event after a repair."""
    entry = told.id.encode() + b"\x04\x04"
    told.patch(b"\x04\x57\x01\x01" + entry, b"\x04" + kinds + b"\x01" + entry)

    assert LogFiles(told.folder, told.database).sessions() == [told.id]
    assert told.first()[0] == "database"
    assert is_damaged(told.database)
    rebuild_database(told.folder, told.database, Tables())
    assert (told.look().intact, told.look().head) == (True, told.head)


def test_a_changed_row_is_never_written_into_the_mirrors(told):
    """A repair that would spread a change refuses, with a way out."""
    told.sql("UPDATE events SET data=replace(data, 'Nr. 4', 'Nr. 9') WHERE seq=4")
    before = told.mirror.read_bytes()
    with pytest.raises(StorageError) as refused:
        rebuild_mirrors(told.folder, told.database, Tables())
    assert "--from-mirrors" in refused.value.hint
    assert told.mirror.read_bytes() == before


def test_a_repaired_log_says_where_its_chain_begins_anew(told):
    """What stands in no place as it was written is not vouched for, and the head is another one."""
    told.sql("UPDATE events SET data=replace(data, 'Nr. 4', 'Nr. 9') WHERE seq=4")
    told.mirror.write_bytes(told.mirror.read_bytes().replace(b"Nr. 4", b"Nr. 9"))
    report = rebuild_database(told.folder, told.database, Tables())
    rebuild_mirrors(told.folder, told.database, Tables())
    looked = told.look()

    assert report.anew == [f"{told.id}:4"]
    assert looked.intact, looked.findings
    assert looked.anew == (4,)
    assert [(one.first, one.last) for one in looked.late] == [(5, 8)]
    assert not told.look(told.head).intact


def test_a_lost_event_leaves_a_chain_that_begins_anew_with_its_notice(told):
    """And is chained on from there."""
    told.sql("DELETE FROM events WHERE seq=5")
    told.mirror.write_bytes(b"".join(told.lines()[:4] + told.lines()[5:]))
    rebuild_database(told.folder, told.database, Tables())
    rebuild_mirrors(told.folder, told.database, Tables())
    looked = told.look()

    assert (looked.intact, looked.anew) == (True, (5,))


def test_all_sessions_of_either_place_are_known(told):
    """One whose rows are gone is missed through its mirror."""
    told.sql("DELETE FROM events", "DELETE FROM sessions")
    assert LogFiles(told.folder, told.database).sessions() == [told.id]
    assert told.first() == ("database", "truncated", 1)
