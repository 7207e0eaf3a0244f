"""Putting an answer together: blocks in their order, thinking sealed, and the habits of servers that imitate."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.errors import ModelError
from agi.models.anthropic_answer import AnthropicAnswer
from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.failures import Failures
from agi.protocol.ids import is_id
from agi.protocol.messages import Usage

always = settings(derandomize=True, database=None, deadline=None)


def answer() -> AnthropicAnswer:
    return AnthropicAnswer(Failures("anthropic", "m", None))


def event(kind: str, **fields: object) -> bytes:
    return msgspec.json.encode({"type": kind, **fields})


def begins(index: int, kind: str, **fields: object) -> bytes:
    return event("content_block_start", index=index, content_block={"type": kind, **fields})


def adds(index: int, kind: str, **fields: object) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def ends(index: int) -> bytes:
    return event("content_block_stop", index=index)


def stops(reason: object = "end_turn", **fields: object) -> bytes:
    return event("message_delta", delta={"stop_reason": reason, **fields}, usage={"output_tokens": 1})


STOP = event("message_stop")


def a_call(index: int, id: str, arguments: str, name: str = "t") -> list[bytes]:
    pieces = adds(index, "input_json_delta", partial_json=arguments)
    return [begins(index, "tool_use", id=id, name=name, input={}), pieces, ends(index)]


def told(*events: bytes) -> list[StreamItem]:
    taken = answer()
    items = [item for data in events for item in taken.take(data)]
    return [*items, *taken.finish()]


def usage_of(*events: bytes) -> Usage:
    return told(*events)[-1].usage


def test_thinking_is_told_as_it_comes_and_sealed_where_it_ends():
    """The seal holds what its maker wants back with the text, and nothing else."""
    taken = answer()
    taken.take(begins(0, "thinking", thinking="", signature=""))

    assert list(taken.take(adds(0, "thinking_delta", thinking="hm"))) == [ReasoningDelta("hm")]
    assert list(taken.take(adds(0, "signature_delta", signature="a+/="))) == []
    assert list(taken.take(ends(0))) == [ReasoningSealed('{"type":"thinking","signature":"a+/="}')]


def test_thinking_that_is_not_shown_is_sealed_all_the_same():
    """A block may have a signature and no text."""
    items = told(begins(0, "thinking", thinking=""), adds(0, "signature_delta", signature="s"), ends(0), stops())

    assert items[:-1] == [ReasoningSealed('{"type":"thinking","signature":"s"}')]


def test_redacted_thinking_is_a_seal_alone():
    """Nobody can read it; it is kept to be sent back."""
    items = told(begins(0, "redacted_thinking", data="opaque=="), ends(0), stops())

    assert items[:-1] == [ReasoningSealed('{"type":"redacted_thinking","data":"opaque=="}')]


def test_two_thinking_blocks_stay_two():
    """Also where the first has no signature: its words must not run into the second's."""
    items = told(
        *(begins(0, "thinking"), adds(0, "thinking_delta", thinking="one"), ends(0)),
        *(begins(1, "thinking"), adds(1, "thinking_delta", thinking="two")),
        *(adds(1, "signature_delta", signature="s"), ends(1), stops()),
    )

    assert items[:-1] == [
        ReasoningDelta("one"),
        ReasoningSealed('{"type":"thinking","signature":""}'),
        ReasoningDelta("two"),
        ReasoningSealed('{"type":"thinking","signature":"s"}'),
    ]


def test_an_empty_thinking_block_is_nothing():
    """Neither words nor a signature: there is nothing to keep."""
    assert told(begins(0, "thinking", thinking="", signature=""), ends(0), stops())[:-1] == []


def test_calls_wait_for_the_end_and_keep_their_place():
    """What comes after a call waits behind it: no call is made by a stream that breaks off, and none moves."""
    taken = answer()
    taken.take(begins(0, "text", text=""))
    assert list(taken.take(adds(0, "text_delta", text="see"))) == [TextDelta("see")]
    late = [ends(0), *a_call(1, "a", "{}"), begins(2, "thinking"), adds(2, "thinking_delta", thinking="so")]
    late += [adds(2, "signature_delta", signature="s"), ends(2), *a_call(3, "b", '{"x":1}'), stops("tool_use"), STOP]

    assert [item for data in late for item in taken.take(data)] == []
    assert taken.finish() == [
        CallMade("a", "t", "{}"),
        ReasoningDelta("so"),
        ReasoningSealed('{"type":"thinking","signature":"s"}'),
        CallMade("b", "t", '{"x":1}'),
        Finished(stop_reason="tool_calls", usage=Usage(output_tokens=1, requests=1)),
    ]


arguments = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5)


@always
@given(st.lists(arguments, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_argument_pieces_of_parallel_calls_may_come_in_any_interleaving(pieces, random):
    """Each call gets exactly its own pieces, in order, and calls come out as they began."""
    queues = [list(parts) for parts in pieces]
    events = [begins(i, "tool_use", id=f"id{i}", name=f"tool{i}") for i in range(len(queues))]
    while any(queues):
        index = random.choice([i for i, queue in enumerate(queues) if queue])
        events.append(adds(index, "input_json_delta", partial_json=queues[index].pop(0)))

    assert told(*events, stops())[:-1] == [
        CallMade(f"id{i}", f"tool{i}", "".join(parts)) for i, parts in enumerate(pieces)
    ]


@always
@given(st.lists(st.sampled_from(["", "a", "b", "toolu_1", "\x00bad", "x" * 500]), min_size=1, max_size=8))
def test_ids_are_always_there_and_never_twice(ids):
    """Empty, repeated and unfit ids are replaced; the rest stay as the server gave them."""
    made = told(*(data for i, id in enumerate(ids) for data in a_call(i, id, "{}")), stops())[:-1]

    got = [item.id for item in made]
    assert len(set(got)) == len(ids)
    for position, (given_id, id) in enumerate(zip(ids, got, strict=True)):
        kept = given_id in {"a", "b", "toolu_1"} and given_id not in ids[:position]
        assert id == given_id if kept else is_id(id, "call")


def test_a_call_without_pieces_has_the_input_it_began_with():
    """No arguments are an empty object; some servers write all of them at once."""
    whole = msgspec.Raw(b'{"n": 1.50}')
    items = told(
        begins(0, "tool_use", id="a", name="t", input={}), begins(1, "tool_use", id="b", name="t", input=whole), stops()
    )

    assert [item.arguments for item in items[:-1]] == ["{}", '{"n": 1.50}']


def test_arguments_are_passed_on_as_written():
    """Checking them is not done here, so that the model can be told what was wrong."""
    for written in ("null", "[1]", '{"a":', '{"a":1} and more', '{"a":NaN}', "[" * 100_000):
        assert told(*a_call(0, "a", written), stops())[0].arguments == written


def test_an_event_that_comes_twice_makes_no_second_call():
    """A network that repeats itself must not do things twice."""
    begun, pieces, ended = a_call(0, "a", '{"x":1}')
    items = told(begun, begun, pieces, ended, begun, ended, stops(), stops(), STOP, STOP)

    assert [item for item in items if isinstance(item, CallMade)] == [CallMade("a", "t", '{"x":1}')]


def test_blocks_counted_as_one_are_told_apart():
    """Some servers give every block the index 0, or none, or do not say where one ends."""
    events = [begins(0, "text", text="a"), *a_call(0, "x", "{}"), *a_call(0, "y", "[]"), stops()]
    uncounted = [data.replace(b'"index":0,', b"") for data in events if b"block_stop" not in data]

    assert told(*events)[:-1] == [TextDelta("a"), CallMade("x", "t", "{}"), CallMade("y", "t", "[]")]
    assert told(*uncounted) == told(*events)


def test_deltas_without_a_beginning_are_not_lost_if_they_can_be_told():
    """Words are words; a call without a name is none."""
    items = told(
        adds(0, "text_delta", text="a"),
        adds(1, "thinking_delta", thinking="b"),
        adds(2, "input_json_delta", partial_json="{}"),
        adds(3, "signature_delta", signature="s"),
        stops(),
    )

    assert items[:-1] == [TextDelta("a"), ReasoningDelta("b")]


def test_what_is_not_known_is_passed_over():
    """Events, blocks and deltas that come with later versions break nothing."""
    items = told(
        event("message_start", message={"usage": None}),
        event("something_new", x=[1]),
        begins(0, "server_tool_use", id="s", name="web_search", input={}),
        adds(0, "input_json_delta", partial_json='{"query":1}'),
        ends(0),
        begins(1, "text", text="a", citations=None),
        adds(1, "citations_delta", citation={}),
        adds(1, "text_delta", text=None),
        event("content_block_delta", index=1),
        event("content_block_start", index=2),
        b"{}",
        b"",
        stops(),
    )

    assert items[:-1] == [TextDelta("a")]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("pause_turn", "end_turn"),
        ("tool_use", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("something_new", "end_turn"),
        (7, "end_turn"),
    ],
)
def test_every_stop_reason_has_its_word(said, reason):
    """Without calls `tool_use` is an ordinary end; unknown words are too."""
    assert told(stops(said), STOP)[-1].stop_reason == reason


@pytest.mark.parametrize(("said", "reason"), [("end_turn", "tool_calls"), ("max_tokens", "max_tokens")])
def test_calls_decide_what_a_plain_end_means(said, reason):
    """A length limit stays one, as the arguments may be cut."""
    items = told(*a_call(0, "a", '{"comm'), stops(said))

    assert (items[0].arguments, items[1].stop_reason) == ('{"comm', reason)


def test_what_a_refused_answer_asked_for_is_not_done():
    """A provider that stops an answer stops its calls too; why it did is shown, if it says so."""
    details = {"type": "refusal", "category": "cyber", "explanation": "This could do harm."}
    items = told(*a_call(0, "a", "{}"), stops("refusal", stop_details=details))

    assert items[:-1] == [TextDelta("This could do harm.")]
    assert items[-1].stop_reason == "refusal"


@pytest.mark.parametrize("details", [None, {}, {"explanation": None}, "no", 7])
def test_a_refusal_may_have_no_words(details):
    """Then there is nothing to show."""
    assert len(told(stops("refusal", stop_details=details))) == 1


def test_all_input_is_counted_and_what_came_from_the_cache():
    """Anthropic counts fresh, written and read input apart; the later count of each is its total."""
    start = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 1,
    }
    last = {"output_tokens": 42, "output_tokens_details": {"thinking_tokens": 30}}
    begun = event("message_start", message={"usage": start})

    assert usage_of(begun, event("message_delta", delta={"stop_reason": "end_turn"}, usage=last)) == Usage(
        input_tokens=3210,
        output_tokens=42,
        cached_tokens=3000,
        cache_write_tokens=200,
        reasoning_tokens=30,
        requests=1,
    )
    assert (
        usage_of(begun, event("message_delta", delta={}, usage={**last, "input_tokens": 90}), STOP).input_tokens == 3290
    )


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": -3, "output_tokens": 2.0}, (0, 2)),
        ({"input_tokens": None, "output_tokens": "many", "output_tokens_details": 7}, (0, 0)),
        (
            {"input_tokens": 10**18, "output_tokens": 0, "output_tokens_details": {"thinking_tokens": None}},
            (1 << 53, 0),
        ),
    ],
)
def test_usage_is_taken_as_far_as_it_is_numbers(usage, counts):
    """What a server says it cost may be missing, negative or absurd; it never breaks an answer."""
    spent = usage_of(event("message_delta", delta={"stop_reason": "end_turn"}, usage=usage))

    assert spent == Usage(input_tokens=counts[0], output_tokens=counts[1], requests=1)


def test_an_answer_without_an_end_cannot_be_finished():
    """Half an answer is never taken for a whole one."""
    taken = answer()
    taken.take(begins(0, "text", text="half"))
    taken.take(event("message_delta", delta={"stop_reason": None}))

    with pytest.raises(ModelError, match="in the middle"):
        taken.finish()


def test_nothing_counts_after_the_end():
    """Whatever a server still sends."""
    taken = answer()
    taken.take(STOP)

    assert list(taken.take(b"garbage")) == []
    assert taken.finish() == [Finished(stop_reason="end_turn", usage=Usage(requests=1))]


@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        ("overloaded_error", "provider_error", True),
        ("api_error", "provider_error", True),
        ("timeout_error", "provider_error", True),
        ("something_new", "provider_error", True),
        ("rate_limit_error", "rate_limited", True),
        ("invalid_request_error", "provider_error", False),
        ("authentication_error", "provider_auth", False),
        ("permission_error", "provider_auth", False),
        ("not_found_error", "model_not_found", False),
        ("request_too_large", "context_overflow", False),
    ],
)
def test_an_error_in_the_stream_says_what_it_is(kind, code, retryable):
    """By its type, with or without an event name; only what may pass is retryable."""
    data = event("error", error={"type": kind, "message": "so it is"}, request_id="req_1")
    for name in ("error", "message"):
        with pytest.raises(ModelError, match="broke off its answer: so it is") as caught:
            answer().take(data, name)
        assert (caught.value.code, caught.value.retryable) == (code, retryable)


@pytest.mark.parametrize("data", [b"plain words", b"null", b"[" * 100_000, b"\xff", b'{"error":"plain words"}'])
def test_an_error_may_have_any_form(data):
    """An event of the name `error` is one, whatever is in it."""
    with pytest.raises(ModelError) as caught:
        answer().take(data, "error")

    assert (caught.value.code, caught.value.retryable) == ("provider_error", True)


def test_a_conversation_that_is_too_long_is_recognised_in_the_stream():
    """So that it can be made shorter instead of asked again."""
    error = {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}
    with pytest.raises(ModelError) as caught:
        answer().take(event("error", error=error), "error")

    assert (caught.value.code, caught.value.retryable) == ("context_overflow", False)


def test_pings_and_the_opening_bring_nothing():
    """A connection that is only kept open is told from one that something comes over."""
    taken = answer()
    for name in ("ping", "message"):
        assert list(taken.take(event("ping"), name)) == []
    taken.take(event("message_start", message={"usage": {"input_tokens": 1}}))

    assert (taken.heard, taken.flowing) == (0, False)


def test_words_flow_and_all_else_may_take_its_time():
    """Between the pieces of a call's arguments whole values are written unseen, and before a block there is thought."""
    taken = answer()
    flowing = []
    for one in (
        event("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
        adds(0, "thinking_delta", thinking="hm"),
        adds(0, "signature_delta", signature="s"),
        event("content_block_start", index=1, content_block={"type": "text", "text": ""}),
        adds(1, "text_delta", text="so"),
        event("content_block_stop", index=1),
        event("content_block_start", index=2, content_block={"type": "tool_use", "id": "a", "name": "shell"}),
        adds(2, "input_json_delta", partial_json='{"command":'),
    ):
        before = taken.heard
        taken.take(one)
        assert taken.heard > before
        flowing.append(taken.flowing)

    assert flowing == [False, False, False, False, True, False, False, False]


def test_an_answer_that_filled_the_context_window_is_told_as_such():
    """So that the conversation is made shorter, and not taken for an answer that was only long."""
    with pytest.raises(ModelError) as caught:
        told(adds(0, "text_delta", text="half"), stops("model_context_window_exceeded"), STOP)

    assert (caught.value.code, caught.value.retryable) == ("context_overflow", False)


def test_an_answer_in_one_piece_is_the_same_answer():
    """As it comes from a server that does not stream."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "see"},
        {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}},
        {"type": "tool_use", "id": "a", "name": "t", "input": {}},
    ]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 5}
    taken = answer()
    items = list(taken.take_whole(event("message", content=content, stop_reason="tool_use", usage=usage)))
    items += taken.finish()

    assert items[:5] == [
        ReasoningDelta("hm"),
        ReasoningSealed('{"type":"thinking","signature":"s"}'),
        ReasoningSealed('{"type":"redacted_thinking","data":"d"}'),
        TextDelta("see"),
        CallMade("a", "t", '{"x":1}'),
    ]
    assert is_id(items[5].id, "call")
    assert items[6] == Finished(
        stop_reason="tool_calls", usage=Usage(input_tokens=5, output_tokens=5, cached_tokens=2, requests=1)
    )


def test_a_body_that_is_no_answer_is_an_error():
    """An error sent with status 200, or anything else."""
    for body in (event("error", error={"type": "overloaded_error", "message": "x"}), b"{}", b"nonsense", b"[]"):
        with pytest.raises(ModelError) as caught:
            answer().take_whole(body)
        assert caught.value.retryable


@always
@given(st.binary(max_size=200), st.sampled_from(["message", "error", "ping"]))
def test_any_bytes_give_items_or_a_typed_error(data, kind):
    """Whatever a server sends, nothing else is raised."""
    with suppress(ModelError):
        assert all(item is not None for item in answer().take(data, kind))
    with suppress(ModelError):
        answer().take_whole(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "text", "tool_use", "thinking", "end_turn"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@always
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    [
                        "message_start",
                        "content_block_start",
                        "content_block_delta",
                        "content_block_stop",
                        "message_delta",
                    ]
                )
            },
            optional=dict.fromkeys(("index", "content_block", "delta", "message", "usage"), json_values),
        ),
        max_size=6,
    )
)
def test_events_of_any_shape_give_items_or_a_typed_error(events):
    """Fields of the wrong type are met too."""
    taken = answer()
    with suppress(ModelError):
        for data in events:
            taken.take(msgspec.json.encode(data))
        taken.finish()
