"""The normaliser: whatever the log holds, each tool call a provider is told has exactly one result, in order."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from agi.loop.history import LOST, calls_of, normalise, unanswered
from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart, ToolResultContent, ToolResultPart


def said(role: str, text: str = "x", status: str = "complete") -> Message:
    return Message(id="msg_s", role=role, parts=(Text(text=text),), created_at="", status=status)


def called(*ids: str, status: str = "complete") -> Message:
    parts = tuple(ToolCallPart(content=ToolCallContent(id=one, name="read_file", args=Raw(b"{}"))) for one in ids)
    return Message(id="msg_c", role="assistant", parts=parts, created_at="", status=status)


def result(call_id: str, ok: bool = True) -> Message:
    content = ToolResultContent(id=call_id, name="read_file", ok=ok, parts=(Text(text=f"result of {call_id}"),))
    status = "complete" if ok else "error"
    return Message(id="msg_r", role="tool", parts=(ToolResultPart(content=content),), created_at="", status=status)


def shape(messages) -> list[str]:
    """A readable form: `u`, `a`, `call:1`, `result:1`, `lost:1`."""
    told = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                told.append(f"call:{part.content.id}")
            elif isinstance(part, ToolResultPart):
                lost = part.content.error == LOST
                told.append(f"{'lost' if lost else 'result'}:{part.content.id}")
            else:
                told.append(message.role[0])
    return told


def test_a_whole_conversation_is_told_as_it_is():
    """Nothing is added or taken away."""
    history = [said("user"), called("1", "2"), result("1"), result("2", ok=False), said("assistant")]
    assert shape(normalise(history)) == ["u", "call:1", "call:2", "result:1", "result:2", "a"]


def test_a_call_without_a_result_gets_one_that_says_so():
    """A crash or a cancel leaves no hole."""
    assert shape(normalise([said("user"), called("1", "2"), result("2")])) == [
        "u",
        "call:1",
        "call:2",
        "lost:1",
        "result:2",
    ]


def test_results_that_came_in_another_order_stand_in_the_order_of_the_calls():
    """Parallel calls finish as they like; providers want them in order."""
    assert shape(normalise([called("1", "2"), result("2"), result("1")])) == [
        "call:1",
        "call:2",
        "result:1",
        "result:2",
    ]


def test_results_nobody_asked_for_and_second_results_are_left_out():
    """An orphan or a repeated result would be refused by every provider."""
    assert shape(normalise([result("9"), called("1"), result("1"), result("1")])) == ["call:1", "result:1"]


def test_half_answers_and_empty_ones_are_left_out_with_their_calls():
    """A message that was cut off was never said."""
    history = [
        said("user"),
        called("1", status="error"),
        result("1"),
        said("assistant", status="pending"),
        said("user"),
    ]
    assert shape(normalise(history)) == ["u", "u"]
    assert shape(normalise([said("user"), said("assistant", "")])) == ["u"]


def test_unanswered_calls_are_those_of_the_last_answer_only():
    """What a turn goes on with after a restart."""
    assert [call.id for call in unanswered([called("1", "2"), result("1")])] == ["2"]
    assert [call.id for call in unanswered([called("1"), said("user")])] == ["1"]
    assert unanswered([called("1"), result("1"), said("assistant")]) == []
    assert unanswered([called("1"), result("1")]) == []
    assert unanswered([called("1", status="error")]) == []


pieces = st.one_of(
    st.sampled_from(["user", "system", "assistant"]).map(said),
    st.lists(st.sampled_from("1234567"), min_size=1, max_size=3, unique=True).map(lambda ids: called(*ids)),
    st.sampled_from("12345678").map(result),
    st.sampled_from("1234567").map(lambda one: called(one, status="error")),
    st.just(said("assistant", status="error")),
)


@given(st.lists(pieces, max_size=12))
def test_any_history_becomes_one_that_every_provider_takes(history):
    """After each message with calls come exactly its results, in order, and no result stands anywhere else."""
    told = list(normalise(history))
    while told:
        message = told.pop(0)
        assert message.role != "tool"
        assert message.status == "complete"
        for call in calls_of(message):
            answer = told.pop(0)
            assert [part.content.id for part in answer.parts if isinstance(part, ToolResultPart)] == [call.id]


@given(st.lists(pieces, max_size=12), st.lists(st.sets(st.sampled_from("1234567")), max_size=3))
def test_what_is_known_of_messages_changes_nothing(history, withheld):
    """As it grows, and whatever is withheld meanwhile: what is told is what is told of it at first sight."""
    known: Known = Known()
    for left_out in [set(), *withheld, set()]:
        for end in range(len(history) + 1):
            told = normalise(history[:end], dict.fromkeys(left_out, "refused"), known)

            assert told == normalise(history[:end], dict.fromkeys(left_out, "refused"))


def test_what_was_told_before_is_told_by_the_same_values():
    """Also results out of one message and those in whose place a note stands, so that they need not be written anew."""
    both = msgspec.structs.replace(result("1"), parts=(*result("1").parts, *result("2").parts))
    history, known = [said("user"), called("1", "2"), both, called("3"), result("3")], Known()
    withheld = {"3": "refused"}

    before = normalise(history, withheld, known)
    after = normalise([*history, said("user")], dict(withheld), known)

    assert len(after) == len(before) + 1
    assert all(one is other for one, other in zip(before, after, strict=False))


def test_a_message_that_nothing_is_withheld_of_is_told_as_it_is():
    """No copies are made of a whole conversation for one picture."""
    history = [said("user"), called("1"), result("1"), said("assistant")]

    assert all(one is other for one, other in zip(normalise(history, {"x.png": "refused"}), history, strict=True))
