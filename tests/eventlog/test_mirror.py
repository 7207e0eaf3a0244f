"""The mirror: the log as people and other programs can read it, private, in order, and never in the log's way."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import pytest

from agi.eventlog import mirror as mirrors
from agi.eventlog.mirror import last_seq, open_mirror, replace_file, session_folder
from agi.protocol import events as ev
from agi.protocol.ids import SESSION, TURN, new_id
from agi.protocol.messages import Usage

TS = "2026-01-01T00:00:00.000Z"
DEEP = b'{"seq":99,"ts":"","session_id":"x","turn_id":null,"type":"t","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
DIE = """
async def main():
    log = EventLog(folder, Tables())
    log.mirror.follow = lambda *given: None     # the process dies before the mirror is written
    await log.append(session_id, [note(f"lost {n}") for n in range(3)])
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


@pytest.fixture
def place(folder, story):
    """The session's folder."""
    return folder / "sessions" / story.id


def lines(place) -> list[bytes]:
    return (place / "events.ndjson").read_bytes().split(b"\n")


async def test_the_mirror_says_what_the_log_says(log, story, place):
    """One line an event, equal to its envelope, in order."""
    await asyncio.gather(*(story.note(f"{n} with a\nbreak") for n in range(50)))
    await log.mirrored()

    assert lines(place) == [*(event.line() for event in log.read(story.id)), b""]


async def test_the_snapshot_says_how_the_session_stands(log, story, place):
    """`session.json` is the session as clients see it, and changes with its state."""
    await log.mirrored()
    running = json.loads((place / "session.json").read_bytes())
    await story.end()
    await log.mirrored()
    ended = json.loads((place / "session.json").read_bytes())

    assert (running["id"], running["session_id"], running["status"], running["activity"]) == (
        story.id,
        story.id,
        "active",
        "running",
    )
    assert (ended["status"], ended["activity"], ended["last_seq"], ended["epoch"]) == ("completed", "idle", 6, 1)


async def test_a_piece_of_text_does_not_rewrite_the_snapshot(log, story, place):
    """Only what changes the session's state does."""
    await log.mirrored()
    before = (place / "session.json").stat().st_ino
    await story.log_piece("p", 0, "Hello")
    await log.mirrored()

    assert (place / "session.json").stat().st_ino == before


@pytest.mark.threat("T17")
async def test_the_mirror_is_private(logs, tell, folder):
    """Folders 0700, files 0600, whatever the umask says."""
    before = os.umask(0)
    try:
        story = tell(logs.open())
        await story.begin()
        await logs.close()
    finally:
        os.umask(before)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


async def test_half_a_line_costs_only_itself(logs, tell, folder):
    """What a crash cut off is closed by a line break, and written whole behind it."""
    story = tell(logs.open())
    await story.begin()
    await logs.close()
    path = folder / "sessions" / story.id / "events.ndjson"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])

    story.log = logs.open()
    await story.note()
    await story.log.mirrored()

    envelopes = [event.line() for event in story.log.read(story.id)]
    torn = envelopes[2][:-19]
    assert path.read_bytes().split(b"\n") == [*envelopes[:2], torn, *envelopes[2:], b""]


async def test_what_a_killed_process_kept_from_the_mirror_is_made_up_for(log, story, place, process):
    """Events that reached the log but not the mirror are written before the next one."""
    await log.mirrored()
    killed = process(DIE, story.id)
    assert await asyncio.to_thread(killed.wait, 20) == -9
    assert log.last_seq(story.id) == 6

    await story.note("after")
    await log.mirrored()

    assert lines(place) == [*(event.line() for event in log.read(story.id)), b""]


async def test_many_sessions_share_few_open_files(log, tell, folder, monkeypatch):
    """The oldest file is closed; its session is still mirrored when it goes on."""
    monkeypatch.setattr(mirrors, "OPEN_FILES", 2)
    stories = [tell(log) for _ in range(5)]
    for story in stories:
        await story.begin()
    for story in stories:
        await story.note()
    await log.mirrored()

    assert len(log.mirror._files) == 2
    for story in stories:
        assert lines(folder / "sessions" / story.id) == [*(one.line() for one in log.read(story.id)), b""]


@pytest.mark.threat("T17")
async def test_a_link_in_the_mirrors_place_is_not_followed(logs, tell, folder, tmp_path):
    """A planted link leads nowhere; the log itself goes on, and the failure is known."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    story = tell(logs.open())
    place = folder / "sessions" / story.id
    place.mkdir(parents=True)
    (place / "events.ndjson").symlink_to(victim)

    await story.begin()
    await story.log.mirrored()

    assert victim.read_text() == "precious"
    assert story.log.last_seq(story.id) == 3
    assert isinstance(story.log.mirror.failure, OSError)


async def test_a_session_folder_that_is_a_link_is_not_followed(logs, tell, folder, tmp_path):
    """Nothing is written to, or deleted from, the folder it leads to."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    story = tell(logs.open())
    (folder / "sessions").mkdir(parents=True)
    (folder / "sessions" / story.id).symlink_to(elsewhere)

    await story.begin()
    await story.log.delete(story.id)
    await story.log.mirrored()

    assert [path.name for path in elsewhere.iterdir()] == ["precious"]


@pytest.mark.parametrize("name", ["", ".", "..", "../..", "a/b", "/etc", "sess_\0", "a\n", "ä", "x" * 101])
def test_an_id_that_would_lead_elsewhere_names_no_folder(tmp_path, name):
    """Ids come from files that may be somebody else's."""
    with pytest.raises(OSError, match="not the name of a folder"):
        session_folder(tmp_path, name)


async def test_a_forgotten_session_leaves_nothing(log, story, place):
    """Mirror, snapshot and whatever else was stored with it are gone, and later writes of others still work."""
    await log.mirrored()
    (place / "artifacts").mkdir()
    (place / "artifacts" / "out.log").write_text("x")

    log.mirror.forget(story.id)
    await log.mirrored()

    assert not place.exists()


async def test_the_end_of_a_turn_is_synced(log, story, monkeypatch):
    """When a turn is over, its mirror is on disk and not only in memory."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    await story.note()
    await log.mirrored()
    assert synced == []
    await story.write(ev.TurnCanceled(usage=Usage()))
    await log.mirrored()

    assert len(synced) == 1


async def test_waiting_for_the_mirror_can_be_given_up(log, story):
    """A waiter that was canceled does not trouble the mirror."""
    waiting = asyncio.create_task(log.mirrored())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await story.note()
    await log.mirrored()

    assert log.mirror.failure is None


@pytest.mark.parametrize("padding", [0, 10, 5000, 100_000])
def test_the_last_whole_line_is_found_however_long_it_is(tmp_path, padding):
    """Also behind half a line, and behind lines that are none."""
    session_id = new_id(SESSION)
    data = ev.Notice(code="n", message="x" * padding)
    envelopes = [ev.Event.of(seq, TS, session_id, None, data).line() for seq in range(1, 6)]
    path = tmp_path / "events.ndjson"
    for content, last in (
        (b"", 0),
        (b"\n".join(envelopes) + b"\n", 5),
        (b"\n".join(envelopes)[:-1], 4),
        (b"\n".join(envelopes) + b"\n" + b"\0" * 9000 + b"\nnonsense\n", 5),
        (b"nonsense\n" * 1000, 0),
    ):
        path.write_bytes(content)
        fd = open_mirror(path)
        assert last_seq(fd, session_id, 5) == last
        os.close(fd)


def test_a_line_that_is_not_of_this_log_is_not_its_last(tmp_path):
    """Of another session, beyond the newest event, or nested so deeply that it cannot be read."""
    session_id = new_id(SESSION)
    data = ev.Notice(code="n", message="x")
    ours, ahead = (ev.Event.of(seq, TS, session_id, None, data).line() for seq in (3, 99))
    foreign = ev.Event.of(4, TS, new_id(SESSION), None, data).line()
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"\n".join([ours, foreign, ahead, DEEP, b""]))
    fd = open_mirror(path)

    assert last_seq(fd, session_id, 5) == 3
    os.close(fd)


async def test_a_line_that_cannot_be_read_costs_the_mirror_nothing(logs, tell, folder):
    """However deeply it is nested: what comes later is written, and whoever waits for it goes on."""
    story = tell(logs.open())
    await story.begin()
    await logs.close()
    path = folder / "sessions" / story.id / "events.ndjson"
    path.write_bytes(path.read_bytes() + DEEP + b"\n")

    story.log = logs.open()
    event = await story.note()
    async with asyncio.timeout(10):
        await story.log.mirrored()

    assert path.read_bytes().endswith(DEEP + b"\n" + event.line() + b"\n")
    assert story.log.mirror.failure is None


async def test_whatever_fails_the_mirror_goes_on_and_the_failure_is_known(log, story, tell, folder, monkeypatch):
    """A mistake in one job is not the end of all later ones."""

    def break_down(*given: object) -> None:
        raise RuntimeError("broken")

    await log.mirrored()
    monkeypatch.setattr(mirrors, "replace_file", break_down)
    await story.end()
    async with asyncio.timeout(10):
        await log.mirrored()
    assert str(log.mirror.failure) == "broken"

    monkeypatch.undo()
    await story.note()
    await log.mirrored()
    assert lines(folder / "sessions" / story.id) == [*(one.line() for one in log.read(story.id)), b""]


async def test_a_pipe_in_the_mirrors_place_holds_nobody_up(logs, tell, folder):
    """Writing to it would wait for a reader that never comes."""
    story = tell(logs.open())
    place = folder / "sessions" / story.id
    place.mkdir(parents=True)
    os.mkfifo(place / "events.ndjson")

    await story.begin()
    await story.write(*(ev.Notice(code="n", message="x" * 1000) for _ in range(100)))
    async with asyncio.timeout(10):
        await story.log.mirrored()

    assert isinstance(story.log.mirror.failure, PermissionError)


async def test_the_snapshot_follows_every_change_of_what_the_session_does(log, story, place):
    """Verifying, resumed after a crash, asked to try again: `session.json` says so."""

    async def standing(*data: ev.EventData, turn: str = "") -> tuple[str, int, int]:
        await story.write(*data, turn=turn)
        await log.mirrored()
        found = json.loads((place / "session.json").read_bytes())
        return found["activity"], len(found["queue"]), found["last_seq"]

    check = {"verification_id": "call_1", "command": "make", "attempt": 1}
    assert await standing(ev.VerificationStarted(**check)) == ("verifying", 0, 4)
    assert await standing(ev.VerificationCompleted(**check, status="passed")) == ("running", 0, 5)
    await standing(ev.VerificationStarted(**check))
    assert await standing(ev.TurnResumed()) == ("running", 0, 7)
    asked = ev.TurnRequested(message_id="msg_1", retry_of=story.turn)
    assert await standing(asked, turn=new_id(TURN)) == ("running", 1, 8)


def test_a_file_that_cannot_take_its_place_is_not_left_beside_it(tmp_path):
    """A folder may stand there."""
    (tmp_path / "session.json").mkdir()

    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "session.json", b"{}")

    assert [path.name for path in tmp_path.iterdir()] == ["session.json"]
