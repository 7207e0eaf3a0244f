"""Putting an answer together: argument deltas in any order, and the habits of servers met in the wild."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.failures import Failures
from agi.models.openai_chat_answer import ChatAnswer
from agi.protocol.ids import is_id
from agi.protocol.messages import Usage


def answer() -> ChatAnswer:
    return ChatAnswer(Failures("local", "m", None))


def delta(**fields: object) -> bytes:
    return msgspec.json.encode({"choices": [{"index": 0, "delta": fields}]})


def call(index: int | None, id: object = None, name: object = None, arguments: object = None) -> dict[str, object]:
    fields: dict[str, object] = {"id": id, "function": {"name": name, "arguments": arguments}}
    return fields if index is None else {"index": index, **fields}


def finished(*deltas: bytes) -> list[CallMade]:
    taken = answer()
    for data in deltas:
        taken.take(data)
    taken.take(b"[DONE]")
    *made, last = taken.finish()
    assert isinstance(last, Finished)
    assert last.stop_reason == ("tool_calls" if made else "end_turn")
    return made


arguments = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5)


@given(st.lists(arguments, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_argument_pieces_of_parallel_calls_may_come_in_any_interleaving(pieces, random):
    """Each call gets exactly its own pieces, in order, and calls come out by index."""
    queues = [list(parts) for parts in pieces]
    deltas = [delta(tool_calls=[call(i, f"id{i}", f"tool{i}", "")]) for i in range(len(queues))]
    while any(queues):
        index = random.choice([i for i, queue in enumerate(queues) if queue])
        deltas.append(delta(tool_calls=[call(index, arguments=queues[index].pop(0))]))

    assert finished(*deltas) == [CallMade(f"id{i}", f"tool{i}", "".join(parts)) for i, parts in enumerate(pieces)]


@given(st.lists(st.sampled_from(["", "a", "b", "call_1", "\x00bad", "x" * 500]), min_size=1, max_size=8))
def test_ids_are_always_there_and_never_twice(ids):
    """Empty, repeated and unfit ids are replaced; the rest stay as the server gave them."""
    made = finished(delta(tool_calls=[call(i, id, "t", "{}") for i, id in enumerate(ids)]))

    got = [item.id for item in made]
    assert len(set(got)) == len(ids)
    for position, (given_id, id) in enumerate(zip(ids, got, strict=True)):
        kept = given_id in {"a", "b", "call_1"} and given_id not in ids[:position]
        assert id == given_id if kept else is_id(id, "call")


def test_calls_come_out_by_index():
    """A call announced later but counted earlier comes first."""
    made = finished(delta(tool_calls=[call(1, "b", "second", "{}")]), delta(tool_calls=[call(0, "a", "first", "{}")]))

    assert [item.name for item in made] == ["first", "second"]


def test_several_calls_counted_as_one_are_told_apart_by_id():
    """Some servers give every call the index 0."""
    made = finished(
        delta(tool_calls=[call(0, "a", "t", '{"x":')]),
        delta(tool_calls=[call(0, arguments="1}")]),
        delta(tool_calls=[call(0, "b", "t", '{"x":2}')]),
    )

    assert made == [CallMade("a", "t", '{"x":1}'), CallMade("b", "t", '{"x":2}')]


def test_calls_without_an_index_are_told_apart_by_name_or_id():
    """Others do not count at all."""
    made = finished(
        delta(tool_calls=[call(None, "a", "t", "{"), call(None, "a", "t", "}")]),
        delta(tool_calls=[call(None, "b", "t", "{}")]),
        delta(tool_calls=[call(None, None, "u", "[]")]),
    )

    assert [(item.name, item.arguments) for item in made] == [("t", "{}"), ("t", "{}"), ("u", "[]")]


def test_a_new_id_in_every_delta_does_not_make_a_new_call():
    """Some servers make up an id each time; without a name it goes on."""
    made = finished(delta(tool_calls=[call(0, "a", "t", "{")]), delta(tool_calls=[call(0, "z", None, "}")]))

    assert made == [CallMade("a", "t", "{}")]


def test_a_name_may_be_repeated_or_come_in_pieces():
    """Both happen; neither doubles the name nor loses half of it."""
    repeated = finished(*(delta(tool_calls=[call(0, "a", "shell", piece)]) for piece in ("", "{", "}")))
    pieces = finished(*(delta(tool_calls=[call(0, "a", piece, "")]) for piece in ("read", "_file")))

    assert repeated == [CallMade("a", "shell", "{}")]
    assert pieces == [CallMade("a", "read_file", "")]


def test_arguments_are_passed_on_as_written():
    """Checking them is not done here, so that the model can be told what was wrong."""
    for written in ("", "null", "[1]", '{"a":', '{"a":1} and more', '{"a":NaN}', "[" * 100_000):
        assert finished(delta(tool_calls=[call(0, "a", "t", written)])) == [CallMade("a", "t", written)]


def test_arguments_sent_as_an_object_are_written_out():
    """A few servers send the object itself."""
    assert finished(delta(tool_calls=[call(0, "a", "t", {"x": [1]})])) == [CallMade("a", "t", '{"x":[1]}')]


def test_a_hundred_parallel_calls_stay_apart():
    """Their number is nobody's limit here."""
    made = finished(delta(tool_calls=[call(i, f"id{i}", "t", str(i)) for i in range(100)]))

    assert [item.arguments for item in made] == [str(i) for i in range(100)]


def everything(*deltas: bytes) -> list[StreamItem]:
    taken = answer()
    items = [item for data in (*deltas, b"[DONE]") for item in taken.take(data)]
    return [*items, *taken.finish()]


END = Finished(stop_reason="end_turn", usage=Usage(requests=1))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_sealed_with_the_field_it_came_in(field):
    """Servers disagree on its name and refuse the other; the seal says under which it is to go back."""
    seal = ReasoningSealed(f"chat:{field}")

    assert everything(delta(**{field: "h"}), delta(**{field: "m", "content": ""}), delta(content="yes")) == [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        seal,
        TextDelta("yes"),
        END,
    ]
    assert everything(delta(**{field: "hm", "content": "yes"})) == [ReasoningDelta("hm"), seal, TextDelta("yes"), END]


def test_reasoning_that_leads_to_a_call_is_sealed_before_it():
    """The seal comes at the end of the answer where no text comes before."""
    items = everything(delta(reasoning="hm"), delta(tool_calls=[call(0, "a", "t", "{}")]))

    assert items[:3] == [ReasoningDelta("hm"), ReasoningSealed("chat:reasoning"), CallMade("a", "t", "{}")]


def test_reasoning_under_both_names_is_told_once():
    """Some send the same words twice."""
    assert answer().take(delta(reasoning="hm", reasoning_content="hm")) == (ReasoningDelta("hm"),)


def test_reasoning_details_are_joined_and_sealed_as_a_whole():
    """OpenRouter's pieces of one detail become one, with its signature; whatever is no detail is passed over."""
    text = {"type": "reasoning.text", "index": 0, "format": "x", "signature": None}
    sealed = {"type": "reasoning.encrypted", "index": 1, "data": "blob"}
    *_, seal, end = everything(
        delta(reasoning="a", reasoning_details=[{**text, "text": "a"}]),
        delta(reasoning="b", reasoning_details=[{**text, "text": "b"}, 7]),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "signature": "sig"}, sealed]),
        delta(content="yes", reasoning_details="none"),
    )

    assert end == END
    assert msgspec.json.decode(seal.signature.removeprefix("chat:")) == [
        {"type": "reasoning.text", "index": 0, "format": "x", "text": "ab", "signature": "sig"},
        sealed,
    ]


def test_reasoning_may_stand_in_a_list_of_content_parts():
    """As Mistral sends it."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}

    taken = answer().take(delta(content=[thinking, {"type": "text", "text": "yes"}]))

    assert taken == (ReasoningDelta("hm"), TextDelta("yes"))


def test_content_may_be_a_list_of_parts():
    """As in messages, so in deltas of some servers."""
    assert answer().take(delta(content=[{"type": "text", "text": "a"}, {"text": "b"}, 7])) == (TextDelta("ab"),)


def test_a_refusal_is_text_and_an_ending():
    """What a model says when it will not is shown, and the turn knows why it ended."""
    taken = answer()
    assert taken.take(delta(content=None, refusal="I will not.")) == (TextDelta("I will not."),)
    taken.take(b"[DONE]")

    assert taken.finish() == [Finished(stop_reason="refusal", usage=Usage(requests=1))]


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, (3, 2)),
        ({"prompt_tokens": -3, "completion_tokens": 2.0}, (0, 2)),
        ({"prompt_tokens": None, "completion_tokens": "many", "prompt_tokens_details": None}, (0, 0)),
        ({"prompt_tokens": 10**18, "completion_tokens": 0}, (1 << 53, 0)),
        ({"prompt_tokens": [7], "completion_tokens": 2, "completion_tokens_details": "none"}, (0, 2)),
        ("a lot", (0, 0)),
    ],
)
def test_usage_is_taken_as_far_as_it_is_numbers(usage, counts):
    """What a server says it cost may be missing, negative or absurd; it never breaks an answer."""
    taken = answer()
    taken.take(msgspec.json.encode({"choices": [], "usage": usage}))
    taken.take(b"[DONE]")

    assert taken.finish()[-1].usage == Usage(input_tokens=counts[0], output_tokens=counts[1], requests=1)


def test_empty_chunks_bring_nothing_and_only_words_and_calls_flow():
    """A connection that is only kept open is told from one that something comes over; thinking takes its time."""
    taken = answer()
    for empty in (delta(), delta(content=""), delta(role="assistant"), b'{"choices":[]}', b'{"usage":{}}'):
        taken.take(empty)
    assert (taken.heard, taken.flowing) == (0, False)

    seen = []
    for said in (
        delta(reasoning_content="hm"),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "x"}]),
        delta(content="so"),
        delta(reasoning="hm"),
        delta(tool_calls=[call(0, "a", "shell", "")]),
    ):
        before = taken.heard
        taken.take(said)
        assert taken.heard > before
        seen.append(taken.flowing)
    assert seen == [False, False, True, False, True]


@pytest.mark.parametrize("reason", ["model_length", "model_context_window_exceeded"])
def test_an_answer_that_filled_the_context_window_is_told_as_such(reason):
    """So that the conversation is made shorter, and not taken for an answer that was only long."""
    taken = answer()
    taken.take(msgspec.json.encode({"choices": [{"delta": {"content": "half"}, "finish_reason": reason}]}))

    with pytest.raises(ModelError) as caught:
        taken.finish()
    assert (caught.value.code, caught.value.retryable) == ("context_overflow", False)


@pytest.mark.parametrize("body", [b"{}", b'{"choices":[]}', b'{"choices":[{"message":{"content":""}}]}'])
def test_a_whole_body_with_nothing_in_it_is_no_answer(body):
    """An empty answer would end the turn as if the model had nothing to say."""
    taken = answer()
    taken.take_whole(body)

    with pytest.raises(ModelError) as caught:
        taken.finish()
    assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)


def test_an_answer_without_an_end_cannot_be_finished():
    """Half an answer is never taken for a whole one."""
    taken = answer()
    taken.take(delta(content="half"))

    with pytest.raises(ModelError, match="in the middle"):
        taken.finish()


@given(st.binary(max_size=200))
def test_any_bytes_give_items_or_a_typed_error(data):
    """Whatever a server sends, nothing else is raised."""
    with suppress(ModelError):
        assert isinstance(answer().take(data), tuple)
