"""An older copy of the database that was put back: nothing is written to a session that its mirror knows better."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from agi.errors import Damaged, NotFound
from agi.eventlog import older

HOLD = """
async def main():
    log = EventLog(folder, Tables())
    for n in range(60):
        await log.append(session_id, [note(f"theirs {n}")])
        await log.mirrored()
    await log.close()
asyncio.run(main())
"""


def copy(folder, put_back: bool = False) -> None:
    """Keep the database as it is now, or put back what was kept."""
    database, kept = folder / "agi.sqlite", folder / "kept.sqlite"
    if put_back:
        for path in folder.glob("agi.sqlite*"):
            path.unlink()
        shutil.copyfile(kept, database)
        return
    with closing(sqlite3.connect(database)) as db, closing(sqlite3.connect(kept)) as other:
        db.backup(other)


@pytest.fixture
async def older_log(logs, log, story, folder):
    """A log of which the copy is back that was made before its session's last three events."""
    copy(folder)
    for n in range(3):
        await story.note(f"Nr. {n}")
    await logs.close()
    copy(folder, put_back=True)
    return logs.open()


@pytest.fixture
def mirror(folder, story):
    return folder / "sessions" / story.id / "events.ndjson"


@pytest.mark.threat("T50")
async def test_no_number_is_given_twice_after_an_older_copy_was_put_back(older_log, story, tell, mirror, folder):
    """The append is refused with the way back, as often as it is tried; other sessions are written to."""
    before = mirror.read_bytes()
    for _ in range(2):
        with pytest.raises(Damaged) as refused:
            await tell_of(older_log, story, tell).note("again")
        assert refused.value.message == f"{folder / 'agi.sqlite'} lacks what {story.id} holds after event 3."
        assert refused.value.hint == "Stop agi and run `agi repair --from-mirrors`."
    await tell(older_log).begin()
    await older_log.mirrored()

    assert older_log.last_seq(story.id) == 3
    assert mirror.read_bytes() == before


def tell_of(log, story, tell):
    """The same session, told to another log."""
    again = tell(log)
    again.id = story.id
    return again


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(lambda lines: b"", id="empty"),
        pytest.param(lambda lines: b"\0" * 10_000, id="zeros"),
        pytest.param(lambda lines: b"".join(lines[:3]) + lines[3][:-20], id="torn"),
        pytest.param(lambda lines: b"".join(lines[:3]).replace(b'"seq":3', b'"seq":7'), id="rotten number"),
        pytest.param(lambda lines: b"".join(lines).replace(b'_id":"sess_', b'_id":"none_'), id="of another session"),
    ],
)
async def test_a_mirror_that_does_not_tell_is_no_reason_to_refuse(older_log, story, tell, mirror, ending):
    """It only says that the database is older where two whole lines that follow each other say so."""
    mirror.write_bytes(ending(mirror.read_bytes().splitlines(keepends=True)))

    assert (await tell_of(older_log, story, tell).note("on")).seq == 4


@pytest.mark.parametrize("kind", ["missing", "folder", "link"])
async def test_a_mirror_that_cannot_be_opened_is_no_reason_to_refuse(older_log, story, tell, mirror, kind, tmp_path):
    """The database is the truth; what becomes of its mirror is told elsewhere."""
    kept = mirror.rename(tmp_path / "moved.ndjson")
    if kind == "folder":
        mirror.mkdir()
    elif kind == "link":
        mirror.symlink_to(kept)

    assert (await tell_of(older_log, story, tell).note("on")).seq == 4


async def test_a_long_last_event_is_looked_at_too(logs, log, story, tell, folder):
    """However long the lines are in which the mirror ends."""
    copy(folder)
    await story.note("x" * 50_000)
    await story.note("y" * 50_000)
    await logs.close()
    copy(folder, put_back=True)

    with pytest.raises(Damaged):
        await tell_of(logs.open(), story, tell).note("again")


async def test_what_another_process_appends_meanwhile_is_no_false_alarm(log, story, process, folder):
    """The mirror is looked at in the transaction: what it holds by then is in the database."""
    other = process(HOLD, story.id)
    while other.poll() is None:
        log.ends = older.Ends(folder / "sessions", log.path)  # so that each append looks
        await story.note("ours")

    assert other.returncode == 0
    events = log.read(story.id, limit=100_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_a_session_that_was_created_here_or_written_to_before_is_not_looked_at(log, story, tell, monkeypatch):
    """One look for a session in this process, not one for each append."""

    def look(self, session_id):
        raise AssertionError("looked again")

    monkeypatch.setattr(older.Ends, "_last", look)
    await story.note("on")
    await tell(log).begin()


async def test_a_deleted_session_whose_folder_is_still_there_is_not_damage(log, story, folder, monkeypatch):
    """Its mirror goes behind the commit, and a late word may come between the two."""
    monkeypatch.setattr(log.mirror, "forget", lambda session_id: None)
    await log.delete(story.id)

    with pytest.raises(NotFound):
        await story.note("late")
