"""Putting an answer in OpenAI's Responses format together: pieces in any order, and the habits of servers."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.openai_responses_answer import ResponsesAnswer
from agi.models.openai_responses_failures import ResponsesFailures
from agi.protocol.ids import is_id
from agi.protocol.messages import Usage

TEXT = "response.output_text.delta"
SUMMARY = "response.reasoning_summary_text.delta"
WRITTEN = "response.function_call_arguments.delta"


def answer() -> ResponsesAnswer:
    return ResponsesAnswer(ResponsesFailures("local", "m", None))


def event(kind: str, **fields: object) -> bytes:
    return msgspec.json.encode({"type": kind, **fields})


def added(index: int | None, **item: object) -> bytes:
    return event("response.output_item.added", output_index=index, item=item)


def done(index: int | None, **item: object) -> bytes:
    return event("response.output_item.done", output_index=index, item=item)


def a_call(id: str | None, call_id: object, name: object = "t", arguments: object = "") -> dict[str, object]:
    return {"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments}


def a_message(*parts: dict[str, object], **fields: object) -> dict[str, object]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [*parts], **fields}


def text(words: str) -> dict[str, object]:
    return {"type": "output_text", "text": words, "annotations": []}


def completed(*output: object, status: object = "completed", **fields: object) -> bytes:
    response = {"id": "resp_1", "status": status, "output": [*output], **fields}
    return event(f"response.{status}", response=response)


def heard(*events: bytes) -> list[StreamItem]:
    """Everything but how it ended."""
    taken = answer()
    items = [item for data in events for item in taken.take(data)]
    if not taken.done:
        items += taken.take(completed())
    items += taken.finish()
    assert isinstance(items[-1], Finished)
    return items[:-1]


def ending(*events: bytes) -> Finished:
    taken = answer()
    for data in events:
        taken.take(data)
    return taken.finish()[-1]


def failure(*events: bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ending(*events)
    return caught.value


pieces = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5)


@given(st.lists(pieces, min_size=1, max_size=6), st.sampled_from(["both", "index", "id"]), st.randoms())
def test_argument_pieces_of_parallel_calls_may_come_in_any_interleaving(written, named, random):
    """Each call gets exactly its own pieces, by index, by id or by both; calls come out in the order they began."""
    queues = [list(parts) for parts in written]
    events = [added(i if named != "id" else None, **a_call(f"fc{i}", f"c{i}")) for i in range(len(queues))]
    while any(queues):
        i = random.choice([i for i, queue in enumerate(queues) if queue])
        place = {"output_index": i if named != "id" else None, "item_id": f"fc{i}" if named != "index" else None}
        events.append(event(WRITTEN, **place, delta=queues[i].pop(0)))

    assert heard(*events) == [CallMade(f"c{i}", "t", "".join(parts)) for i, parts in enumerate(written)]


def test_a_call_is_told_in_its_place_as_soon_as_it_is_whole():
    """Thoughts stand before the call they led to, and a later one does not overtake an earlier one."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    items = heard(
        done(0, **thought),
        added(1, **a_call("fc1", "c1")),
        done(1, **a_call("fc1", "c1", "t", "{}")),
        done(2, **{**thought, "id": "rs_2"}),
        added(3, **a_call("fc3", "c3")),
        added(4, **a_call("fc4", "c4")),
        done(4, **a_call("fc4", "c4", "t", "4")),
        done(3, **a_call("fc3", "c3", "t", "3")),
    )

    told = [item.id if isinstance(item, CallMade) else msgspec.json.decode(item.signature)["id"] for item in items]
    assert told == ["rs_1", "c1", "rs_2", "c3", "c4"]


@given(st.lists(st.sampled_from(["", "a", "b", None, 7, "\x00bad", "x" * 500]), min_size=1, max_size=8))
def test_ids_are_always_there_and_never_twice(ids):
    """Empty, repeated and unfit ids are replaced; the rest stay as the server gave them."""
    items = heard(*(done(i, **a_call(f"fc{i}", id, "t", str(i))) for i, id in enumerate(ids)))

    got = [item.id for item in items]
    assert len(set(got)) == len(ids)
    for position, (given_id, id) in enumerate(zip(ids, got, strict=True)):
        kept = given_id in {"a", "b"} and given_id not in ids[:position]
        assert id == given_id if kept else is_id(id, "call")


A, B = ('{"x":1}', '{"y":2}')
TWO = [CallMade("c1", "t", A), CallMade("c2", "u", B)]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(
            [
                *(added(0, **a_call("f1", "c1")), event(WRITTEN, output_index=0, item_id="f1", delta=A[:3])),
                *(added(0, **a_call("f2", "c2", "u")), event(WRITTEN, output_index=0, item_id="f2", delta=B[:3])),
                event(WRITTEN, output_index=0, item_id="f1", delta=A[3:]),
                event(WRITTEN, output_index=0, item_id="f2", delta=B[3:]),
            ],
            id="one index for all",
        ),
        pytest.param(
            [
                *(added(0, **a_call("p", "c1")), added(1, **a_call("q", "c2", "u"))),
                event(WRITTEN, output_index=1, item_id="r", delta=B),
                event(WRITTEN, output_index=0, item_id="s", delta=A),
                *(done(0, **a_call("v", "c1", "t", A)), done(1, **a_call("w", "c2", "u", B))),
            ],
            id="another id in every event",
        ),
        pytest.param(
            [
                *(added(0, **a_call("f", "c1")), event(WRITTEN, output_index=0, item_id="f", delta=A)),
                done(0, **a_call("f", "c1", "t", A)),
                *(added(1, **a_call("f", "c2", "u")), event(WRITTEN, output_index=1, item_id="f", delta=B)),
                done(1, **a_call("f", "c2", "u", B)),
            ],
            id="one id for all",
        ),
        pytest.param(
            [
                *(added(None, **a_call(None, "c1")), event(WRITTEN, delta=A), done(None, **a_call(None, "c1"))),
                *(added(None, **a_call(None, "c2", "u")), event(WRITTEN, delta=B)),
                done(None, **a_call(None, "c2", "u")),
            ],
            id="neither index nor id",
        ),
        pytest.param(
            [done(0, **a_call(None, "c1", "t", A)), done(0, **a_call(None, "c2", "u", B))],
            id="whole items only",
        ),
        pytest.param(
            [
                *(event(WRITTEN, output_index=0, item_id="f1", delta=A), done(0, **a_call("f1", "c1", "t", A))),
                event("response.function_call_arguments.done", output_index=1, item_id="f2", arguments=B),
                done(1, **a_call("f2", "c2", "u")),
            ],
            id="never announced",
        ),
        pytest.param(
            [
                *(added(0, **a_call("f1", "c1")), event(WRITTEN, output_index=0, item_id="f1", delta=A[:4])),
                completed(a_call("f1", "c1", "t", A), None, a_call("f2", "c2", "u", B)),
            ],
            id="whole only at the end",
        ),
        pytest.param(
            [
                done(0, **a_call("f1", "c1", "t", A)),
                completed(a_call("z1", "c1", "t", A), a_call("z2", "c2", "u", B)),
            ],
            id="one more at the end",
        ),
        pytest.param(
            [
                *(added(0, **a_call("f1", "c1", "t", A)), added(1, **a_call("f2", "c2", "u", {"y": 2}))),
                completed(),
            ],
            id="all in the announcement",
        ),
        pytest.param(
            [
                *(added(0, **a_call("f1", "c1", "t", "{}")), event(WRITTEN, output_index=0, delta=A)),
                *(added(1, **a_call("f2", "c2", "u", "{}")), event(WRITTEN, output_index=1, delta=B)),
            ],
            id="a placeholder in the announcement",
        ),
        pytest.param([completed(a_call("f1", "c1", "t", A), a_call("f2", "c2", "u", B))], id="the last event only"),
    ],
)
def test_calls_are_told_apart_whatever_a_server_calls_them(events):
    """All of these are met in the wild; none loses a call or makes one of two."""
    assert heard(*events) == TWO


def test_a_call_that_is_ended_twice_is_one_call():
    """Also where the events are not counted."""
    ended = done(0, **a_call("f1", "c1", "t", A))

    assert heard(ended, ended, completed(a_call("f1", "c1", "t", A))) == TWO[:1]


def test_events_that_come_twice_count_once_where_they_are_counted():
    """The same bytes with the same number are the same event."""
    opening = event("response.created", sequence_number=0)
    first = event(TEXT, delta="a", sequence_number=1)
    second = event(TEXT, delta="a", sequence_number=2)
    call = added(1, **a_call("f1", "c1"))[:-1] + b',"sequence_number":3}'

    assert heard(opening, first, first, second, first, call, call) == [
        TextDelta("a"),
        TextDelta("a"),
        CallMade("c1", "t", ""),
    ]


@pytest.mark.parametrize("number", [None, 0, -1, "x"])
def test_equal_deltas_all_count_where_events_are_not_counted(number):
    """A server that gives every event the same number does not lose half of `haha`."""
    delta = event(TEXT, delta="ha", sequence_number=number)

    assert heard(delta, delta) == [TextDelta("ha"), TextDelta("ha")]


def test_arguments_are_passed_on_as_written():
    """Checking them is not done here, so that the model can be told what was wrong."""
    for written in ("null", "[1]", '{"a":', '{"a":1} and more', '{"a":NaN}', "[" * 100_000):
        assert heard(done(0, **a_call("f", "c", "t", written))) == [CallMade("c", "t", written)]


def test_what_was_said_in_deltas_is_not_said_again():
    """Items and the last event repeat everything; only what was missing is added."""
    whole = a_message(text("one two"), text(" three"))

    assert heard(event(TEXT, delta="one "), done(0, **whole), completed(whole)) == [
        TextDelta("one "),
        TextDelta("two three"),
    ]
    assert heard(event(TEXT, delta="other words"), done(0, **whole)) == [TextDelta("other words")]
    assert heard(done(0, **whole), done(0, **whole), completed(whole)) == [TextDelta("one two three")]
    assert heard(completed(whole)) == [TextDelta("one two three")]


def test_two_messages_are_both_said():
    """An answer may speak, call and speak again."""
    one, two = a_message(text("one")), a_message(text("two"))

    assert heard(event(TEXT, delta="one"), done(0, **one), event(TEXT, delta="two"), done(1, **two)) == [
        TextDelta("one"),
        TextDelta("two"),
    ]
    assert heard(completed(one, a_call("f", "c"), two)) == [TextDelta("one"), CallMade("c", "t", ""), TextDelta("two")]


def test_content_may_be_plain_text():
    """As in requests, so in answers of some servers."""
    assert heard(done(0, type="message", content="hello")) == [TextDelta("hello")]


def test_a_summary_in_parts_is_told_in_paragraphs():
    """And sealed with all that has to be handed back, and nothing else."""
    summary = [{"type": "summary_text", "text": words} for words in ("**One**", "", "Two")]
    item = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAA", "status": None}
    items = heard(
        added(0, type="reasoning", id="rs_1", summary=[]),
        event(SUMMARY, summary_index=0, delta="**One"),
        event(SUMMARY, summary_index=0, delta="**"),
        event(SUMMARY, summary_index=2, delta="Two"),
        done(0, **item),
    )

    assert items[:-1] == [ReasoningDelta("**One"), ReasoningDelta("**"), ReasoningDelta("\n\nTwo")]
    assert heard(done(0, **item))[:-1] == [ReasoningDelta("**One**\n\nTwo")]
    assert msgspec.json.decode(items[-1].signature) == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": summary,
        "encrypted_content": "gAAA",
    }


def test_thoughts_themselves_are_told_and_handed_back():
    """Servers of open models send them plainly; a summary of the same thoughts is not told besides."""
    content = [{"type": "reasoning_text", "text": "hm so"}]
    items = heard(
        event("response.reasoning_text.delta", item_id="a", content_index=0, delta="hm "),
        event("response.reasoning_text.delta", item_id="b", content_index=0, delta="so"),
        event(SUMMARY, summary_index=0, delta="It thinks."),
        done(0, type="reasoning", id="rs_1", summary=[], content=content, encrypted_content=None),
    )

    assert items[:-1] == [ReasoningDelta("hm "), ReasoningDelta("so")]
    assert msgspec.json.decode(items[-1].signature) == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": content,
    }


def test_thoughts_that_cannot_be_handed_back_are_not_sealed():
    """An id alone would be refused with the next request."""
    summary = [{"type": "summary_text", "text": "hm"}]

    assert heard(done(0, type="reasoning", id="rs_1", summary=summary)) == [ReasoningDelta("hm")]


def test_a_phase_is_marked_before_its_text_and_once():
    """Some models want their words back with the phase they belong to."""
    one = a_message(text("one"), phase="commentary")
    two = a_message(text("two"), phase="final_answer")
    items = heard(added(0, **one), event(TEXT, delta="one"), done(0, **one), done(1, **two), completed(one, two))

    assert items == [
        ReasoningSealed('{"type":"message","phase":"commentary"}'),
        TextDelta("one"),
        ReasoningSealed('{"type":"message","phase":"final_answer"}'),
        TextDelta("two"),
    ]


def test_a_refusal_is_text_and_an_ending():
    """What a model says when it will not is shown, and the turn knows why it ended."""
    whole = a_message({"type": "refusal", "refusal": "I will not."})
    streamed = event("response.refusal.delta", delta="I will not.")

    assert heard(streamed, done(0, **whole)) == heard(completed(whole)) == [TextDelta("I will not.")]
    assert ending(streamed, completed(whole)).stop_reason == "refusal"
    assert ending(completed(whole)).stop_reason == "refusal"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (completed(a_message(text("x"))), "end_turn"),
        (completed(a_call("f", "c")), "tool_calls"),
        (completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "max_tokens"),
        (completed(a_call("f", "c"), status="incomplete"), "max_tokens"),
        (completed(status="incomplete", incomplete_details={"reason": "content_filter"}), "refusal"),
        (event("response.completed"), "end_turn"),
        (event("response.incomplete", response={"status": 7}), "max_tokens"),
    ],
)
def test_every_status_has_its_word(last, reason):
    """A length limit stays one even where there are calls, as arguments may be cut."""
    assert ending(last).stop_reason == reason


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": 3, "output_tokens": 2}, (3, 2, 0, 0)),
        (
            {
                "input_tokens": 30,
                "input_tokens_details": {"cached_tokens": 20},
                "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 5},
            },
            (30, 9, 20, 5),
        ),
        ({"input_tokens": -3, "output_tokens": 2.0, "input_tokens_details": None}, (0, 2, 0, 0)),
        ({"input_tokens": None, "output_tokens": "many"}, (0, 0, 0, 0)),
        ({"input_tokens": 10**18, "output_tokens": 0}, (1 << 53, 0, 0, 0)),
        (None, (0, 0, 0, 0)),
    ],
)
def test_usage_is_taken_as_far_as_it_is_numbers(usage, counts):
    """What a server says it cost may be missing, negative or absurd; it never breaks an answer."""
    read, written, cached, reasoning = counts

    assert ending(completed(usage=usage)).usage == Usage(
        input_tokens=read, output_tokens=written, cached_tokens=cached, reasoning_tokens=reasoning, requests=1
    )


def test_done_alone_ends_an_answer_with_nothing_half_done():
    """OpenAI never says it; a server that does without a last event has ended, unless a call is still open."""
    assert heard(event(TEXT, delta="x"), b"[DONE]") == [TextDelta("x")]
    assert failure(event(TEXT, delta="x"), added(0, **a_call("f", "c")), b"[DONE]").code == "stream_cut"
    assert failure(b"[DONE]").code == "stream_cut"


def test_an_answer_without_an_end_cannot_be_finished():
    """Half an answer is never taken for a whole one, not even where its items are whole."""
    assert failure(event(TEXT, delta="half"), done(0, **a_message(text("half")))).code == "stream_cut"
    assert failure(added(0, **a_call("f", "c"))).code == "stream_cut"


def test_nothing_counts_after_the_end():
    """Not even an error."""
    taken = answer()
    taken.take(completed(a_message(text("x"))))

    assert taken.take(event(TEXT, delta="more")) == ()
    assert taken.take(event("error", message="late")) == ()
    assert taken.finish()[-1].stop_reason == "end_turn"


@pytest.mark.parametrize(
    "data",
    [
        event("response.created", response={"status": "in_progress", "output": [], "tools": [{"x": 1}]}),
        event("response.queued", response=None),
        event("keepalive", sequence_number=3),
        event("response.output_text.annotation.added", annotation={"type": "url_citation"}),
        event("response.web_search_call.searching", output_index=0, item_id="ws_1"),
        event("response.output_item.added", item=None),
        event("response.output_item.done", item={"type": "web_search_call", "id": "ws_1"}),
        event("response.something.new", delta={"x": 1}),
        event(TEXT, delta=None),
        event(TEXT, delta=7),
        event(SUMMARY, delta=""),
        event(TEXT),
        b"{}",
        b"",
        b'{"type":null}',
    ],
)
def test_odd_but_harmless_events_are_passed_over(data):
    """Unknown kinds, null and missing fields, other tools' items: nothing of it breaks an answer."""
    assert heard(event(TEXT, delta="a"), data, event(TEXT, delta="b")) == [TextDelta("a"), TextDelta("b")]


def test_a_kind_may_stand_only_in_the_event_s_name():
    """Some servers name the event and not its data."""
    assert answer().take(b'{"delta":"x"}', TEXT) == (TextDelta("x"),)
    with pytest.raises(ModelError):
        answer().take(b"{}", "response.failed")


@pytest.mark.parametrize(
    ("data", "code", "retryable", "wait"),
    [
        (event("error", code="server_error", message="boom", param=None), "provider_error", True, None),
        (event("error", error={"type": "server_error", "message": "boom"}), "provider_error", True, None),
        (event("error"), "provider_error", True, None),
        (b'{"error":"boom"}', "provider_error", True, None),
        (completed(status="failed", error={"code": "server_error", "message": "boom"}), "provider_error", True, None),
        (completed(status="failed"), "provider_error", True, None),
        (completed(status="cancelled"), "provider_error", True, None),
        (event("response.failed", response={"error": {"message": 7}}), "provider_error", True, None),
        (event("error", code="invalid_prompt", message="no"), "provider_error", False, None),
        (
            completed(status="failed", error={"code": "image_parse_error", "message": "bad picture"}),
            "provider_error",
            False,
            None,
        ),
        (event("error", code="bio_policy", message="no"), "provider_error", False, None),
        (event("error", code="context_length_exceeded", message="too long"), "context_overflow", False, None),
        (event("error", code="insufficient_quota", message="pay"), "rate_limited", False, None),
        (
            event("error", code="rate_limit_exceeded", message="Limit reached. Please try again in 1.5s."),
            "rate_limited",
            True,
            1.5,
        ),
        (event("error", code="rate_limit_exceeded", message="try again in 250ms"), "rate_limited", True, 0.25),
        (event("error", code="rate_limit_exceeded", message="Try again in 2m3s"), "rate_limited", True, 123.0),
        (event("error", code="rate_limit_exceeded", message="soon"), "rate_limited", True, None),
        (event("error", code=["x"], message={"y": 1}), "provider_error", True, None),
    ],
)
def test_an_error_in_the_stream_says_what_it_is_and_whether_to_try_again(data, code, retryable, wait):
    """However it is wrapped; how long to wait is in its words only."""
    error = failure(event(TEXT, delta="half"), data)

    assert (error.code, error.retryable, error.retry_after) == (code, retryable, wait)
    assert "local (m)" in error.message


@pytest.mark.parametrize(
    "data",
    [b"{not json}", b"7", b"[]", b'{"item":"x"}', b'{"response":[1]}', b"[" * 100_000, b'{"type":"\xff'],
)
def test_what_is_no_event_breaks_an_answer(data):
    """As one kind of error, that may pass."""
    error = failure(event(TEXT, delta="half"), data)

    assert (error.code, error.retryable) == ("provider_failed", True)


@pytest.mark.parametrize("body", [b"{}", b'{"status":"in_progress"}', b'{"status":"queued","output":[]}'])
def test_a_body_that_is_no_finished_answer_is_a_cut_one(body):
    """A server that answers later has not answered."""
    taken = answer()
    assert taken.take_whole(body) == ()
    with pytest.raises(ModelError) as caught:
        taken.finish()

    assert caught.value.code == "stream_cut"


def test_a_body_that_is_an_error_is_one():
    """Though its status was 200."""
    with pytest.raises(ModelError, match="boom"):
        answer().take_whole(b'{"error":{"message":"boom"}}')


KINDS = [
    "response.output_item.added",
    "response.output_item.done",
    "response.completed",
    TEXT,
    SUMMARY,
    WRITTEN,
]
json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["", "x", "message", "reasoning"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=6,
)
items_of_any_shape = st.dictionaries(
    st.sampled_from(["type", "id", "content", "summary", "encrypted_content", "call_id", "name", "arguments", "phase"]),
    json | st.sampled_from(["message", "reasoning", "function_call"]),
)
fields = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "item": items_of_any_shape | json,
        "response": st.fixed_dictionaries(
            {"output": st.lists(items_of_any_shape, max_size=3) | json}, optional={"status": json, "usage": json}
        )
        | json,
        "delta": json,
        "output_index": json,
        "item_id": json,
        "sequence_number": json,
        "summary_index": json,
        "error": json,
    },
)


@given(st.lists(fields, max_size=6))
def test_events_of_any_shape_give_items_or_a_typed_error(events):
    """Whatever a server puts where, nothing else is raised."""
    taken = answer()
    with suppress(ModelError):
        for fields in events:
            for item in taken.take(msgspec.json.encode(fields)):
                msgspec.json.encode(item)
        msgspec.json.encode(taken.finish())


@given(st.binary(max_size=200))
def test_any_bytes_give_items_or_a_typed_error(data):
    """And whatever bytes."""
    for take in (answer().take, answer().take_whole):
        with suppress(ModelError):
            take(data)
