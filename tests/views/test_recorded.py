"""What the log knows by itself of a conversation: calls, files, requests; what was taken back does not count."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.errors import Damaged
from agi.protocol import events as ev
from agi.protocol.ids import CALL, MESSAGE, new_id
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart
from agi.protocol.tools import ToolResult
from agi.views.recorded import recorded


def called(book, turn: str, name: str, args: bytes, *, ok: bool = True, **result: object) -> str:
    call = ToolCallContent(id=new_id(CALL), name=name, args=Raw(args))
    book.say(turn, ToolCallPart(content=call))
    done = ToolResult(id=call.id, ok=ok, parts=(Text(text="output " * 100),), result=dict(result))
    completed = ev.ToolCallCompleted(tool_call_id=call.id, name=name, tool_result=done, message_id=new_id(MESSAGE))
    book.tell(turn, completed)
    return call.id


def test_calls_files_and_requests_are_found_in_order(book):
    """A change is one only if the call went well and changed something."""
    turn = book.begin("make it so")
    first = called(book, turn, "read_file", b'{"path":"a.py"}')
    called(book, turn, "write_file", b'{"path":"a.py"}', path="a.py", bytes=3)
    called(
        book,
        turn,
        "apply_patch",
        b"{}",
        files=[{"path": "b.py", "change": "added"}, {"path": "c.py", "change": "unchanged"}],
    )
    called(book, turn, "edit", b"{}", ok=False, path="d.py", change="modified")

    found = recorded(book.db, book.state)

    assert [text for _, text in found.asked] == ["make it so"]
    assert found.changed == {"a.py": "written", "b.py": "added"}
    assert [(one.name, one.ok) for one in found.calls] == [
        ("read_file", True),
        ("write_file", True),
        ("apply_patch", True),
        ("edit", False),
    ]
    assert found.calls[0].id == first


@pytest.mark.parametrize("damage", ["messages SET info='{'", "message_parts SET content=x'ff'"])
def test_a_row_that_is_none_is_damage(book, damage):
    """Whoever makes a conversation shorter is told what helps."""
    called(book, book.begin("make it so"), "read_file", b"{}")
    book.db.execute(f"UPDATE {damage}")

    with pytest.raises(Damaged, match="a message's row is not as it was written"):
        recorded(book.db, book.state)


def test_what_was_taken_back_does_not_count(book):
    """Nor do the harness's own words."""
    turn = book.begin("first")
    called(book, turn, "write_file", b"{}", path="a.py")
    at = book.seq
    called(book, turn, "write_file", b"{}", path="b.py")
    book.tell(None, ev.MessageAdded(message=book.message("not the user's", origin="verification"), run=False))
    book.tell(None, ev.ConversationReverted(to="ckpt_x", to_seq=at, messages=2))
    book.tell(None, ev.MessageAdded(message=book.message("later"), run=False))

    found = recorded(book.db, book.state)

    assert found.changed == {"a.py": "written"}
    assert [text for _, text in found.asked] == ["first", "later"]
