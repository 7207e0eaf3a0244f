"""The adapter against Anthropic's own SDK: the same bytes in, the same text, thoughts, calls, cost and end out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agi.config.values import Secret
from agi.errors import ModelError
from agi.loop.asking import ask_model
from agi.loop.base import Plan
from agi.models.anthropic import Anthropic
from agi.models.anthropic_format import encode_request
from agi.models.anthropic_schema import tighten
from agi.models.base import ModelRequest
from agi.models.limits import Limits
from agi.net.http import HttpClient
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Reasoning, Text, ToolCallPart
from agi.testing.anthropic_wire import event
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Called,
    Reply,
    Said,
    Sealed,
    Thought,
    Written,
    answers,
    breaks,
    calls,
    fails,
    inserts,
    never_begins,
    repeats,
    says,
    slices,
    web_page,
)

NAME = "claude-opus-5-5"
QUESTION = Message(id="msg_1", role="user", parts=(Text(text="hello"),), created_at="", status="complete")
PRICELESS = SimpleNamespace(cost=lambda *_: None)
"""Nothing is known about what a call costs."""
REQUEST = ModelRequest(system="", messages=(QUESTION,))
REASONS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "pause_turn": "end_turn",
    "tool_use": "end_turn",
    "max_tokens": "max_tokens",
}


@pytest.fixture(scope="session")
def sdk() -> ModuleType:
    """Anthropic's SDK; importing it takes seconds."""
    return pytest.importorskip("anthropic")


class _Journal:
    """Forgets what is told to it."""

    async def speak(self, _event: object) -> None: ...

    def defer(self, *_events: object) -> None: ...


class Table:
    """One server, and both who ask it."""

    def __init__(self, server: ProviderServer, sdk: ModuleType, client: HttpClient) -> None:
        self.server = server
        self.sdk = sdk
        self.reply = Reply()
        plain = sdk.DefaultAsyncHttpxClient(verify=False)  # no certificates are needed here, and loading them is slow
        self.theirs = sdk.AsyncAnthropic(
            base_url=server.url, api_key="k", max_retries=0, timeout=2.0, http_client=plain
        )
        self.ours = Anthropic(
            client,
            provider="anthropic",
            name=NAME,
            base_url=server.url,
            api_key=Secret("k"),
            limits=Limits(first_byte=1.0, idle=1.0, thinking=1.0, last_words=0.5),
        )

    async def ask_them(self, reply: Reply) -> Any:
        """The message the SDK makes of a reply."""
        self.reply = reply
        asked = [{"role": "user", "content": "hello"}]
        async with self.theirs.messages.stream(model=NAME, max_tokens=9, messages=asked) as stream:
            return await stream.get_final_message()

    async def ask_us(self, reply: Reply) -> Message:
        """The message the loop makes of it."""
        self.reply = reply
        rest = dict.fromkeys(Plan.__struct_fields__)
        plan = Plan(**{**rest, "session_id": "s", "turn_id": "t", "agent": "a", "model": self.ours, "facts": PRICELESS})
        return await ask_model(plan, _Journal(), REQUEST)

    async def compare(self, reply: Reply) -> None:
        """Fail if the two disagree."""
        theirs, ours = await self.ask_them(reply), await self.ask_us(reply)
        assert told_by_us(ours) == told_by_them(theirs)
        assert msgspec.structs.replace(ours.usage, requests=1) == usage_of(theirs)
        calls = any(isinstance(part, ToolCallPart) for part in ours.parts)
        reason = REASONS[theirs.stop_reason]
        assert ours.stop_reason == ("tool_calls" if calls and reason == "end_turn" else reason)
        assert sent_back(ours) == kept_of(theirs)


@pytest.fixture
async def table(sdk: ModuleType) -> AsyncIterator[Table]:
    async with HttpClient() as client, ProviderServer(lambda _asked: made.reply) as server:
        made = Table(server, sdk, client)
        yield made
        await made.theirs.close()


def told_by_them(message: Any) -> list[tuple[object, ...]]:
    """What the SDK has, block by block; neighbours of text are one, as nobody can tell them apart."""
    told: list[tuple[object, ...]] = []
    for block in message.content:
        if block.type == "text" and told and told[-1][0] == "text":
            told[-1] = ("text", f"{told[-1][1]}{block.text}")
        elif block.type == "text" and block.text:
            told.append(("text", block.text))
        elif block.type == "thinking" and (block.thinking or block.signature):
            told.append(("reasoning", block.thinking, {"type": "thinking", "signature": block.signature}))
        elif block.type == "redacted_thinking":
            told.append(("reasoning", "", {"type": "redacted_thinking", "data": block.data}))
        elif block.type == "tool_use":
            told.append(("call", block.name, block.input))
    return told


def told_by_us(message: Message) -> list[tuple[object, ...]]:
    told: list[tuple[object, ...]] = []
    for part in message.parts:
        if isinstance(part, Text):
            told.append(("text", part.text))
        elif isinstance(part, Reasoning):
            told.append(("reasoning", part.text, msgspec.json.decode(part.signature)))
        elif isinstance(part, ToolCallPart):
            told.append(("call", part.content.name, msgspec.json.decode(part.content.args)))
    return told


def usage_of(message: Any) -> Usage:
    used = message.usage
    read, details = used.cache_read_input_tokens or 0, used.output_tokens_details
    return Usage(
        input_tokens=used.input_tokens + (used.cache_creation_input_tokens or 0) + read,
        output_tokens=used.output_tokens,
        cached_tokens=read,
        cache_write_tokens=used.cache_creation_input_tokens or 0,
        reasoning_tokens=details.thinking_tokens if details else 0,
        requests=1,
    )


def sent_back(message: Message) -> list[dict[str, object]]:
    """The blocks of the next request that stand for an answer; ids are the loop's own."""
    body = encode_request("anthropic", NAME, ModelRequest(system="", messages=(QUESTION, message)))
    sent = msgspec.json.decode(body)["messages"]
    blocks = sent[1]["content"] if len(sent) > 1 else []
    return [{name: value for name, value in block.items() if name != "id"} for block in blocks]


def kept_of(message: Any) -> list[dict[str, object]]:
    """The SDK's blocks as Anthropic wants them back: none blank, none unsigned, no thoughts at the end."""
    kept: list[dict[str, object]] = []
    for kind, *rest in told_by_them(message):
        if kind == "text" and str(rest[0]).strip():
            kept.append({"type": "text", "text": rest[0]})
        elif kind == "call":
            kept.append({"type": "tool_use", "name": rest[0], "input": rest[1]})
        elif kind == "reasoning" and rest[1]["type"] == "redacted_thinking":
            kept.append(rest[1])
        elif kind == "reasoning" and rest[1]["signature"]:
            kept.append({"type": "thinking", "thinking": rest[0], "signature": rest[1]["signature"]})
    while kept and "thinking" in str(kept[-1]["type"]):
        kept.pop()
    return kept


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
numbers = st.integers(0, 10**9)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
blocks = st.one_of(
    st.tuples(st.just("text"), st.lists(words, max_size=4)),
    st.tuples(st.just("thinking"), st.lists(words, max_size=3), st.just("") | st.text("abc+/=", min_size=1)),
    st.tuples(st.just("redacted_thinking"), words),
    st.tuples(st.just("tool_use"), st.dictionaries(words, json_values, max_size=4), st.lists(numbers, max_size=4)),
)
counts = st.fixed_dictionaries(
    {"output_tokens": numbers},
    optional={
        "input_tokens": numbers,
        "cache_creation_input_tokens": st.none() | numbers,
        "cache_read_input_tokens": st.none() | numbers,
        "output_tokens_details": st.fixed_dictionaries({"thinking_tokens": numbers}),
    },
)
noise = st.sampled_from([b"", event("ping"), b": comment\n\n", b"retry: 10\n\n"])


def cut(data: Any, places: list[int]) -> list[Any]:
    """The same text or bytes in pieces."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


def block_events(index: int, block: tuple[Any, ...], number: int) -> list[dict[str, object]]:
    kind = block[0]
    begun: dict[str, object] = {"type": kind}
    deltas: list[dict[str, object]] = []
    if kind == "text":
        begun["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in block[1]]
    elif kind == "thinking":
        begun |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in block[1]]
        deltas += [{"type": "signature_delta", "signature": block[2]}] if block[2] else []
    elif kind == "redacted_thinking":
        begun["data"] = block[1]
    else:
        begun |= {"id": f"toolu_{number}", "name": "tool", "input": {}}
        deltas = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in cut(json.dumps(block[1]), block[2])
            if piece
        ]
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


@st.composite
def streams(draw: st.DrawFn) -> Reply:
    """An answer as Anthropic sends it, in writes that cut letters, lines and events anywhere."""
    start = {"input_tokens": draw(numbers), **draw(counts)}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": NAME}
    told: list[dict[str, object]] = [
        {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None, "usage": start}}
    ]
    for index, block in enumerate(draw(st.lists(blocks, max_size=5))):
        told += block_events(index, block, index)
    delta = {"stop_reason": draw(st.sampled_from(sorted(REASONS))), "stop_sequence": None}
    told += [{"type": "message_delta", "delta": delta, "usage": draw(counts)}, {"type": "message_stop"}]
    ascii_only, end = draw(st.booleans()), draw(st.sampled_from(["\n", "\r\n"]))
    data = b""
    for fields in told:
        written = json.dumps(fields, ensure_ascii=ascii_only)
        data += draw(noise) + f"event: {fields['type']}{end}data: {written}{end}{end}".encode()
    return Reply(frames=tuple(cut(data, draw(st.lists(st.integers(0, len(data)), max_size=12)))), apart=True)


@settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(reply=streams())
async def test_any_answer_is_understood_as_the_sdk_does(table: Table, reply: Reply):
    """Whatever blocks come in whatever pieces: the same parts, cost and end, and the same blocks sent back."""
    await table.compare(reply)


SCRIPTED = [
    says("héllo 🌍", chunks=4, reasoning="Überlegen…", seal="c2ln"),
    says("", finish="length"),
    answers(Sealed("opaque"), Thought("a"), Sealed("s"), Said("b"), Called(0, "t0", "x"), Written(0, '{"a":[1]}')),
    answers(Called(0, "t0", "x"), Called(1, "t1", "y"), Written(0, '{"n":'), Written(1, "{}"), Written(0, "1}")),
    says("x", usage=Usage(input_tokens=30, output_tokens=9, cached_tokens=20, reasoning_tokens=4)),
]


@pytest.mark.parametrize("reply", SCRIPTED, ids=range(len(SCRIPTED)))
async def test_what_the_scripted_provider_says_is_what_the_sdk_hears(table: Table, reply: Reply):
    """Its way of writing this format is Anthropic's, in one piece and byte by byte."""
    await table.compare(reply)
    await table.compare(slices(reply, 1))


async def test_what_the_scripted_provider_says_in_one_piece_is_the_same(table: Table):
    """Without a stream too."""
    table.reply = SCRIPTED[2]
    asked = [{"role": "user", "content": "hello"}]
    whole = await table.theirs.messages.create(model=NAME, max_tokens=9, messages=asked)

    assert told_by_them(whole) == told_by_them(await table.ask_them(SCRIPTED[2]))


@pytest.mark.parametrize("reason", REASONS)
async def test_every_stop_reason_is_read_alike(table: Table, reason: str):
    """With and without a call."""
    await table.compare(says("x", finish=reason))
    await table.compare(calls(("tool", {"a": 1}), finish=reason))


async def test_a_repeated_delta_is_said_twice_by_both(table: Table):
    """Nobody can know that it was not meant."""
    await table.compare(repeats(says("abc", chunks=3), 2))


async def test_our_request_means_what_the_sdk_s_does(table: Table):
    """The same question asked by both differs only in what we add: the stream's limits and the marks for the cache."""
    await table.compare(says("ok"))
    theirs, ours = (asked.json for asked in table.server.requests)

    assert set(ours) == set(theirs)
    assert ours["messages"][0]["content"][0].pop("cache_control") == {"type": "ephemeral"}
    assert ours["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]


SCHEMAS: list[dict[str, object]] = [
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]},
    {"type": "array", "items": {"type": "object", "properties": {}}, "minItems": 1, "maxItems": 3},
    {"type": "string", "format": "uuid", "title": "t"},
    {"type": "string", "format": "phone", "pattern": "[0-9]+"},
    {"oneOf": [{"type": "object", "properties": {"x": {"type": "null"}}}, {"$ref": "#/$defs/d"}]},
    {"$defs": {"d": {"type": "object", "properties": {}}}, "anyOf": [{"$ref": "#/$defs/d"}, {"type": "boolean"}]},
    {"enum": ["a", 1, None]},
    {"const": 7},
]


def undescribed(schema: object) -> object:
    """A schema without what is only said to the model, which each words in its own way."""
    if isinstance(schema, dict):
        return {name: undescribed(value) for name, value in schema.items() if name != "description"}
    return [undescribed(each) for each in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_a_schema_is_tightened_as_the_sdk_does(sdk: ModuleType, schema: dict[str, object]):
    """Closed objects, and only what Anthropic can enforce."""
    assert undescribed(tighten(schema)) == undescribed(sdk.transform_schema(schema))


STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)


async def errors_of(table: Table, reply: Reply) -> tuple[Any, ModelError]:
    """What each of the two raises; anything but its own kind of error fails the test."""
    with pytest.raises(table.sdk.AnthropicError) as theirs:
        await table.ask_them(reply)
    with pytest.raises(ModelError) as ours:
        await table.ask_us(reply)
    return theirs.value, ours.value


@pytest.mark.parametrize("status", STATUSES)
async def test_a_refusal_has_the_same_status_and_is_tried_again_by_both_or_neither(table: Table, status: int):
    """With Anthropic's error object, with plain words, and with nothing at all."""
    for reply in (fails(status, "no"), fails(status, body=b"plain words"), fails(status, body=b"")):
        theirs, ours = await errors_of(table, reply)
        assert ours.status == theirs.status_code == status
        assert ours.retryable == table.theirs._should_retry(theirs.response)


@pytest.mark.parametrize("headers", [{}, {"retry-after": "7"}, {"retry-after-ms": "250"}, {"retry-after": "soon"}])
async def test_the_time_to_wait_is_read_alike(table: Table, headers: dict[str, str]):
    """From either header, if it is a time."""
    theirs, ours = await errors_of(table, fails(429, headers=headers))

    assert ours.retry_after == table.theirs._parse_retry_after_header(theirs.response.headers)


async def test_a_web_page_is_an_error_for_both(table: Table):
    """Whatever a gateway shows to people."""
    theirs, ours = await errors_of(table, web_page(503))

    assert (ours.status, ours.retryable) == (theirs.status_code, True)


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "invalid_request_error", "rate_limit_error"])
async def test_an_error_in_the_stream_is_one_for_both(table: Table, kind: str):
    """After words were said."""
    data = event("error", error={"type": kind, "message": "so it is"})
    theirs, ours = await errors_of(table, inserts(says("one two", chunks=2), 2, data))

    assert theirs.type == kind
    assert "so it is" in str(theirs)
    assert "so it is" in ours.message
    assert ours.retryable == (kind != "invalid_request_error")


LETTER = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "é"})
BROKEN = {
    "never begins": never_begins(),
    "hangs up before its headers": never_begins("cut"),
    "resets before its headers": never_begins("reset"),
    "stalls": breaks(says("one two", chunks=2), 2, "stall"),
    "is reset": breaks(says("one two", chunks=2), 2, "reset"),
    "is cut": breaks(says("one two", chunks=2), 2, "cut"),
    "ends early": breaks(says("one two", chunks=2), 2, "whole"),
    "is cut in a letter": Reply(frames=(LETTER, LETTER[: LETTER.index("é".encode()) + 1]), ending="cut"),
    "has garbage": inserts(says("one two", chunks=2), 2, b"event: content_block_delta\ndata: {garbage\n\n"),
    "has a list": inserts(says("x"), 1, b"event: content_block_delta\ndata: [1]\n\n"),
}


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
async def test_a_broken_stream_is_one_kind_of_error(table: Table, reply: Reply):
    """Where the SDK raises errors of many kinds, or takes half an answer for a whole one."""
    with pytest.raises(ModelError) as caught:
        await table.ask_us(reply)
    assert caught.value.retryable
    (theirs,) = await asyncio.gather(table.ask_them(reply), return_exceptions=True)
    assert isinstance(theirs, Exception) or theirs.stop_reason is None
