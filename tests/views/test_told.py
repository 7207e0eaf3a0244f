"""What is read for a model: from the first message it is told, what is carried along, and all of the running turn."""

from __future__ import annotations

from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, TURN, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.views.queries import history
from agi.views.told import compaction_of, told_messages


def said(book, turn: str | None, role: str, text: str) -> str:
    is_answer = role == "assistant"
    message = Message(
        id=new_id(MESSAGE),
        role=role,
        parts=(Text(text=text),),
        created_at=book.now,
        status="complete",
        usage=Usage(input_tokens=9) if is_answer else None,
    )
    book.tell(
        turn, ev.ModelOutputCompleted(message=message) if is_answer else ev.MessageAdded(message=message, run=False)
    )
    return message.id


def compacted(book, first: str, last: str, *carried: str) -> str:
    made = ev.ContextCompacted(
        compaction_id=f"comp_{book.seq}",
        trigger="manual",
        pre_tokens=9,
        post_tokens=1,
        first_kept=first,
        last_message=last,
        carried=carried,
        summary="s",
    )
    book.tell(None, made)
    return made.compaction_id


def ids(book, turn_id: str = "") -> list[str]:
    return [one.id for one in told_messages(book.db, book.state, turn_id)]


def test_only_what_is_told_is_read(book):
    """With what is carried along before it, in order."""
    all_of_it = [said(book, None, role, role) for role in ("user", "assistant", "user", "assistant", "user")]
    compacted(book, all_of_it[3], all_of_it[4], all_of_it[2], "msg_unknown")

    assert ids(book) == all_of_it[2:]


def test_a_running_turn_finds_all_it_said_also_before_the_cut(book):
    """What it has to do next depends on it, told or not."""
    turn = new_id(TURN)
    before = said(book, None, "user", "earlier")
    own = [said(book, turn, "assistant", str(number)) for number in range(4)]
    compacted(book, own[2], own[3])

    assert ids(book) == own[2:]
    assert ids(book, turn) == own
    assert ids(book, new_id(TURN)) == own[2:]
    assert before not in ids(book, turn)


def test_undone_or_taken_back_everything_is_read_again(book):
    """The rule is one for both."""
    all_of_it = [said(book, None, role, role) for role in ("user", "assistant", "user")]
    id = compacted(book, all_of_it[2], all_of_it[2])
    assert ids(book) == all_of_it[2:]
    before = book.seq

    book.tell(None, ev.CompactionUndone(compaction_id=id))
    assert ids(book) == all_of_it
    book.tell(None, ev.ConversationReverted(to="ckpt_x", to_seq=before, messages=0))
    assert ids(book) == all_of_it[2:]
    book.tell(None, ev.ConversationReverted(to="ckpt_y", to_seq=before - 1, messages=0))
    assert ids(book) == all_of_it
    assert compaction_of(book.db, book.state) is None


def test_what_was_reported_under_a_compaction_is_gone_with_it(book):
    """How much models were told then says nothing about what they are told now; the log keeps it."""

    def reported() -> list[str]:
        return [one.id for one in told_messages(book.db, book.state) if one.usage is not None]

    first = said(book, None, "assistant", "before")
    id = compacted(book, first, first)
    second = said(book, None, "assistant", "under it")
    assert reported() == [first, second]
    book.tell(None, ev.CompactionUndone(compaction_id=id))
    third = said(book, None, "assistant", "after it")

    assert reported() == [first, third]
    assert [one.usage is not None for one in history(book.db, book.state.id)] == [True, True, True]


def test_a_cut_at_a_message_that_is_not_there_tells_everything(book):
    """Rather too much than nothing."""
    all_of_it = [said(book, None, role, role) for role in ("user", "assistant")]
    compacted(book, "msg_of_another_log", all_of_it[1])

    assert ids(book) == all_of_it
