"""One message or one call in full, by its id: of the session, or of another of the same workspace."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.errors import NotFound
from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, SESSION, new_id
from agi.protocol.parts import Image, Text, ToolCallContent, ToolCallPart
from agi.protocol.tools import ToolResult
from agi.views.recalling import recall

ODD = 'toolu_"quoted"\\é'


def call(book, turn, call_id, *, output="line\n" * 3, done=True, **kept):
    """The model calls two tools at once; the other one's result is not asked about."""
    parts = [
        ToolCallPart(content=ToolCallContent(id=one, name="shell", args=Raw(b'{"command": "ls"}')))
        for one in (call_id, f"{call_id}-other")
    ]
    said = book.say(turn, Text(text="Both."), *parts)
    result = ToolResult(id=call_id, ok=True, parts=(Text(text=output),), **kept)
    message = new_id(MESSAGE)
    if done:
        book.tell(
            turn, ev.ToolCallCompleted(tool_call_id=call_id, name="shell", tool_result=result, message_id=message)
        )
    return said.id, message


@pytest.mark.parametrize("call_id", ["call_1", ODD])
def test_a_call_comes_back_with_its_input_and_its_whole_result(db, book, call_id):
    """Whatever its provider called it, and however long it is."""
    output = "".join(f"line {number}\n" for number in range(5000))
    call(book, book.begin(), call_id, output=output)
    found = recall(db, book.id, call_id)

    assert found.what == "a call of shell"
    assert found.text == f'[call {call_id}] shell {{"command": "ls"}}\n\n[result of {call_id}]\n{output}'
    assert (found.session_id, found.reverted) == (book.id, False)


def test_a_call_without_a_result_says_so(db, book):
    """It may still run, or a crash took it."""
    call(book, book.begin(), "call_1", done=False)

    assert recall(db, book.id, "call_1").text.endswith("[it has no result]")


def test_messages_come_back_by_their_ids(db, book):
    """The user's, the model's with its calls, a tool's result."""
    turn, asked = book.ask("What is here?")
    book.start(turn, asked)
    said, result = call(book, turn, "call_1", error="")

    assert recall(db, book.id, asked).text == "What is here?"
    assert recall(db, book.id, asked).what == "what the user said"
    assert recall(db, book.id, said).text.startswith("Both.\n\n[call call_1] shell")
    assert recall(db, book.id, result).text == "[result of call_1]\nline\nline\nline\n"


def test_pictures_are_named(db, book):
    """They cannot be told as text."""
    turn = book.begin()
    book.say(turn, ToolCallPart(content=ToolCallContent(id="call_1", name="read_file", args=Raw(b"{}"))))
    result = ToolResult(id="call_1", ok=True, parts=(Image(ref="a.png", mime_type="image/png"),))
    book.tell(
        turn,
        ev.ToolCallCompleted(tool_call_id="call_1", name="read_file", tool_result=result, message_id=new_id(MESSAGE)),
    )

    assert "[image/png file a.png]" in recall(db, book.id, "call_1").text


def test_another_session_of_the_workspace_is_reached_and_no_other(db, book, new_book):
    """What another workspace's sessions hold is as if it were not there."""
    other, foreign = new_book(), new_book()
    call(other, other.begin(), "call_o")
    _, asked = foreign.ask("secret plan")
    call(foreign, foreign.begin(), "call_f")
    _strange(db, foreign)

    assert recall(db, book.id, "call_o", other.id).session_id == other.id
    for wanted, elsewhere in ((asked, None), (asked, foreign.id), ("call_f", foreign.id), ("call_o", None)):
        with pytest.raises(NotFound) as refused:
            recall(db, book.id, wanted, elsewhere)
        assert "secret" not in refused.value.message


@pytest.mark.parametrize("wanted", ["", "call_none", "msg_none", "%", '{"id":'])
def test_what_is_not_there_is_not_found(db, book, wanted):
    """Also by what looks like part of an id."""
    call(book, book.begin(), "call_1")

    with pytest.raises(NotFound) as refused:
        recall(db, book.id, wanted)
    assert refused.value.code == "not_recalled"
    with pytest.raises(NotFound):
        recall(db, book.id, "call_1", new_id(SESSION))


def test_what_was_taken_back_says_so(db, book):
    """It can be looked up, but does not count."""
    _, asked = book.ask("never mind")
    book.start(*_last(book, asked))
    book.tell(None, ev.ConversationReverted(to="start", to_seq=1, messages=1))

    assert recall(db, book.id, asked).reverted


def _last(book, asked):
    row = book.db.execute("SELECT turn_id FROM messages WHERE id=?", (asked,)).fetchone()
    return row[0], asked


def _strange(db, book):
    """Move a session to another workspace, in its row and its state."""
    state = db.execute("SELECT state FROM sessions WHERE id=?", (book.id,)).fetchone()[0].replace('"/w"', '"/other"')
    db.execute("UPDATE sessions SET project_path='/other', state=? WHERE id=?", (state, book.id))


def test_a_message_that_is_only_a_picture_is_not_nothing(db, book):
    """It is named, and comes back as the picture it was."""
    shot = Image(ref="attachments/shot.png", mime_type="image/png", id="part_1")
    said = book.say(book.begin(), shot)
    found = recall(db, book.id, said.id)

    assert found.text == "[image/png file attachments/shot.png]"
    assert [one.ref for one in found.files] == ["attachments/shot.png"]
