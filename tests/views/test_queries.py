"""Reading the views: what was said comes back as it was said, page by page, by way of an index."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.errors import Damaged, NotFound
from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, PART, SESSION, TURN, new_id
from agi.protocol.messages import Usage
from agi.protocol.parts import (
    Artifact,
    ErrorContent,
    ErrorPart,
    Image,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultPart,
)
from agi.protocol.tools import ToolResult
from agi.views import queries


def texts(messages):
    return [part.text for message in messages for part in message.parts if isinstance(part, Text)]


def plan(db, statement: str, *given: object) -> str:
    """How SQLite would answer."""
    return " | ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + statement, given))


def traced(db, run) -> list[str]:
    """The statements a query runs."""
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    run()
    db.set_trace_callback(None)
    return statements


@pytest.fixture
def long_book(book):
    """Thirty messages, numbered."""
    for n in range(30):
        book.tell(None, ev.MessageAdded(message=book.message(str(n)), run=False))
    return book


def test_a_session_is_read_as_it_stands(db, book):
    """The same state the fold arrives at."""
    book.begin()
    assert queries.session_state(db, book.id) == book.state


def test_what_is_not_there_is_not_found(db, book, new_book):
    """Sessions, turns and messages of other sessions included; each with a code of its own."""
    other = new_book()
    turn, message_id = other.ask()
    with pytest.raises(NotFound) as session:
        queries.session_state(db, new_id(SESSION))
    with pytest.raises(NotFound) as missing:
        queries.turn(db, book.id, turn)
    with pytest.raises(NotFound) as message:
        queries.list_messages(db, book.id, limit=5, before=message_id)

    assert [error.value.code for error in (session, missing, message)] == [
        "session_not_found",
        "turn_not_found",
        "message_not_found",
    ]


def test_every_kind_of_part_comes_back_as_it_was_said(db, book):
    """Text, thoughts, pictures, calls and errors, in their order, with the message around them."""
    turn = book.begin()
    said = book.message(
        role="assistant",
        parts=(
            Reasoning(text="hm", id=new_id(PART), provider="p", model="m", signature="s"),
            Text(text="Hello\0 \U0001f600", id=new_id(PART)),
            Image(ref="attachments/a", mime_type="image/png", id=new_id(PART)),
            ToolCallPart(content=ToolCallContent(id="c1", name="shell", args=Raw(b'{ "a": 1.0 }')), id=new_id(PART)),
            ErrorPart(content=ErrorContent(message="no", code="x"), id=new_id(PART)),
        ),
        stop_reason="tool_calls",
        usage=Usage(input_tokens=1, cost_usd=0.5),
        provider="p",
        model="m",
    )
    book.tell(turn, ev.ModelOutputCompleted(message=said))

    (_, read) = queries.history(db, book.id)

    assert read.parts == said.parts
    assert (read.id, read.session_id, read.turn_id) == (said.id, book.id, turn)
    assert (read.usage, read.stop_reason, read.model) == (said.usage, "tool_calls", "m")


def test_a_result_comes_back_with_its_artifact(db, book):
    """As a message of the tool, with one part."""
    turn = book.begin()
    diff = Artifact(kind="file_diff", patch_format="unified", patch="+", summary={"files": 1})
    result = ToolResult(id="c1", ok=False, parts=(Text(text="no"),), error="no", result={"x": None}, artifact=diff)
    done = ev.ToolCallCompleted(tool_call_id="c1", name="apply_patch", tool_result=result, message_id=new_id(MESSAGE))
    book.tell(turn, done)

    message = queries.history(db, book.id)[-1]

    (part,) = message.parts
    assert isinstance(part, ToolResultPart)
    assert (message.role, message.status, message.id) == ("tool", "error", done.message_id)
    assert (part.content.id, part.content.name, part.content.ok, part.content.error) == (
        "c1",
        "apply_patch",
        False,
        "no",
    )
    assert (part.content.artifact, part.content.result, part.content.parts) == (diff, {"x": None}, result.parts)


def test_queued_messages_are_listed_last_and_are_not_history(db, book):
    """What waits is shown at the end; the model hears of it when its turn begins."""
    turn = book.begin("first")
    second, second_id = book.ask("second", queued=True)
    book.ask("third", queued=True)
    book.say(turn, Text(text="answer"))

    assert texts(queries.list_messages(db, book.id, limit=10)[0]) == ["first", "answer", "second", "third"]
    assert texts(queries.history(db, book.id)) == ["first", "answer"]

    book.start(second, second_id)
    book.say(second, Text(text="more"))
    assert texts(queries.list_messages(db, book.id, limit=10)[0]) == ["first", "answer", "second", "more", "third"]
    assert texts(queries.history(db, book.id)) == ["first", "answer", "second", "more"]


def test_messages_are_paged_from_the_end(db, long_book):
    """The last page first; each page says whether there is an earlier one; nothing twice, nothing missed."""
    pages, before = [], None
    while True:
        page, earlier = queries.list_messages(db, long_book.id, limit=12, before=before)
        pages.insert(0, texts(page))
        if not earlier:
            break
        before = page[0].id

    assert [len(page) for page in pages] == [6, 12, 12]
    assert [text for page in pages for text in page] == [str(n) for n in range(30)]


@pytest.mark.parametrize("limit", [1, 29, 30, 31, 1000])
def test_a_page_is_as_long_as_was_asked_for(db, long_book, limit):
    """Also when that is exactly all there is."""
    page, earlier = queries.list_messages(db, long_book.id, limit=limit)
    assert (len(page), earlier) == (min(limit, 30), limit < 30)
    assert texts(page)[-1] == "29"


def test_the_last_page_of_a_long_session_reads_only_that_page(db, long_book):
    """By the index on the session and the position; no scan of a table, no sorting of all messages."""
    statements = traced(db, lambda: queries.list_messages(db, long_book.id, limit=5))
    for statement in statements:
        told = plan(db, statement)
        assert "SCAN" not in told, told
        assert "messages_session_id (session_id=?" in told, told
        assert "TEMP B-TREE FOR ORDER BY" not in told, told


def test_history_and_the_messages_of_a_turn_are_found_by_index(db, long_book):
    """None of them reads other sessions' messages."""
    statements = traced(db, lambda: queries.history(db, long_book.id))
    statements += traced(db, lambda: queries.turn_messages(db, long_book.id, new_id(TURN)))
    for statement in statements:
        assert "SCAN" not in plan(db, statement)


def test_sessions_are_listed_by_when_they_were_touched(db, new_book):
    """The latest first; a page ends where the next begins; one-shots only if asked for."""
    books = [new_book() for _ in range(5)]
    for rank, n in enumerate((3, 0, 4, 1, 2)):
        books[n].seq += rank * 10
        books[n].tell(None, ev.SessionUpdated(title=str(n)))

    first = queries.list_sessions(db, limit=3)
    assert [state.title for state in first] == ["2", "1", "4"]
    oldest = db.execute("SELECT updated_at FROM sessions WHERE id=?", (first[-1].id,)).fetchone()[0]
    behind = (oldest, first[-1].id)
    assert [state.title for state in queries.list_sessions(db, limit=3, before=behind)] == ["0", "3"]


def test_sessions_of_the_same_moment_are_not_skipped_between_pages(db, new_book):
    """The place in the list is the time and the id."""
    books = [new_book() for _ in range(5)]
    db.execute("UPDATE sessions SET updated_at=1000")

    seen, before = [], None
    while page := queries.list_sessions(db, limit=2, before=before):
        seen += [state.id for state in page]
        before = (1000, page[-1].id)

    assert seen == sorted((book.id for book in books), reverse=True)


def test_a_one_shots_session_is_listed_only_if_asked_for(db, book, tables):
    """It is kept all the same."""
    one_shot = new_id(SESSION)
    created = ev.SessionCreated(
        id=one_shot, agent="general", workspace_path="/w", project_path="/w", created_at=book.now, ephemeral=True
    )
    tables.apply(db, one_shot, [ev.Event.of(1, book.now, one_shot, None, created)])

    assert [state.id for state in queries.list_sessions(db, limit=10)] == [book.id]
    assert {state.id for state in queries.list_sessions(db, limit=10, unlisted=True)} == {book.id, one_shot}


def test_the_latest_of_many_sessions_are_found_by_index(db, book):
    """Without reading or sorting the others."""
    (statement,) = traced(db, lambda: queries.list_sessions(db, limit=3))
    told = plan(db, statement)
    assert "sessions_recent (listed=? AND (updated_at,id)<(?,?))" in told
    assert "TEMP B-TREE FOR ORDER BY" not in told


def test_sessions_with_something_to_do_are_known(db, book, new_book):
    """Running or queued; that is what a restart takes up."""
    running, queued, done = new_book(), new_book(), new_book()
    running.begin()
    queued.ask()
    turn = done.begin()
    done.tell(turn, ev.TurnCanceled(), ev.SessionCanceled())

    assert queries.live_sessions(db) == sorted([running.id, queued.id])
    (statement,) = traced(db, lambda: queries.live_sessions(db))
    assert "sessions_live" in plan(db, statement)


def test_a_turn_is_read_with_its_messages_and_its_outcome(db, book):
    """What was asked, what was said, and how it ended, as the event has it."""
    turn = book.begin("hi")
    book.say(turn, Text(text="Hello"))
    over = ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=1, usage=Usage())
    book.tell(turn, over)
    book.begin("something else")

    read = queries.turn(db, book.id, turn)

    assert (read.status, read.session_id, read.retry_of) == ("completed", book.id, None)
    assert ev.decode_data("turn_completed", read.outcome or b"") == over
    assert texts(queries.turn_messages(db, book.id, turn)) == ["hi", "Hello"]


def test_attachments_are_listed_in_the_order_they_came(db, book):
    """With their size, their hash and when they came."""
    for name in ("b", "a"):
        book.tell(
            None, ev.AttachmentAdded(ref=f"attachments/{name}", filename=name, mime_type="a/b", size=1, sha256="00")
        )
    found = queries.attachments(db, book.id)
    assert [(one.filename, one.created_at) for one in found] == [
        ("b", "2026-01-01T00:00:02.000Z"),
        ("a", "2026-01-01T00:00:03.000Z"),
    ]
    assert queries.attachments(db, new_id(SESSION)) == []


@pytest.mark.parametrize(
    "damage",
    [
        "turns SET status='finished'",
        "turns SET outcome=x'ff'",
        "turns SET asked='{'",
        "attachments SET ref=CAST(ref AS BLOB)",
        "attachments SET size='many'",
        "attachments SET created_at='once'",
    ],
)
def test_a_row_that_is_none_is_damage(db, book, damage):
    """Of a turn and of a file: whoever reads it is told what helps, and not what a decoder says."""
    turn = book.begin()
    book.tell(None, ev.AttachmentAdded(ref="attachments/a", filename="a", mime_type="a/b", size=1, sha256="00"))
    db.execute(f"UPDATE {damage}")

    with pytest.raises(Damaged, match="'s row is not as it was written") as refused:
        _ = queries.turn(db, book.id, turn), queries.attachments(db, book.id)
    assert "agi repair --from-mirrors" in refused.value.hint


def test_the_end_of_a_turn_that_is_none_is_damage(db, book):
    """It is read when somebody asks for it."""
    turn = book.begin()
    book.tell(turn, ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=1, usage=Usage()))
    assert queries.turn(db, book.id, turn).stop_reason == "end_turn"
    db.execute("UPDATE turns SET outcome='{'")

    with pytest.raises(Damaged):
        assert queries.turn(db, book.id, turn).stop_reason
