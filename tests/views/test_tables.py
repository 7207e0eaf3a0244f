"""Seed 004's tables: its columns, its words, its links, and nothing in them that the events do not say."""

from __future__ import annotations

import json
import sqlite3

import pytest
from msgspec import Raw

from agi.eventlog.schema import STEPS, connect, prepare
from agi.protocol import events as ev
from agi.protocol.ids import ARTIFACT, CALL, MESSAGE, PART, TURN, is_id, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Artifact, ErrorContent, ErrorPart, Image, Reasoning, Text, ToolCallContent, ToolCallPart
from agi.protocol.policies import Rule
from agi.protocol.sessions import ErrorInfo
from agi.protocol.tools import ToolResult
from agi.views import queries
from agi.views.tables import QUEUED, Tables

TS = "2026-01-01T00:00:00.000Z"

SEED = {
    "sessions": {
        "id": "TEXT",
        "title": "TEXT",
        "agent": "TEXT",
        "project_path": "TEXT",
        "created_at": "INTEGER",
    },
    "messages": {"id": "TEXT", "session_id": "TEXT", "role": "TEXT", "status": "TEXT", "created_at": "INTEGER"},
    "message_parts": {"id": "TEXT", "message_id": "TEXT", "index": "INTEGER", "type": "TEXT", "content": "TEXT"},
    "artifacts": {
        "id": "TEXT",
        "message_part_id": "TEXT",
        "kind": "TEXT",
        "path": "TEXT",
        "mime": "TEXT",
        "size": "INTEGER",
        "sha256": "TEXT",
    },
}


def columns(db: sqlite3.Connection, table: str) -> dict[str, str]:
    return {row[1]: row[2] for row in db.execute(f"PRAGMA table_info({table})")}


def count(db: sqlite3.Connection, *tables: str) -> list[int]:
    return [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def contents(db: sqlite3.Connection, message_id: str) -> list[tuple[str, object]]:
    rows = db.execute('SELECT type, content FROM message_parts WHERE message_id=? ORDER BY "index"', (message_id,))
    return [(kind, json.loads(content)) for kind, content in rows]


def complete(call: str, result: ToolResult, **kept: object) -> ev.ToolCallCompleted:
    return ev.ToolCallCompleted(
        tool_call_id=call, name="shell", tool_result=result, message_id=new_id(MESSAGE), duration_ms=5, **kept
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("table", SEED)
def test_the_seeds_columns_are_there_under_their_names(db, table):
    """Whoever knows seed 004's schema can read the file; columns of ours stand behind."""
    found = columns(db, table)
    assert {name: found.get(name) for name in SEED[table]} == SEED[table]
    if table in ("message_parts", "artifacts"):
        assert found == SEED[table]


def test_the_seeds_keys_and_links_are_there(db):
    """Ids are keys; parts belong to messages, messages to sessions, and go with them."""
    for table in SEED:
        assert [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]] == ["id"]
    links = {
        (table, row[3], row[2], row[6]) for table in SEED for row in db.execute(f"PRAGMA foreign_key_list({table})")
    }
    assert links == {
        ("messages", "session_id", "sessions", "CASCADE"),
        ("message_parts", "message_id", "messages", "CASCADE"),
        ("artifacts", "message_part_id", "message_parts", "CASCADE"),
    }


def test_a_session_is_a_row_with_times_in_milliseconds(db, book):
    """It changes with its events."""
    book.tell(None, ev.SessionUpdated(title="Houses", agent="plan"))
    row = db.execute("SELECT id, title, agent, project_path, created_at, updated_at, status FROM sessions").fetchone()
    assert row == (book.id, "Houses", "plan", "/w", 1_767_225_601_000, 1_767_225_602_000, "active")


def test_the_row_holds_the_state_the_fold_arrives_at(db, book):
    """Whatever was appended together or apart, by this process or another."""
    turn = book.begin()
    book.say(turn, Text(text="Hello"))
    assert book.stored_state() == book.state

    other = Tables()
    event = ev.Event.of(book.seq + 1, book.now, book.id, turn, ev.CancelRequested())
    other.apply(db, book.id, [event])
    book.seq += 1
    book.tell(turn, ev.TurnCanceled())

    stored = book.stored_state()
    assert (stored.turn, stored.last_seq) == (None, book.seq)


def test_what_was_folded_is_forgotten_when_it_did_not_happen(db, book, tables):
    """After a rollback the state is read from the table again."""
    turn = book.begin()
    db.execute("BEGIN")
    tables.apply(db, book.id, [ev.Event.of(book.seq + 1, book.now, book.id, turn, ev.TurnCanceled())])
    db.execute("ROLLBACK")
    tables.rolled_back()
    book.tell(turn, ev.CancelRequested())

    assert book.stored_state() == book.state
    assert book.state.turn is not None


def test_messages_and_their_parts_are_rows_in_order(db, book):
    """Role, status and time of each message; index, type and content of each part."""
    turn, message_id = book.ask("hi")
    book.start(turn, message_id)
    said = book.say(
        turn,
        Reasoning(text="hm", id=new_id(PART)),
        Text(text="Hello", id=new_id(PART)),
        Image(ref="attachments/a", mime_type="image/png", id=new_id(PART)),
    )

    rows = db.execute("SELECT id, session_id, role, status FROM messages ORDER BY position").fetchall()
    assert rows == [
        (message_id, book.id, "user", "complete"),
        (said.id, book.id, "assistant", "complete"),
    ]
    parts = db.execute('SELECT id, "index", type FROM message_parts WHERE message_id=? ORDER BY "index"', (said.id,))
    assert parts.fetchall() == [
        (part.id, n, kind)
        for n, (part, kind) in enumerate(zip(said.parts, ("reasoning", "text", "image"), strict=True))
    ]
    assert contents(db, said.id)[1] == ("text", {"type": "text", "text": "Hello", "id": said.parts[1].id})


def test_a_call_is_kept_in_the_seeds_words(db, book):
    """`name`, `args` and `startedAt`, the arguments as the model wrote them."""
    turn = book.begin()
    call = ToolCallContent(
        id="c1", name="fs.write", args=Raw(b'{"path":"src/app.ts","data":"..."}'), started_at=1736960000000
    )
    said = book.say(turn, ToolCallPart(content=call))

    assert contents(db, said.id) == [
        (
            "tool_call",
            {
                "id": "c1",
                "name": "fs.write",
                "args": {"path": "src/app.ts", "data": "..."},
                "startedAt": 1736960000000,
            },
        )
    ]


def test_a_result_is_kept_in_the_seeds_words(db, book):
    """`name`, `ok`, `result` and `finishedAt`, in a message of the tool."""
    turn = book.begin()
    result = ToolResult(
        id="c1", ok=True, parts=(Text(text="1024 bytes"),), result={"path": "src/app.ts", "bytes": 1024}
    )
    done = complete("c1", result)
    book.tell(turn, done)

    assert db.execute("SELECT role, status FROM messages WHERE id=?", (done.message_id,)).fetchone() == (
        "tool",
        "complete",
    )
    assert contents(db, done.message_id) == [
        (
            "tool_result",
            {
                "id": "c1",
                "name": "shell",
                "ok": True,
                "parts": [{"type": "text", "text": "1024 bytes"}],
                "result": {"path": "src/app.ts", "bytes": 1024},
                "finishedAt": 1_767_225_604_000,
            },
        )
    ]
    assert count(db, "artifacts") == [0]


def test_a_diff_stays_inline(db, book):
    """A patch is part of the result, in the seed's words; it is no file."""
    turn = book.begin()
    diff = Artifact(kind="file_diff", patch_format="unified", patch="+ new\n", summary={"files": 1, "additions": 1})
    done = complete("c1", ToolResult(id="c1", ok=True, parts=(), artifact=diff))
    book.tell(turn, done)

    ((_, content),) = contents(db, done.message_id)
    assert content["artifact"] == {
        "kind": "file_diff",
        "patchFormat": "unified",
        "patch": "+ new\n",
        "summary": {"files": 1, "additions": 1},
    }


def test_a_file_a_tool_made_is_an_artifact(db, book):
    """Its row points to the part that tells of it."""
    turn = book.begin()
    kept = Artifact(
        kind="file", id=new_id(ARTIFACT), path="artifacts/x/out.log", mime="text/plain", size=4096, sha256="ab"
    )
    done = complete("c1", ToolResult(id="c1", ok=True, parts=(), artifact=kept))
    book.tell(turn, done)

    (part_id,) = db.execute("SELECT id FROM message_parts WHERE message_id=?", (done.message_id,)).fetchone()
    assert db.execute("SELECT * FROM artifacts").fetchall() == [
        (kept.id, part_id, "file", "artifacts/x/out.log", "text/plain", 4096, "ab")
    ]


def test_a_failed_call_is_a_message_with_an_error(db, book):
    """It is kept where its result would be."""
    turn = book.begin()
    done = complete("c1", ToolResult(id="c1", ok=False, parts=(), error="no such file"))
    book.tell(turn, done)

    assert db.execute("SELECT status FROM messages WHERE id=?", (done.message_id,)).fetchone() == ("error",)
    assert contents(db, done.message_id)[0][1]["error"] == "no such file"


def test_an_error_part_says_what_went_wrong(db, book):
    """In the words of people, and of programs."""
    turn = book.begin()
    said = book.say(turn, ErrorPart(content=ErrorContent(message="overloaded", code="provider_failed")))
    assert contents(db, said.id) == [("error", {"message": "overloaded", "code": "provider_failed"})]


def test_a_part_without_an_id_gets_one_that_is_always_the_same(db, book, tmp_path):
    """Made from the message's id, so that tables that are made again are equal."""
    turn = book.begin()
    said = book.say(turn, Text(text="a"), Text(text="b"))

    ids = [row[0] for row in db.execute('SELECT id FROM message_parts WHERE message_id=? ORDER BY "index"', (said.id,))]
    assert len(set(ids)) == 2
    assert all(is_id(one, PART) for one in ids)
    assert [one[:-2] for one in ids] == ["part_" + said.id[4:-2]] * 2


def test_a_part_cannot_take_the_place_of_anothers(db, book, new_book):
    """A client that sends a part id that exists changes nothing in the message it belongs to."""
    mine = book.message("mine")
    book.tell(None, ev.MessageAdded(message=mine, run=False))
    other = new_book()
    stolen = other.message(parts=(Text(text="theirs", id=mine.parts[0].id),))
    other.tell(None, ev.MessageAdded(message=stolen, run=False))

    assert [content["text"] for _, content in contents(db, mine.id)] == ["mine"]


def test_an_answer_has_its_place_where_it_began(db, book):
    """A message is there, pending, from its first logged piece, and keeps its place when it is whole."""
    turn = book.begin()
    answer = new_id(MESSAGE)
    book.tell(turn, ev.ModelOutputDelta(message_id=answer, part_id="p", kind="text", delta="He", offset=0))
    began = book.seq
    assert db.execute("SELECT status, position FROM messages WHERE id=?", (answer,)).fetchone() == ("pending", began)
    book.tell(turn, ev.ModelOutputDelta(message_id=answer, part_id="p", kind="text", delta="llo", offset=2))
    book.tell(None, ev.Notice(code="n", message="meanwhile"))
    whole = Message(
        id=answer, role="assistant", parts=(Text(text="Hello", id="p"),), created_at=book.now, status="complete"
    )
    book.tell(turn, ev.ModelOutputCompleted(message=whole))

    assert db.execute("SELECT status, position FROM messages WHERE id=?", (answer,)).fetchone() == ("complete", began)


def test_a_queued_message_stands_behind_all_others_until_its_turn(db, book):
    """It gets its place where its turn begins."""
    turn = book.begin("first")
    queued, queued_id = book.ask("second", queued=True)
    book.say(turn, Text(text="answer"))
    assert db.execute("SELECT position FROM messages WHERE id=?", (queued_id,)).fetchone()[0] > QUEUED
    book.start(queued, queued_id)
    started = book.seq

    assert db.execute("SELECT position FROM messages WHERE id=?", (queued_id,)).fetchone() == (started,)


def test_a_turn_is_a_row_with_its_outcome(db, book):
    """Queued, running, and how it ended; a retry says what it repeats."""
    turn, message_id = book.ask()
    assert db.execute("SELECT status, outcome FROM turns WHERE id=?", (turn,)).fetchone() == ("queued", None)
    book.start(turn, message_id)
    assert db.execute("SELECT status FROM turns").fetchone() == ("running",)
    failed = ev.TurnFailed(error=ErrorInfo(code="x", message="no"), usage=Usage())
    book.tell(turn, failed)
    again = new_id(TURN)
    book.tell(again, ev.TurnRequested(message_id=message_id, retry_of=turn))
    book.start(again, message_id)
    book.tell(again, ev.TurnCanceled(reason="enough"))

    rows = db.execute("SELECT id, message_id, status, retry_of, outcome, ended_at FROM turns ORDER BY id").fetchall()
    assert rows == [
        (turn, message_id, "failed", None, ev.encode_data(failed).decode(), 1_767_225_604_000),
        (
            again,
            message_id,
            "canceled",
            turn,
            ev.encode_data(ev.TurnCanceled(reason="enough")).decode(),
            1_767_225_607_000,
        ),
    ]


def test_an_attachment_is_a_row(db, book):
    """Sending the same file again is the same attachment."""
    for _ in range(2):
        book.tell(
            None,
            ev.AttachmentAdded(ref="attachments/a", filename="a.png", mime_type="image/png", size=3, sha256="00"),
        )
    assert db.execute("SELECT session_id, ref, filename, size FROM attachments").fetchall() == [
        (book.id, "attachments/a", "a.png", 3)
    ]


def test_deleting_a_session_deletes_all_of_it_and_nothing_else(db, book, new_book, tables):
    """Messages, parts, artifacts, turns and attachments go with their session."""
    for one in (book, new_book()):
        turn = one.begin()
        kept = Artifact(kind="file", id=new_id(ARTIFACT), path="x", mime="text/plain", size=1, sha256="ab")
        one.say(turn, ToolCallPart(content=ToolCallContent(id=new_id(CALL), name="shell", args=Raw(b"{}"))))
        one.tell(turn, complete("c1", ToolResult(id="c1", ok=True, parts=(), artifact=kept)))
        one.tell(None, ev.AttachmentAdded(ref="a", filename="a", mime_type="a/b", size=1, sha256="00"))
    every = ("sessions", "messages", "message_parts", "artifacts", "turns", "attachments")
    assert count(db, *every) == [2, 6, 6, 2, 2, 2]

    tables.forget(db, book.id)

    assert count(db, *every) == [1, 3, 3, 1, 1, 1]


def test_the_snapshot_is_the_session_as_clients_see_it(db, book, tables):
    """Indented for people, whether the state is remembered or has to be read; none for a session that is not there."""
    book.begin()
    tables.epoch = 7
    remembered = tables.snapshot(db, book.id)
    fresh = Tables()
    fresh.epoch = 7

    assert remembered == fresh.snapshot(db, book.id)
    assert remembered is not None
    assert json.loads(remembered)["epoch"] == 7
    assert b'\n  "id"' in remembered
    assert fresh.snapshot(db, "sess_none") is None


def test_only_some_states_are_remembered(db, new_book, tables, monkeypatch):
    """Memory does not grow with the number of sessions, and a forgotten state is read again."""
    monkeypatch.setattr("agi.views.tables.RESTING", 3)
    books = [new_book() for _ in range(6)]
    assert len(tables._states) == 3
    for one in books:
        one.tell(None, ev.SessionUpdated(title=one.id))

    assert [one.stored_state().title for one in books] == [one.id for one in books]


def test_grants_from_before_there_were_rules_are_taken_over(tmp_path):
    """They were names of tools; the log says what they mean now."""
    database, asked = tmp_path / "db.sqlite", TURN + "_1"
    prepare(database, (*STEPS, *Tables.steps[:1]))
    db = connect(database)
    granted = ev.ApprovalGranted(tool_call_id="call_1", name="shell", remember="session")
    created = ev.SessionCreated(id="s", agent="build", workspace_path="/w", project_path="/w", created_at=TS)
    for seq, (turn, data) in enumerate([(None, created), (asked, granted)], 1):
        row = ("s", seq, TS, turn, data.TYPE, ev.encode_data(data).decode())
        db.execute("INSERT INTO events (session_id, seq, ts, turn_id, type, data) VALUES (?, ?, ?, ?, ?, ?)", row)
    old = json.dumps({"id": "s", "grants": ["shell"]})
    db.execute("INSERT INTO sessions VALUES ('s', NULL, 'build', '/w', 0, 0, 'active', 0, 1, 2, ?)", (old,))
    db.close()
    prepare(database, (*STEPS, *Tables.steps))

    db = connect(database)
    state = queries.session_state(db, "s")
    db.close()
    assert [grant.rule for grant in state.grants] == [Rule(tool="shell", verdict="allow")]
    assert (state.last_seq, state.workspace_path) == (2, "/w")
