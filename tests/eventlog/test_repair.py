"""Repair: the database from the mirrors, the mirrors from the database, and as little as possible lost of either."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sqlite3
import tempfile
import threading
from functools import partial
from pathlib import Path

import pytest
from msgspec import Raw

from agi.errors import StorageError
from agi.eventlog import repair as repairs
from agi.eventlog import schema
from agi.eventlog.base import Cursor
from agi.eventlog.log import EventLog
from agi.eventlog.repair import alone_at, needs_rebuild, rebuild_database, rebuild_if_needed
from agi.eventlog.rows import read_page
from agi.eventlog.schema import connect
from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, PART, SESSION, TURN, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Artifact, Text, ToolCallContent, ToolCallPart
from agi.protocol.tools import ToolCall, ToolResult
from agi.views import queries
from agi.views.tables import Tables

TS = "2026-01-01T00:00:00.000Z"
TABLES = ("sessions", "messages", "message_parts", "artifacts", "turns", "attachments")


@pytest.fixture
def folder(tmp_path):
    """In memory where that is possible: these tests make hundreds of databases."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else tmp_path))
    yield made / ".agi"
    shutil.rmtree(made)


def database(folder: Path) -> Path:
    return folder / "agi.sqlite"


def mirror(folder: Path, session_id: str) -> Path:
    return folder / "sessions" / session_id / "events.ndjson"


def rows(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but for the place of events among those of other sessions."""
    db = connect(database(folder))
    found = {table: sorted(db.execute(f"SELECT * FROM {table}"), key=repr) for table in TABLES}
    found["events"] = db.execute(
        "SELECT session_id, seq, ts, turn_id, type, data FROM events ORDER BY session_id, seq"
    ).fetchall()
    db.close()
    return found


def events(folder: Path, session_id: str) -> list[ev.Event]:
    """The events of a session as they are in the database now."""
    db = connect(database(folder))
    found = read_page(db, session_id, 0, 10_000)
    db.close()
    return found


def forget_database(folder: Path) -> None:
    for path in folder.glob("agi.sqlite*"):
        path.unlink()


def rebuild(folder: Path):
    assert needs_rebuild(database(folder), folder)
    return rebuild_database(folder, database(folder), Tables())


def bare(lines: list[bytes]) -> list[bytes]:
    """What lines of a mirror say, whatever their place in a chain."""
    return [ev.parse_envelope(line).envelope() for line in lines]


def notices(found: list[ev.Event]) -> list[int]:
    """Where the log says that something was lost."""
    return [one.seq for one in found if isinstance(one.data, ev.Notice) and one.data.code == "damaged"]


async def tell_everything(log: EventLog) -> str:
    """A session that leaves rows in every table."""
    session_id, turn, queued = new_id(SESSION), new_id(TURN), new_id(TURN)
    ask = Message(
        id=new_id(MESSAGE), role="user", parts=(Text(text="hi", id=new_id(PART)),), created_at=TS, status="complete"
    )
    wait = Message(id=new_id(MESSAGE), role="user", parts=(Text(text="and?"),), created_at=TS, status="complete")
    answer, part = new_id(MESSAGE), new_id(PART)
    call = ToolCallPart(
        content=ToolCallContent(id="call_1", name="shell", args=Raw(b'{"command":"ls"}')), id=new_id(PART)
    )
    said = Message(
        id=answer, role="assistant", parts=(Text(text="Hello", id=part), call), created_at=TS, status="complete"
    )
    kept = Artifact(kind="file", id="art_1", path="artifacts/x/out.log", mime="text/plain", size=3, sha256="0" * 64)
    result = ToolResult(id="call_1", ok=True, parts=(Text(text="a.txt"),), result={"exit_code": 0}, artifact=kept)
    created = ev.SessionCreated(id=session_id, agent="build", workspace_path="/w", project_path="/w", created_at=TS)
    await log.append(session_id, [(None, created), (None, ev.SessionUpdated(title="Häuser"))])
    for data in (
        ev.AttachmentAdded(ref="attachments/a", filename="a.txt", mime_type="text/plain", size=1, sha256="1" * 64),
        ev.MessageAdded(message=ask),
        ev.TurnStarted(message_id=ask.id, agent="build", provider="p", model="m"),
        ev.ModelOutputDelta(message_id=answer, part_id=part, kind="text", delta="Hello", offset=0),
        ev.ModelOutputCompleted(message=said),
        ev.ApprovalRequested(tool_call_id="call_1", name="shell", input=Raw(b"{}"), risk="high", rule="r", reason=""),
        ev.ApprovalGranted(tool_call_id="call_1", name="shell", remember="session"),
        ev.ToolCallStarted(tool_call=ToolCall("call_1", "shell", Raw(b'{\n"command": "ls"}')), kind="exec"),
        ev.ToolCallCompleted(tool_call_id="call_1", name="shell", tool_result=result, message_id=new_id(MESSAGE)),
        ev.UsageRecorded(message_id=answer, provider="p", model="m", usage=Usage(input_tokens=3, cost_usd=0.1)),
    ):
        await log.append(session_id, [(turn, data)])
    await log.append(session_id, [(queued, ev.MessageAdded(message=wait, queued=True))])
    over = ev.TurnCompleted(message_id=answer, stop_reason="end_turn", steps=1, usage=Usage())
    await log.append(session_id, [(turn, over)])
    return session_id


@pytest.fixture
def told(folder) -> list[str]:
    """Two sessions with everything in them, written by a log that is closed again."""

    async def write() -> list[str]:
        log = EventLog(folder, Tables())
        made = [await tell_everything(log), await tell_everything(log)]
        await log.close()
        return made

    return asyncio.run(write())


@pytest.fixture
def short(folder) -> str:
    """One session of six short events."""

    async def write() -> str:
        log = EventLog(folder, Tables())
        session_id = new_id(SESSION)
        created = ev.SessionCreated(id=session_id, agent="a", workspace_path="/w", project_path="/w", created_at=TS)
        await log.append(session_id, [(None, created)])
        await log.append(session_id, [(None, ev.Notice(code="n", message=f"\N{BULLET} {n}")) for n in range(2, 7)])
        await log.close()
        return session_id

    return asyncio.run(write())


def test_a_healthy_database_needs_nothing(folder, told):
    """Nor does a folder in which nothing was ever said."""
    assert not needs_rebuild(database(folder), folder)
    assert not needs_rebuild(folder / "elsewhere" / "agi.sqlite", folder / "elsewhere")


async def test_a_session_that_begins_between_two_looks_is_no_loss(folder, logs, tell, monkeypatch):
    """Another process has just made the database: its first mirror, seen after the empty table, tells of no loss."""
    story = tell(logs.open())
    looks = iter(["before it began"])
    is_told = repairs._is_told
    monkeypatch.setattr(repairs, "_is_told", lambda path: next(looks, None) is None and is_told(path))
    await story.begin()
    await story.log.mirrored()

    assert not needs_rebuild(database(folder), folder)


@pytest.mark.threat("T50")
def test_a_deleted_database_comes_back_row_by_row(folder, told):
    """All tables are as they were; only the epoch is new."""
    before = rows(folder)
    assert all(before.values())
    forget_database(folder)

    report = rebuild(folder)

    assert rows(folder) == before
    assert (report.sessions, report.events, report.lost, report.set_aside) == (2, len(before["events"]), 0, [])
    assert not needs_rebuild(database(folder), folder)


def test_a_rebuilt_log_has_an_epoch_of_its_own(folder, told):
    """Each rebuild a new one, so that a cursor from before is recognised."""
    epochs = {1}
    for _ in range(3):
        forget_database(folder)
        rebuild(folder)
        db = connect(database(folder))
        epochs.add(int(db.execute("SELECT value FROM meta WHERE key='epoch'").fetchone()[0]))
        db.close()

    assert len(epochs) == 4


async def test_a_rebuilt_log_goes_on(folder, logs, follow, tell):
    """It is appended to and followed; a cursor from before gets a resync, a new one does not."""
    story = tell(logs.open())
    await story.begin()
    await logs.close()
    forget_database(folder)
    rebuild(folder)

    story.log = logs.open()
    reader = await follow(story.log, story.id, Cursor(2)).until(lambda r: r.caught_up)
    await story.note()
    await reader.until(lambda r: r.seqs == [4])
    assert reader.resyncs == 1
    again = await follow(story.log, story.id, reader.deliveries[-1].cursor).until(lambda r: r.caught_up)
    assert again.resyncs == 0
    await story.log.mirrored()
    snapshot = json.loads((folder / "sessions" / story.id / "session.json").read_bytes())
    assert snapshot["epoch"] == 1  # of its last change of state


@pytest.mark.threat("T45")
def test_a_mirror_cut_at_any_byte_keeps_its_whole_lines(folder, short):
    """Of the last three records, whatever is whole is there; a cut one is set aside, and the log says so.

    It can be written again, also behind what was said of the damage.
    """
    path = mirror(folder, short)
    whole = path.read_bytes()
    lines = whole.splitlines()
    assert len(lines) == 6
    start = len(b"\n".join(lines[:3])) + 1
    for end in range(start, len(whole)):
        forget_database(folder)
        path.write_bytes(whole[:end])
        report = rebuild(folder)
        complete = [line for line in lines if line in whole[:end].split(b"\n")]
        cut = [line for line in whole[:end].split(b"\n") if line and line not in lines]
        found = events(folder, short)

        assert [one.line() for one in found[: len(complete)]] == complete
        assert notices(found) == [len(complete) + 1] * len(cut)
        assert len(found) == len(complete) + len(cut)
        if end % 20 == 0:
            assert written_again(folder, short) == len(found) + 1
        assert [Path(aside).read_bytes() for aside in report.set_aside] == [line + b"\n" for line in cut]


def written_again(folder: Path, session_id: str) -> int:
    """Append an event and read it back; gives its number."""

    async def write() -> int:
        log = EventLog(folder, Tables())
        try:
            (event,) = await log.append(session_id, [(None, ev.Notice(code="after", message="on"))])
            (kept,) = log.read(session_id, event.seq - 1, 10)
            assert kept.data == event.data
            return event.seq
        finally:
            await log.close()

    return asyncio.run(write())


@pytest.mark.threat("T45")
@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_costs_at_most_its_own_record(folder, short, mask):
    """Every other event is as it was, the numbers are dense, and the session can be read and listed.

    Each byte of the last three records is flipped by one of the masks; the log says where it was damaged.
    """
    path = mirror(folder, short)
    whole = path.read_bytes()
    lines = whole.splitlines()
    start = len(b"\n".join(lines[:3])) + 1
    for at in range(start + (0x01, 0x80, 0xFF).index(mask), len(whole), 3):
        forget_database(folder)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        report = rebuild(folder)
        found = events(folder, short)

        assert [one.seq for one in found] == list(range(1, len(found) + 1))
        kept = {one.envelope() for one in found}
        damaged = whole[:at].count(b"\n")
        ends_a_line = whole[at : at + 1] == b"\n"
        hit = {damaged, damaged + 1} if ends_a_line else {damaged}
        assert kept.issuperset(bare([line for n, line in enumerate(lines) if n not in hit])), at
        if kept != set(bare(lines)):
            # What is no event any more is kept beside it; what became another one no longer fits the chain.
            assert notices(found) or report.anew, at
            assert bool(report.set_aside) or report.anew, at


@pytest.mark.threat("T46")
def test_a_deleted_line_leaves_a_notice_in_its_place(folder, told):
    """The numbers of all others stay; what is lost is said, in the log and in the report."""
    path = mirror(folder, told[0])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5] + lines[6:]))
    forget_database(folder)

    report = rebuild(folder)

    found = events(folder, told[0])
    assert notices(found) == [6]
    assert [one.envelope() for one in found if one.seq != 6] == bare(lines[:5] + lines[6:])
    assert report.lost == 1


@pytest.mark.threat("T46")
def test_a_block_of_zeros_hides_nothing_but_itself(folder, told):
    """Records under it become notices, all others and the other session are whole, the block is set aside."""
    before = rows(folder)
    path = mirror(folder, told[0])
    content = path.read_bytes()
    lines = content.splitlines()
    start = content.index(lines[7]) + 10
    end = content.index(lines[9]) - 10
    path.write_bytes(content[:start] + bytes(end - start) + content[end:])
    forget_database(folder)

    report = rebuild(folder)

    found = events(folder, told[0])
    assert notices(found) == [8, 9]
    assert [one.envelope() for one in found if one.seq not in (8, 9)] == bare(lines[:7] + lines[9:])
    assert [row for row in rows(folder)["events"] if row[0] == told[1]] == [
        row for row in before["events"] if row[0] == told[1]
    ]
    assert bytes(100) in Path(report.set_aside[0]).read_bytes()


def test_doubled_and_shuffled_lines_do_no_harm(folder, told):
    """Two processes may have written one mirror: order and repetition do not matter."""
    before = rows(folder)
    path = mirror(folder, told[0])
    lines = path.read_bytes().splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    path.write_bytes(b"".join(lines + lines[:4]))
    forget_database(folder)

    report = rebuild(folder)

    assert rows(folder) == before
    assert report.set_aside == []


@pytest.mark.parametrize("snapshot", [True, False])
def test_a_session_whose_beginning_is_lost_is_not(folder, told, snapshot):
    """Its first event is made again, from `session.json` if that is there, and the loss is said at the end."""
    path = mirror(folder, told[0])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\0" * 40 + b"\n" + b"".join(lines[1:]))
    if not snapshot:
        path.with_name("session.json").unlink()
    forget_database(folder)

    rebuild(folder)

    found = events(folder, told[0])
    assert [one.envelope() for one in found[1:-1]] == bare(lines[1:])
    assert notices(found) == [len(lines) + 1]
    db = connect(database(folder))
    state = queries.session_state(db, told[0])
    db.close()
    assert (state.title, state.agent) == ("Häuser", "build" if snapshot else "general")
    assert state.project_path == ("/w" if snapshot else str(folder.parent))


def test_a_session_of_which_nothing_is_left_hides_no_other(folder, told):
    """A zeroed mirror without a snapshot is set aside; the other session is listed."""
    path = mirror(folder, told[0])
    path.write_bytes(bytes(4096))
    path.with_name("session.json").write_bytes(bytes(100))
    forget_database(folder)

    report = rebuild(folder)

    db = connect(database(folder))
    assert [state.id for state in queries.list_sessions(db, limit=10)] == [told[1]]
    db.close()
    assert Path(report.set_aside[0]).read_bytes() == bytes(4096) + b"\n"


def test_a_session_of_which_only_the_snapshot_is_left_is_listed_with_a_notice(folder, told):
    """Never a blank session without an error."""
    mirror(folder, told[0]).write_bytes(bytes(4096))
    forget_database(folder)

    rebuild(folder)

    assert [one.type for one in events(folder, told[0])] == ["session_created", "notice"]


def test_a_record_that_was_tampered_with_does_not_stop_the_others(folder, told):
    """One that the tables cannot take becomes a notice; the fold goes on around it."""
    path = mirror(folder, told[0])
    content = path.read_bytes()
    assert content.count(b'"role":"user"') == 2
    path.write_bytes(content.replace(f'"created_at":"{TS}","status"'.encode(), b'"created_at":"nonsense","status"'))
    forget_database(folder)

    report = rebuild(folder)

    found = events(folder, told[0])
    assert notices(found) == [4, 7, 13]
    assert report.lost == 3
    assert b"nonsense" in Path(report.set_aside[0]).read_bytes()
    assert found[-1].type == "turn_completed"


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"null",
        b'{"seq":7,"ts":"x","session_id":"%s","turn_id":null,"type":"notice","data":{"code":"a","message":"b"}}',
        b'{"seq":-1,"ts":"2026-01-01T00:00:00.000Z","session_id":"%s","turn_id":null,"type":"x","data":{}}',
        b'{"seq":99999999999,"ts":"2026-01-01T00:00:00.000Z","session_id":"%s","turn_id":null,"type":"x","data":{}}',
        b'{"seq":7,"ts":"2026-01-01T00:00:00.000Z","session_id":"sess_other","turn_id":null,"type":"x","data":{}}',
        b'{"seq":7,"ts":"2026-01-01T00:00:00.000Z","session_id":"%s","turn_id":null,"type":"x","data":{"a":"\xff"}}',
        b'{"seq":7,"ts":"2026-01-01T00:00:00.000Z","session_id":"%s","turn_id":null,"type":"notice","data":{}}',
        b'{"seq":6,"ts":"2026-01-01T00:00:00.000Z","session_id":"%s","turn_id":null,"type":"x","data":{}}',
        b'{"seq":7,"ts":"2026-01-01T00:00:00.000Z","session_id":"%s","turn_id":null,"type":"x","data":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}",
    ],
    ids=["text", "null", "time", "minus", "huge", "other", "utf8", "unfit", "double", "deep"],
)
def test_a_line_that_does_not_belong_is_set_aside(folder, short, line):
    """Whatever is in a mirror, the events that are in order are kept and nothing else gets in."""
    path = mirror(folder, short)
    lines = path.read_bytes().splitlines()
    strange = line.replace(b"%s", short.encode())
    path.write_bytes(path.read_bytes() + strange + b"\n")
    forget_database(folder)

    report = rebuild(folder)

    found = events(folder, short)
    assert [one.line() for one in found[:6]] == lines
    assert [one.seq for one in found[6:]] == notices(found)  # at most that something stood there
    assert [Path(aside).read_bytes() for aside in report.set_aside] == [strange + b"\n"]


def test_events_of_a_newer_version_are_kept(folder, short):
    """An unknown type is no damage."""
    path = mirror(folder, short)
    line = b'{"seq":7,"ts":"%b","session_id":"%b","turn_id":null,"type":"moon_rose","data":{"x":[1]}}' % (
        TS.encode(),
        short.encode(),
    )
    path.write_bytes(path.read_bytes() + line + b"\n")
    forget_database(folder)
    rebuild(folder)

    assert events(folder, short)[-1].envelope() == line


@pytest.mark.threat("T50")
@pytest.mark.parametrize(
    "garbage", [b"garbage" * 2000, bytes(20_000), os.urandom(9000)], ids=["text", "zeros", "noise"]
)
def test_a_database_of_garbage_is_rebuilt_and_kept(folder, told, garbage):
    """Nothing that was there is deleted, not even what nobody can read."""
    before = rows(folder)
    database(folder).write_bytes(garbage)

    report = rebuild(folder)

    assert rows(folder) == before
    assert [Path(aside).read_bytes() for aside in report.set_aside] == [garbage]


def test_a_database_that_lost_everything_is_rebuilt(folder, told):
    """SQLite takes an empty file for a new database; the mirrors know better."""
    before = rows(folder)
    database(folder).write_bytes(b"")

    rebuild(folder)

    assert rows(folder) == before


def test_a_database_whose_events_are_gone_is_rebuilt(folder, told):
    """Tables without a single event are as good as none, while the mirrors have some."""
    before = rows(folder)
    db = connect(database(folder))
    for table in ("events", "sessions", "leases"):
        db.execute(f"DELETE FROM {table}")
    db.close()

    rebuild(folder)

    assert rows(folder) == before


async def test_a_database_that_is_empty_for_a_reason_is_not_rebuilt(folder, logs, tell):
    """What was deleted does not come back because a crash kept its folder."""
    story = tell(logs.open())
    await story.begin()
    await story.log.mirrored()
    shutil.copytree(folder / "sessions", folder / "kept")
    await story.log.delete(story.id)
    await logs.close()
    shutil.copytree(folder / "kept", folder / "sessions", dirs_exist_ok=True)

    assert not needs_rebuild(database(folder), folder)


def test_mirrors_that_tell_nothing_are_asked_once(folder, short):
    """A database that was made from them and is empty is not made again at each start."""
    mirror(folder, short).write_bytes(bytes(100))
    mirror(folder, short).with_name("session.json").unlink()
    forget_database(folder)

    assert rebuild(folder).sessions == 0
    assert not needs_rebuild(database(folder), folder)


def test_a_database_that_cannot_be_read_now_is_not_taken_for_a_damaged_one(folder, told, monkeypatch):
    """An interrupted or failing read is an error; the file stays where it is."""

    def interrupted(path: Path) -> sqlite3.Connection:
        db = connect(path)
        db.set_progress_handler(lambda: 1, 1)
        return db

    before = database(folder).read_bytes()
    monkeypatch.setattr(repairs, "connect", interrupted)
    with pytest.raises(StorageError) as refused:
        rebuild_if_needed(folder, database(folder), Tables())

    assert refused.value.code == "storage_failed"
    assert refused.value.hint
    assert database(folder).read_bytes() == before
    assert not list(folder.glob("agi.sqlite.damaged*"))


def test_a_database_that_somebody_locked_is_not_taken_for_a_damaged_one(folder, told, monkeypatch):
    """It is waited for, and then that is the error."""
    monkeypatch.setattr(schema, "BUSY_MS", 20)
    other = sqlite3.connect(database(folder), isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")

    with pytest.raises(StorageError) as refused:
        needs_rebuild(database(folder), folder)

    assert refused.value.code == "storage_failed"
    other.close()
    assert not needs_rebuild(database(folder), folder)


def test_a_path_that_cannot_be_looked_at_is_an_error_of_ours(folder, told):
    """Not a reason to make a database elsewhere."""
    with pytest.raises(StorageError):
        needs_rebuild(folder / ("x" * 300), folder)


def test_a_snapshot_that_cannot_be_read_is_none(folder, short):
    """However deeply it is nested."""
    path = mirror(folder, short)
    path.with_name("session.json").write_bytes(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    path.write_bytes(b"nonsense\n" + b"\n".join(path.read_bytes().splitlines()[1:]) + b"\n")
    forget_database(folder)

    rebuild(folder)

    assert events(folder, short)[0].type == "session_created"


def test_of_many_processes_that_find_the_same_damage_one_rebuilds(folder, told):
    """The others wait, and find that all is well."""
    before = rows(folder)
    forget_database(folder)
    reports: list[object] = []

    def start() -> None:
        with alone_at(database(folder)):
            reports.append(rebuild_if_needed(folder, database(folder), Tables()))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [report is None for report in reports].count(False) == 1
    assert rows(folder) == before
    assert rebuild_if_needed(folder, database(folder), Tables()) is None


async def test_a_database_that_somebody_has_open_is_not_made_again(folder, logs, story):
    """Its journal would be left behind, and what is written next be lost with what was set aside."""
    before = {path.name for path in logs.folder.iterdir()}

    with pytest.raises(StorageError, match="is in use") as refused:
        rebuild_database(logs.folder, database(logs.folder), Tables())

    assert (refused.value.code, bool(refused.value.hint)) == ("database_in_use", True)
    assert {path.name for path in logs.folder.iterdir()} == before


def test_a_rebuild_that_is_cut_off_leaves_the_old_files_together(folder, monkeypatch):
    """In their place or under the other name: a journal that went ahead would be missed by its database."""
    calls = ("link", "replace", "unlink")
    names = ("agi.sqlite", "agi.sqlite-wal")
    steps = 0
    while True:
        forget_database(folder)
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text(name)
        left = steps

        def break_off(real, *arguments: object, **kept: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return real(*arguments, **kept)

        try:
            with monkeypatch.context() as patched:
                for call in calls:
                    patched.setattr(os, call, partial(break_off, getattr(os, call)))
                repairs._set_aside(database(folder), repairs.Repair(), "damaged-1")
        except KeyboardInterrupt:
            steps += 1
        else:
            break
        together = [[folder / name for name in names], [folder / f"agi.sqlite.damaged-1{end}" for end in ("", "-wal")]]
        assert any([file.exists() and file.read_text() for file in pair] == [*names] for pair in together), steps
    assert steps > len(names)


@pytest.mark.threat("T46")
def test_a_database_damaged_in_the_middle_gives_back_the_rest(folder):
    """Without any mirror, what lies before and behind the damaged pages is found; the hole is full of notices."""

    async def write() -> str:
        log = EventLog(folder, Tables())
        session_id = new_id(SESSION)
        created = ev.SessionCreated(id=session_id, agent="a", workspace_path="/w", project_path="/w", created_at=TS)
        await log.append(session_id, [(None, created)])
        for start in range(0, 600, 100):
            notes = [(None, ev.Notice(code="n", message=f"{start + n} " + "x" * 500)) for n in range(100)]
            await log.append(session_id, notes)
        await log.close()
        return session_id

    session_id = asyncio.run(write())
    shutil.rmtree(folder / "sessions")
    content = bytearray(database(folder).read_bytes())
    at = content.index(b'"300 xxx') // 4096 * 4096
    content[at : at + 8192] = b"\xee" * 8192
    database(folder).write_bytes(content)

    report = rebuild_database(folder, database(folder), Tables())

    found = events(folder, session_id)
    assert [one.seq for one in found] == list(range(1, 602))
    assert 1 <= report.lost == len(notices(found)) <= 40
    assert found[-1].data == ev.Notice(code="n", message="599 " + "x" * 500)


def test_rows_that_are_no_events_any_more_are_passed_over(folder, told):
    """A row whose text is not UTF-8, not JSON or not text at all does not end the reading."""
    shutil.rmtree(folder / "sessions")
    db = connect(database(folder))
    update = "UPDATE events SET data=? WHERE session_id=? AND seq=?"
    db.execute("UPDATE events SET data=CAST(? AS TEXT) WHERE session_id=? AND seq=2", (b'{"title":"\xff"}', told[0]))
    for seq, data in ((3, "no json"), (8, 7), (9, b"blob")):
        db.execute(update, (data, told[0], seq))
    db.close()

    report = rebuild_database(folder, database(folder), Tables())

    assert notices(events(folder, told[0])) == [2, 3, 8, 9]
    assert report.lost == 4


def test_a_database_of_a_newer_version_is_refused_not_rebuilt(folder, told):
    """It is healthy, only not ours: nothing is touched."""
    db = connect(database(folder))
    db.execute("PRAGMA user_version=99")
    db.close()
    before = database(folder).read_bytes()

    assert not needs_rebuild(database(folder), folder)
    with pytest.raises(StorageError) as refused:
        EventLog(folder, Tables())

    assert refused.value.code == "database_too_new"
    assert database(folder).read_bytes() == before


@pytest.mark.threat("T17")
def test_links_in_the_data_folder_are_not_followed(folder, told, tmp_path):
    """A repository may come with a data folder: its links neither leak files nor overwrite them."""
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    planted = folder / "sessions" / new_id(SESSION)
    planted.mkdir()
    (planted / "events.ndjson").symlink_to(victim)
    (folder / "sessions" / new_id(SESSION)).symlink_to(tmp_path)
    pipes = folder / "sessions" / new_id(SESSION)
    pipes.mkdir()
    os.mkfifo(pipes / "events.ndjson")
    session_json = mirror(folder, told[0]).with_name("session.json")
    session_json.unlink()
    os.mkfifo(session_json)
    mirror(folder, told[0]).write_bytes(mirror(folder, told[0]).read_bytes()[10:])
    forget_database(folder)

    report = rebuild(folder)

    assert report.sessions == 2
    assert victim.read_text() == "precious\n"
    assert not any(b"precious" in Path(aside).read_bytes() for aside in report.set_aside)


def test_an_id_that_leads_elsewhere_is_no_session(folder, told, tmp_path):
    """Ids in a database may be somebody else's as well."""
    db = connect(database(folder))
    db.execute("UPDATE events SET session_id='../../../escaped' WHERE session_id=?", (told[0],))
    db.close()

    rebuild_database(folder, database(folder), Tables())

    assert not list(folder.parent.rglob("escaped*"))
    assert not (folder.parent.parent / "escaped").exists()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE meta SET value=CAST(x'31ff' AS TEXT) WHERE key='epoch'",
        "UPDATE meta SET value='1x' WHERE key='epoch'",
        "UPDATE meta SET key='epocx' WHERE key='epoch'",
        "DELETE FROM meta WHERE key='deletions'",
    ],
)
def test_a_database_that_does_not_say_how_it_stands_is_rebuilt(folder, told, change):
    """A log begins with its epoch; one whose epoch is no number could not be opened."""
    before = rows(folder)
    db = sqlite3.connect(database(folder))
    db.execute(change)
    db.commit()
    db.close()

    assert rebuild(folder).lost == 0
    assert rows(folder) == before
