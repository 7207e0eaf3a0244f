"""Putting a Gemini answer together: parts in their order, signatures at their parts, calls under ids of their own."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.gemini_answer import GeminiAnswer
from agi.models.gemini_failures import GeminiFailures
from agi.protocol.ids import is_id
from agi.protocol.messages import Usage

SIG = "c2lnbmF0dXJl"
bounded = settings(max_examples=60, derandomize=True, deadline=None)


def answer() -> GeminiAnswer:
    return GeminiAnswer(GeminiFailures("google", "m", None))


def chunk(*parts: object, **fields: object) -> bytes:
    return msgspec.json.encode({"candidates": [{"content": {"parts": parts}, **fields}]})


def call(name: object = "shell", **fields: object) -> dict[str, object]:
    return {"functionCall": {"name": name, **fields}}


def heard(*chunks: bytes, finish: str = "STOP") -> list[StreamItem]:
    """All items of a stream but the last, which says that it ended in order."""
    taken = answer()
    items = [item for data in (*chunks, chunk(finishReason=finish)) for item in taken.take(data)]
    *rest, last = taken.finish()
    assert isinstance(last, Finished)
    return [*items, *rest]


def ending(*chunks: bytes) -> Finished:
    taken = answer()
    for data in chunks:
        taken.take(data)
    last = taken.finish()[-1]
    assert isinstance(last, Finished)
    return last


def test_a_signature_on_a_call_comes_before_it():
    """Whatever was thought before, the next part is the signed one; a call without one has none before it."""
    items = heard(
        chunk({"text": "hm", "thought": True}), chunk({**call(id="a"), "thoughtSignature": SIG}, call(id="b"))
    )

    assert items == [
        ReasoningDelta("hm"),
        ReasoningSealed(SIG),
        CallMade("a", "shell", "{}"),
        CallMade("b", "shell", "{}"),
    ]


def test_a_signature_on_text_or_a_thought_comes_after_it_and_says_how_much_it_signs():
    """So that a text that came in pieces stays one text, and its signed end is still known."""
    items = heard(
        chunk({"text": "so", "thought": True}, {"text": "", "thought": True, "thoughtSignature": SIG}),
        chunk({"text": "Hel"}),
        chunk({"text": "lo", "thoughtSignature": SIG}),
        chunk({"text": "", "thoughtSignature": SIG}),
    )

    assert items == [
        ReasoningDelta("so"),
        ReasoningSealed(f"thought0:{SIG}"),
        TextDelta("Hel"),
        TextDelta("lo"),
        ReasoningSealed(f"text2:{SIG}"),
        ReasoningSealed(f"text0:{SIG}"),
    ]


@pytest.mark.parametrize("signature", [None, "", 7, "not base64!", {"x": 1}, "a:b"])
def test_what_is_no_signature_is_passed_over(signature):
    """It could not be handed back."""
    assert heard(chunk({"text": "x", "thoughtSignature": signature})) == [TextDelta("x")]


def test_from_the_first_call_on_everything_waits_for_the_end_in_order():
    """A stream that breaks off makes no call; one that ends tells all, in the order it came."""
    taken = answer()
    told = taken.take(chunk({"text": "a"}, call(id="1"), {"text": "b"}))

    assert told == [TextDelta("a")]
    assert taken.take(chunk({"text": "c"}, call(id="2"), finishReason="STOP")) == []
    assert taken.finish()[:-1] == [
        CallMade("1", "shell", "{}"),
        TextDelta("b"),
        TextDelta("c"),
        CallMade("2", "shell", "{}"),
    ]


@bounded
@given(st.lists(st.sampled_from([None, "", "a", "b", "call_1", "\x00bad", "x" * 500, 7]), min_size=1, max_size=8))
def test_ids_are_always_there_and_never_twice(ids):
    """Missing, repeated and unfit ids are replaced; the rest stay as the server gave them."""
    made = heard(chunk(*(call(id=id, args={"n": number}) for number, id in enumerate(ids))))

    got = [item.id for item in made]
    assert len(set(got)) == len(ids)
    for position, (given_id, id) in enumerate(zip(ids, got, strict=True)):
        kept = given_id in {"a", "b", "call_1"} and given_id not in ids[:position]
        assert id == given_id if kept else is_id(id, "call")


def test_a_chunk_sent_twice_makes_no_second_call():
    """The same id, name and arguments are the same call; without an id two calls are two."""
    signed = {**call(id="a", args={"x": 1}), "thoughtSignature": SIG}

    assert heard(chunk(signed), chunk(signed)) == [ReasoningSealed(SIG), CallMade("a", "shell", '{"x":1}')]
    assert len(heard(chunk(call()), chunk(call()))) == 2


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        (b'{"b": 1.0, "a": [1e40, 12345678901234567890123]}', '{"b":1.0,"a":[1e40,12345678901234567890123]}'),
        (b'{\n  "z": "\xc3\xa9\\u00e9 x",\n  "z": null\n}', '{"z":"é\\u00e9 x","z":null}'),
        (b"{}", "{}"),
        (b"null", "{}"),
        (b'"text"', '"text"'),
        (b"[1]", "[1]"),
    ],
)
def test_arguments_are_passed_on_as_written(written, arguments):
    """Keys in their order, numbers in their form; only the space between them goes. Checking them is not done here."""
    data = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"t","id":"a","args":%b}}]}}]}' % written

    assert heard(data) == [CallMade("a", "t", arguments)]


def test_a_call_without_arguments_has_an_empty_object():
    """As Google sends calls of tools that take none; a call without a name is told as it is."""
    assert heard(chunk(call(id="a"))) == [CallMade("a", "shell", "{}")]
    assert heard(chunk(call(None, id="a"))) == [CallMade("a", "", "{}")]


def test_a_hundred_parallel_calls_stay_apart():
    """Their number is nobody's limit here."""
    made = heard(chunk(*(call(args={"n": number}) for number in range(100))))

    assert [item.arguments for item in made] == [f'{{"n":{number}}}' for number in range(100)]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("STOP", "end_turn"),
        ("FINISH_REASON_UNSPECIFIED", "end_turn"),
        ("SOMETHING_NEW", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("LANGUAGE", "refusal"),
        ("BLOCKLIST", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("SPII", "refusal"),
        ("IMAGE_SAFETY", "refusal"),
    ],
)
def test_every_finish_reason_has_its_word(finish, reason):
    """Unknown ones are an ordinary end; with calls, an ordinary end is theirs, and a limit stays one."""
    assert ending(chunk({"text": "x"}, finishReason=finish)).stop_reason == reason
    with_calls = ending(chunk(call(), finishReason=finish)).stop_reason
    assert with_calls == ("tool_calls" if reason == "end_turn" else reason)


@pytest.mark.parametrize(
    ("finish", "code", "retryable"),
    [
        ("MALFORMED_FUNCTION_CALL", "provider_error", True),
        ("UNEXPECTED_TOOL_CALL", "provider_error", True),
        ("MALFORMED_RESPONSE", "provider_error", True),
        ("TOO_MANY_TOOL_CALLS", "provider_error", True),
        ("OTHER", "provider_error", True),
        ("MISSING_THOUGHT_SIGNATURE", "reasoning_refused", False),
    ],
)
def test_an_answer_that_ends_in_a_mishap_is_a_failure(finish, code, retryable):
    """It names the mishap and repeats what the provider remarks on it; no call of it is made."""
    taken = answer()
    taken.take(chunk(call(), finishReason=finish, finishMessage="print(default_api.shell("))

    with pytest.raises(ModelError, match=finish) as caught:
        taken.finish()
    assert "default_api.shell(" in caught.value.message
    assert (caught.value.code, caught.value.retryable) == (code, retryable)


def test_a_blocked_prompt_is_a_refusal():
    """There is no candidate then, and nothing more comes."""
    data = b'{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}'

    assert ending(data) == Finished(stop_reason="refusal", usage=Usage(input_tokens=7, requests=1))


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage(requests=1)),
        ({"promptTokenCount": 3, "candidatesTokenCount": 2}, Usage(input_tokens=3, output_tokens=2, requests=1)),
        (
            {"promptTokenCount": 9, "cachedContentTokenCount": 4, "thoughtsTokenCount": 5, "candidatesTokenCount": 2},
            Usage(input_tokens=9, output_tokens=7, cached_tokens=4, reasoning_tokens=5, requests=1),
        ),
        ({"promptTokenCount": 3, "toolUsePromptTokenCount": 4}, Usage(input_tokens=7, requests=1)),
        ({"promptTokenCount": -3, "candidatesTokenCount": 2.0}, Usage(output_tokens=2, requests=1)),
        ({"promptTokenCount": None, "candidatesTokenCount": "many", "promptTokensDetails": [1]}, Usage(requests=1)),
        ({"promptTokenCount": 10**18}, Usage(input_tokens=1 << 53, requests=1)),
    ],
)
def test_usage_is_taken_as_far_as_it_is_numbers(usage, expected):
    """Thoughts are part of the output; what is missing, negative or absurd never breaks an answer."""
    assert ending(msgspec.json.encode({"usageMetadata": usage}), chunk(finishReason="STOP")).usage == expected


def test_the_last_usage_counts():
    """Every chunk tells what it cost so far."""
    counts = [msgspec.json.encode({"usageMetadata": {"promptTokenCount": n}}) for n in (3, 5)]

    assert ending(*counts, chunk(finishReason="STOP")).usage.input_tokens == 5


def test_an_answer_without_an_end_cannot_be_finished():
    """Half an answer is never taken for a whole one; a bare `[DONE]`, as some gateways add, is an end."""
    taken = answer()
    taken.take(chunk({"text": "half"}))
    with pytest.raises(ModelError, match="in the middle"):
        taken.finish()

    taken.take(b"[DONE]")
    assert taken.take(chunk({"text": "late"})) == []
    assert taken.finish() == [Finished(stop_reason="end_turn", usage=Usage(requests=1))]


@bounded
@given(st.binary(max_size=200), st.sampled_from([b"%b", b'{"candidates":[{"content":{"parts":[%b]}}]}', b"[%b]"]))
def test_any_bytes_give_items_or_a_typed_error(data, around):
    """Whatever a server sends, nothing else is raised."""
    with suppress(ModelError):
        assert isinstance(answer().take(around.replace(b"%b", data)), list)


@bounded
@given(st.text(max_size=30), st.binary(max_size=30))
def test_any_arguments_give_a_call_or_a_typed_error(text, data):
    """Deep, broken and half-written ones too."""
    written = msgspec.json.encode(text.encode(errors="replace").decode())
    for args in (data, written, b'{"a":"%b"}' % data, b"[" * 9999 + data):
        whole = b'{"candidates":[{"content":{"parts":[{"functionCall":{"args":%b}}]},"finishReason":"STOP"}]}' % args
        with suppress(ModelError):
            taken = answer()
            taken.take(whole)
            assert taken.finish()
