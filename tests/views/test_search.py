"""Searching: filters, pages, what was taken back, and clear words for what cannot be looked for."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.errors import AgiError
from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, SESSION, new_id
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart
from agi.protocol.search import Search
from agi.protocol.tools import ToolResult
from agi.views.search import search
from agi.views.search_index import advance


def found(db, **asked):
    advance(db, lambda: False)
    return search(db, Search(**asked))


def kinds(db, **asked):
    return sorted((hit.kind, hit.role) for hit in found(db, **asked).hits)


def work(book, word="needle", path="src/a.py"):
    """A turn that reads a file: question, call, result, answer."""
    turn = book.begin(f"please find the {word}")
    call = ToolCallContent(id=f"call_{word}", name="read_file", args=Raw(b'{"path": "%b"}' % path.encode()))
    book.say(turn, Text(text="Looking."), ToolCallPart(content=call))
    result = ToolResult(id=call.id, ok=True, parts=(Text(text=f"def {word}(): pass"),))
    book.tell(
        turn,
        ev.ToolCallCompleted(tool_call_id=call.id, name="read_file", tool_result=result, message_id=new_id(MESSAGE)),
    )
    book.say(turn, Text(text=f"The {word} is in {path}."))
    return turn


def test_a_hit_says_what_it_is_and_where(db, book):
    """Everything needed to open it: session, turn, message or call, number, time."""
    turn = work(book)
    book.tell(None, ev.SessionUpdated(title="Sewing"))
    (hit,) = found(db, q="needle", kind="tool").hits

    assert (hit.session_id, hit.title, hit.turn_id) == (book.id, "Sewing", turn)
    assert (hit.kind, hit.role, hit.tool, hit.tool_call_id) == ("tool", "tool", "read_file", "call_needle")
    assert (hit.seq, hit.ts) == (5, "2026-01-01T00:00:05.000Z")
    assert [hit.snippet[first:last] for first, last in hit.marks] == ["needle"]
    assert hit.score > 0
    assert not hit.reverted


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"role": "user"}, 1),
        ({"role": "assistant"}, 1),
        ({"role": "tool"}, 1),
        ({"kind": "message"}, 2),
        ({"kind": "title"}, 0),
        ({"tool": "read_file"}, 1),
        ({"tool": "shell"}, 0),
        ({"agent": "build"}, 3),
        ({"agent": "plan"}, 0),
        ({"workspace_path": "/w"}, 3),
        ({"workspace_path": "/w/other"}, 0),
        ({"since": "2026-01-01"}, 3),
        ({"since": "2026-01-01T00:00:05Z"}, 2),
        ({"until": "2026-01-01T00:00:05Z"}, 1),
        ({"until": "2026-01-01"}, 3),
        ({"until": "2025-12-31"}, 0),
        ({"path": "src/a.py"}, 3),
        ({"path": "a.py"}, 3),
        ({"path": "./src/"}, 3),
        ({"path": "src/b.py"}, 0),
        ({"path": "%"}, 0),
        ({"session_id": "sess_none"}, 0),
    ],
)
def test_every_filter_must_fit(db, book, filters, count):
    """Alone and together with the words."""
    work(book)

    assert len(found(db, q="needle", **filters).hits) == count


def test_a_session_is_searched_alone(db, book, new_book):
    """Its hits and no others."""
    other = new_book()
    work(book)
    work(other)

    assert {hit.session_id for hit in found(db, q="needle", session_id=book.id).hits} == {book.id}
    assert {hit.session_id for hit in found(db, q="needle").hits} == {book.id, other.id}


def test_a_file_is_found_without_words(db, book):
    """Which calls touched it, the newest first; and everything of the turns that did."""
    work(book)
    (touched,) = found(db, path="src/a.py", kind="file").hits

    assert (touched.paths, touched.tool) == (("src/a.py",), "read_file")
    assert kinds(db, path="src/a.py") == [
        ("file", "assistant"),
        ("message", "assistant"),
        ("message", "assistant"),
        ("message", "user"),
        ("tool", "assistant"),
        ("tool", "tool"),
    ]


def test_pages_follow_each_other_without_a_gap_although_more_is_said(db, book):
    """What comes after the first page was asked for does not move the others."""
    for number in range(7):
        book.tell(None, ev.MessageAdded(message=book.message(f"needle {number}"), run=False))
    page = found(db, q="needle", limit=3)
    seen = [hit.snippet for hit in page.hits]
    book.tell(None, ev.MessageAdded(message=book.message("needle new"), run=False))
    while page.next:
        page = found(db, q="needle", limit=3, cursor=page.next)
        seen += [hit.snippet for hit in page.hits]

    assert seen == [f"needle {number}" for number in reversed(range(7))]


def test_what_was_taken_back_is_found_and_marked(db, book):
    """It is in the log still, and says that it does not count."""
    before = book.seq
    work(book)
    book.tell(None, ev.ConversationReverted(to="start", to_seq=before, messages=4))
    book.begin("another needle")

    marks = {hit.snippet: hit.reverted for hit in found(db, q="needle").hits}
    assert marks.pop("another needle") is False
    assert len(marks) == 3
    assert all(marks.values())


def test_a_message_that_waits_is_not_taken_back(db, book):
    """Its place in the conversation is still to come."""
    book.tell(None, ev.ConversationReverted(to="start", to_seq=1, messages=0))
    book.ask("the needle", queued=True)

    assert [hit.reverted for hit in found(db, q="needle").hits] == [False]


def test_what_people_said_comes_before_what_tools_put_out(db, book):
    """Where the words fit alike."""
    work(book)

    assert found(db, q="needle").hits[-1].kind == "tool"


def test_a_beginning_is_told_newest_first(db, book):
    """Weighing all words that begin so would take too long."""
    for word in ("needles", "needlework", "need"):
        book.tell(None, ev.MessageAdded(message=book.message(word), run=False))

    assert [hit.snippet for hit in found(db, q="need*").hits] == ["need", "needlework", "needles"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({}, "query_empty"),
        ({"q": "  "}, "query_empty"),
        ({"q": "!?"}, "query_without_words"),
        ({"q": "a*"}, "beginning_too_short"),
        ({"q": "x" * 501}, "query_too_long"),
        ({"q": "x", "limit": 0}, "limit_invalid"),
        ({"q": "x", "limit": 101}, "limit_invalid"),
        ({"q": "x", "cursor": "nonsense"}, "bad_cursor"),
        ({"q": "x", "cursor": "1-٣"}, "bad_cursor"),
        ({"q": "x", "since": "yesterday"}, "time_invalid"),
        ({"q": "x", "until": "2026-01-01T25"}, "time_invalid"),
        ({"q": "x", "path": "./"}, "path_invalid"),
        ({"q": "x", "path": "a\0b"}, "path_invalid"),
    ],
)
def test_what_cannot_be_looked_for_is_said_with_a_way_out(db, book, asked, code):
    """Bad input is named, whether anything is indexed or not."""
    advance(db, lambda: False)
    with pytest.raises(AgiError) as refused:
        search(db, Search(**asked))

    assert (refused.value.code, bool(refused.value.hint)) == (code, True)


def test_hostile_filters_are_only_values(db, book):
    """Nothing of them becomes SQL."""
    work(book)

    assert found(db, q="needle", tool="x' OR 1=1 --", session_id=new_id(SESSION)).hits == ()
