"""Catching up: after a kill the mirrors say what the log says again, without anybody having to write to a session."""

from __future__ import annotations

import asyncio
import json
import os
import shutil

import pytest

from agi.eventlog import catching_up
from agi.eventlog.repair import rebuild_if_needed
from agi.eventlog.schema import connect
from agi.protocol import events as ev
from agi.views.tables import Tables

DIE = """
async def main():
    log = EventLog(folder, Tables())
    log.mirror.follow = lambda *given: None     # the process dies before the mirror is written
    await log.append(session_id, [(None, ev.SessionUpdated(title="lost")), note("too")])
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


def mirror(folder, session_id) -> list[bytes]:
    return (folder / "sessions" / session_id / "events.ndjson").read_bytes().split(b"\n")


def snapshot(folder, session_id) -> dict[str, object]:
    return json.loads((folder / "sessions" / session_id / "session.json").read_bytes())


def said(log, session_id) -> list[bytes]:
    """What the mirror should hold."""
    return [*(event.line() for event in log.read(session_id)), b""]


def mark(folder) -> str | None:
    db = connect(folder / "agi.sqlite")
    row = db.execute("SELECT value FROM meta WHERE key='mirrored'").fetchone()
    db.close()
    return row and row[0]


async def caught_up(log) -> None:
    async with asyncio.timeout(20):
        await log.catch_up_mirrors().wait()


@pytest.fixture
async def whole(logs, tell):
    """Two sessions of three events each, mirrored."""
    log = logs.open()
    stories = [tell(log), tell(log)]
    for story in stories:
        await story.begin()
    await logs.close()
    return stories


@pytest.fixture
async def killed(logs, whole):
    """The same after a process died before it mirrored two more events of the first."""
    log = logs.open()
    log.mirror.follow = lambda *given: None
    await log.append(whole[0].id, [(None, ev.SessionUpdated(title="lost")), (None, ev.Notice(code="n", message="too"))])
    await logs.close()
    return whole


async def test_what_a_killed_process_kept_from_the_mirrors_is_made_up_for(logs, whole, folder, process):
    """Events and snapshot; files that are whole are not touched."""
    lost, other = whole
    assert await asyncio.to_thread(process(DIE, lost.id).wait, 20) == -9
    untouched = (folder / "sessions" / other.id / "session.json").stat().st_ino
    log = logs.open()
    assert len(mirror(folder, lost.id)) == 4

    await caught_up(log)

    assert mirror(folder, lost.id) == said(log, lost.id)
    assert len(mirror(folder, lost.id)) == 6
    assert [snapshot(folder, lost.id)[key] for key in ("title", "last_seq")] == ["lost", 5]
    assert (folder / "sessions" / other.id / "session.json").stat().st_ino == untouched
    assert log.mirror.failure is None


async def test_losing_the_database_then_loses_nothing(logs, killed, folder):
    """That is what the mirrors are for."""
    log = logs.open()
    await caught_up(log)
    before = [event.line() for event in log.read(killed[0].id)]
    await logs.close()
    for path in folder.glob("agi.sqlite*"):
        path.unlink()

    rebuild_if_needed(folder, folder / "agi.sqlite", Tables())

    assert [event.line() for event in logs.open().read(killed[0].id)] == before


async def test_another_process_that_closes_well_hides_nothing(logs, killed, folder):
    """A one-shot after the kill does not make the mirrors look whole."""
    oneshot = logs.open()
    await oneshot.append(killed[1].id, [(None, ev.Notice(code="n", message="elsewhere"))])
    await logs.close()
    log = logs.open()

    await caught_up(log)

    assert mirror(folder, killed[0].id) == said(log, killed[0].id)


async def test_a_stale_snapshot_is_written_anew(logs, killed, folder):
    """Also where the events are all there: a kill came between the two files, or another process made up for them."""
    lost = killed[0]
    log = logs.open()
    await log.append(lost.id, [(None, ev.Notice(code="n", message="no change of state"))])
    await log.mirrored()
    assert mirror(folder, lost.id) == said(log, lost.id)
    assert snapshot(folder, lost.id)["title"] is None

    await caught_up(log)

    assert snapshot(folder, lost.id)["title"] == "lost"
    assert mirror(folder, lost.id) == said(log, lost.id)


async def test_pieces_of_text_after_the_last_snapshot_do_not_make_it_stale(logs, tell, folder):
    """It says how the session stands, which they do not change."""
    story = tell(logs.open())
    await story.begin()
    await story.log_piece("p", 0, "Hello")
    await logs.close()
    before = (folder / "sessions" / story.id / "session.json").stat().st_ino

    await caught_up(logs.open())

    assert (folder / "sessions" / story.id / "session.json").stat().st_ino == before


@pytest.mark.parametrize(
    "damage", [b"", b'{"last_seq": 99}', b"{" * 10, b'{"a":' + b"[" * 100_000], ids=["empty", "other", "half", "deep"]
)
async def test_a_snapshot_that_cannot_be_read_is_written_anew(logs, killed, folder, damage):
    """Whatever stands there."""
    whole = killed[1]
    (folder / "sessions" / whole.id / "session.json").write_bytes(damage)

    await caught_up(logs.open())

    assert snapshot(folder, whole.id)["last_seq"] == 3


async def test_missing_mirrors_come_back(logs, killed, folder, monkeypatch):
    """All of them, a few at a time."""
    monkeypatch.setattr(catching_up, "MOST_LAGGING", 1)
    shutil.rmtree(folder / "sessions")
    log = logs.open()

    await caught_up(log)

    for story in killed:
        assert mirror(folder, story.id) == said(log, story.id)
        assert snapshot(folder, story.id)["id"] == story.id


async def test_what_is_appended_meanwhile_is_mirrored_once(logs, killed, folder, monkeypatch):
    """The session that lags goes on while it is made whole."""
    monkeypatch.setattr(catching_up, "SLICE_S", 0.0)
    lost = killed[0]
    lost.log = log = logs.open()
    catching = log.catch_up_mirrors()
    for n in range(100):
        await lost.note(str(n))
        if n % 10 == 0:
            await asyncio.sleep(0.001)
    await catching.wait()
    await log.mirrored()

    assert mirror(folder, lost.id) == said(log, lost.id)


async def test_a_session_deleted_meanwhile_stays_deleted(logs, killed, folder):
    """Nothing is made up for what is gone."""
    log = logs.open()
    catching = log.catch_up_mirrors()
    await log.delete(killed[0].id)
    await catching.wait()
    await log.mirrored()

    assert [path.name for path in (folder / "sessions").iterdir()] == [killed[1].id]


async def test_what_was_found_whole_is_not_looked_at_again(logs, killed, folder, monkeypatch):
    """A clean close remembers it; what is written later is looked at the next time."""
    await caught_up(logs.open())
    await logs.close()
    assert mark(folder) == "8"
    looked: list[str] = []
    holds = catching_up._holds
    monkeypatch.setattr(catching_up, "_holds", lambda *given: looked.append(given[1]) or holds(*given))

    killed[1].log = logs.open()
    await killed[1].note()
    await caught_up(killed[1].log)

    assert looked == [killed[1].id]


async def test_only_what_was_there_at_the_start_is_remembered_as_whole(logs, killed, folder):
    """Others write too, and may be killed before they mirror it."""
    killed[1].log = logs.open()
    await caught_up(killed[1].log)
    await killed[1].note()
    await logs.close()

    assert mark(folder) == "8"


async def test_a_log_that_was_not_asked_to_catch_up_remembers_nothing(logs, killed, folder):
    """Nor does one that is closed in the middle of it."""
    logs.open()
    await logs.close()
    logs.open().catch_up_mirrors()
    await logs.close()

    assert mark(folder) is None


async def test_one_session_whose_files_fail_keeps_no_other_from_being_whole(logs, killed, folder, tmp_path, tell):
    """The failure is known, nothing is written elsewhere, and all are looked at again the next time."""
    lost, whole = killed
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "events.ndjson").write_text("precious\n")
    shutil.rmtree(folder / "sessions" / whole.id)
    (folder / "sessions" / whole.id).symlink_to(victim)
    log = logs.open()

    await caught_up(log)

    assert mirror(folder, lost.id) == said(log, lost.id)
    assert isinstance(log.mirror.failure, PermissionError)
    assert [path.read_text() for path in victim.iterdir()] == ["precious\n"]
    await logs.close()
    assert mark(folder) is None


async def test_a_pipe_in_the_mirrors_place_holds_up_nothing(logs, killed, folder):
    """Neither looking at it nor making up for it waits for the other end."""
    path = folder / "sessions" / killed[1].id / "events.ndjson"
    path.unlink()
    os.mkfifo(path)
    log = logs.open()

    await caught_up(log)

    assert mirror(folder, killed[0].id) == said(log, killed[0].id)
    assert isinstance(log.mirror.failure, PermissionError)


async def test_an_id_that_would_lead_elsewhere_is_passed_over(logs, killed, folder):
    """Ids in a database may be somebody else's."""
    db = connect(folder / "agi.sqlite")
    db.execute("INSERT INTO events (session_id, seq, ts, type, data) VALUES ('../../escaped', 1, 't', 'x', '{}')")
    db.close()
    log = logs.open()

    await caught_up(log)

    assert not list(folder.parent.parent.rglob("escaped*"))
    assert mirror(folder, killed[0].id) == said(log, killed[0].id)


async def test_a_hole_in_the_log_is_no_trouble(logs, killed, folder):
    """What is there is mirrored; the hole is for repair."""
    db = connect(folder / "agi.sqlite")
    db.execute("DELETE FROM events WHERE session_id=? AND seq=4", (killed[0].id,))
    db.close()
    log = logs.open()

    await caught_up(log)

    assert mirror(folder, killed[0].id) == said(log, killed[0].id)


async def test_a_database_without_sessions_is_caught_up_at_once(logs, folder):
    """There is nothing to look at, and nothing to remember."""
    log = logs.open()
    await caught_up(log)
    assert log.catch_up_mirrors() is log.catch_up_mirrors()
    await logs.close()

    assert mark(folder) is None


async def test_who_waits_for_the_mirror_waits_for_one_slice_at_most(logs, tell, monkeypatch):
    """Catching up with many sessions does not hold up a new one."""
    log = logs.open()
    for _ in range(10):
        await tell(log).begin()
    await log.mirrored()
    slices: list[str] = []
    look = catching_up.CatchingUp._look
    monkeypatch.setattr(catching_up, "SLICE_S", 0)
    monkeypatch.setattr(catching_up.CatchingUp, "_look", lambda self, after: slices.append(after) or look(self, after))

    catching = log.catch_up_mirrors()
    await asyncio.sleep(0)
    assert await asyncio.wrap_future(log.mirror.ask(lambda: len(slices))) == 1
    await catching.wait()

    assert len(slices) == 11
