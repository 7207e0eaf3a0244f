"""Google's own SDK is the oracle: both sides hear the same bytes from one server, and have to understand the same."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import pairwise
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agi.config.values import Secret
from agi.errors import ModelError
from agi.loop.asking import ask_model
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, StreamItem, TextDelta
from agi.models.gemini import Gemini
from agi.models.gemini_format import encode_request
from agi.net.http import HttpClient
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import (
    Image,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)
from agi.protocol.tools import ToolDefinition, ToolKind
from agi.testing.gemini_wire import GEMINI
from agi.testing.provider import Asked, ProviderServer
from agi.testing.replies import Reply, breaks, calls, fails, inserts, repeats, says, slices

NAME = "gemini-3-pro-preview"
KEY = "key-123456"
ASKED = Message(id="msg_1", role="user", parts=(Text(text="hello"),), created_at="", status="complete")
REQUEST = ModelRequest(system="be brief", messages=(ASKED,))
STOPS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal", "RECITATION": "refusal"}
bounded = settings(max_examples=40, derandomize=True, deadline=None)


class Heard(msgspec.Struct, kw_only=True):
    """What one side understood."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, object]] = []
    stop: str = ""
    usage: Usage = Usage(requests=1)


class Listening:
    """As much of a journal as one model call needs."""

    async def speak(self, delta: object) -> None:
        """Nobody watches."""

    def defer(self, *data: object) -> None:
        """Nothing is kept."""


class Oracle:
    """One server, our adapter and the SDK, which is imported late and once; neither side asks twice."""

    def __init__(self) -> None:
        from google import genai
        from google.genai import errors, types

        self.types = types
        self.refusals = errors.APIError
        self._genai = genai
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._reply = says("ok")
        self._runner.run(self._open())

    async def _open(self) -> None:
        self._server = await self._stack.enter_async_context(ProviderServer(self._decide))
        client = await self._stack.enter_async_context(HttpClient())
        self._ours = Gemini(client, provider="google", name=NAME, base_url=self._server.url, api_key=Secret(KEY))
        options = self.types.HttpOptions(
            base_url=self._server.url, api_version="v1beta", async_client_args={"trust_env": False}
        )
        self._theirs = self._genai.Client(api_key=KEY, http_options=options).aio
        self._stack.push_async_callback(self._theirs.aclose)

    def close(self) -> None:
        with self._runner:
            self._runner.run(self._stack.aclose())

    def _decide(self, asked: Asked) -> Reply:
        return self._reply

    def serve(self, reply: Reply) -> None:
        """From now on this is the answer."""
        self._reply = reply

    @property
    def asked(self) -> Asked:
        """What was asked last."""
        return self._server.requests[-1]

    def ask_ours(self, request: ModelRequest = REQUEST) -> Heard:
        async def listen() -> list[StreamItem]:
            return [item async for item in self._ours.stream(request)]

        return our_words(self._runner.run(listen()))

    def remember(self) -> Message:
        """Our answer as the loop keeps it."""
        plan = SimpleNamespace(
            session_id="",
            turn_id="",
            agent="",
            model=self._ours,
            schema=None,
            facts=SimpleNamespace(cost=lambda *_: None),
        )
        return self._runner.run(ask_model(plan, Listening(), REQUEST))

    def ask_theirs(self, contents: object = "hello", config: object = None) -> list:
        async def listen() -> list:
            stream = await self._theirs.models.generate_content_stream(model=NAME, contents=contents, config=config)
            return [chunk async for chunk in stream]

        return self._runner.run(listen())

    def ask_theirs_at_once(self) -> object:
        return self._runner.run(self._theirs.models.generate_content(model=NAME, contents="hello"))


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """Both sides and their server, for all tests here."""
    made = Oracle()
    yield made
    made.close()


def our_words(items: list[StreamItem]) -> Heard:
    last = items[-1]
    assert isinstance(last, Finished)
    return Heard(
        text="".join(item.text for item in items if isinstance(item, TextDelta)),
        reasoning="".join(item.text for item in items if isinstance(item, ReasoningDelta)),
        calls=[(item.name, json.loads(item.arguments)) for item in items if isinstance(item, CallMade)],
        stop=last.stop_reason,
        usage=last.usage,
    )


def parts_of(chunks: list) -> list:
    contents = [chunk.candidates[0].content for chunk in chunks if chunk.candidates]
    return [part for content in contents if content and content.parts for part in content.parts]


def their_words(chunks: list) -> Heard:
    heard, reason = Heard(calls=[]), ""
    for part in parts_of(chunks):
        if part.function_call:
            heard.calls.append((part.function_call.name, part.function_call.args or {}))
        elif part.thought:
            heard.reasoning += part.text or ""
        else:
            heard.text += part.text or ""
    for chunk in chunks:
        if chunk.candidates and chunk.candidates[0].finish_reason:
            reason = chunk.candidates[0].finish_reason.value
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            reason = "SAFETY"
        if chunk.usage_metadata:
            heard.usage = their_usage(chunk.usage_metadata)
    heard.stop = "tool_calls" if heard.calls and reason == "STOP" else STOPS[reason]
    return heard


def their_usage(told) -> Usage:
    thoughts = told.thoughts_token_count or 0
    return Usage(
        input_tokens=told.prompt_token_count or 0,
        output_tokens=(told.candidates_token_count or 0) + thoughts,
        cached_tokens=told.cached_content_token_count or 0,
        reasoning_tokens=thoughts,
        requests=1,
    )


# The SDK takes these for line ends where they stand in JSON as they are, which JSON allows.
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=10)
signatures = st.binary(min_size=3, max_size=12).map(lambda data: msgspec.json.decode(msgspec.json.encode(data)))
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False, width=32)
values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
texts = st.fixed_dictionaries({"text": words}, optional={"thought": st.just(True), "thoughtSignature": signatures})
made_calls = st.fixed_dictionaries(
    {"name": st.sampled_from(["shell", "read_file"])}, optional={"args": st.dictionaries(words, values, max_size=3)}
)
called = st.fixed_dictionaries({"functionCall": made_calls}, optional={"thoughtSignature": signatures})
counts = st.integers(0, 10_000)
spent = st.fixed_dictionaries(
    {"promptTokenCount": counts, "totalTokenCount": counts},
    optional={"candidatesTokenCount": counts, "thoughtsTokenCount": counts, "cachedContentTokenCount": counts},
)


@st.composite
def streams(draw) -> Reply:
    """A stream as Google writes it, parts in any order and chunks of any size, cut anywhere."""
    groups = draw(st.lists(st.lists(texts | called, max_size=3), min_size=1, max_size=6))
    ascii_only, indent = draw(st.booleans()), draw(st.sampled_from([None, 1]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    events = []
    for number, parts in enumerate(groups):
        candidate: dict[str, object] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        chunk: dict[str, object] = {"candidates": [candidate], "usageMetadata": draw(spent), "modelVersion": NAME}
        if number == len(groups) - 1:
            candidate["finishReason"] = draw(st.sampled_from(sorted(STOPS)))
        written = json.dumps(chunk, ensure_ascii=ascii_only, indent=indent)
        events.append("".join(f"data: {line}{end}" for line in written.split("\n")) + end)
    data = "".join(events).encode()
    cuts = sorted({0, len(data), *draw(st.lists(st.integers(0, len(data)), max_size=8))})
    return Reply(frames=tuple(data[start:stop] for start, stop in pairwise(cuts)), apart=True)


@bounded
@given(reply=streams())
def test_any_stream_is_understood_as_the_sdk_understands_it(oracle, reply):
    """Text, thoughts, calls with their arguments, what it cost and why it ended are the same on both sides."""
    oracle.serve(reply)

    assert oracle.ask_ours() == their_words(oracle.ask_theirs())


@bounded
@given(reply=streams())
def test_what_was_said_goes_back_as_the_sdk_hands_it_back(oracle, reply):
    """Every part is in its place again, with its own signature, byte for byte."""
    oracle.serve(reply)
    request = ModelRequest(system="", messages=(ASKED, oracle.remember()))
    ours = json.loads(encode_request("google", NAME, request))["contents"][1:]
    received = parts_of(oracle.ask_theirs())
    if received:
        oracle.ask_theirs([oracle.types.Content(role="model", parts=received)])

    theirs = joined(oracle.asked.json["contents"][0]["parts"]) if received else []
    assert [bare(part) for content in ours for part in content["parts"]] == list(map(bare, theirs))


def joined(parts: list[dict[str, object]]) -> list[dict[str, object]]:
    """Join what was cut into pieces, as a message does: neighbours that are alike and unsigned."""
    whole: list[dict[str, object]] = []
    for part in parts:
        if whole and whole[-1].keys() == part.keys() <= {"text", "thought"}:
            whole[-1] = {**part, "text": whole[-1]["text"] + part["text"]}
        elif part.get("text") != "" or "thoughtSignature" in part:
            whole.append(part)
    return whole


def bare(part: dict[str, object]) -> dict[str, object]:
    """A part without what is ours alone: ids of calls, the word for a missing signature; base64 in one alphabet."""
    signature = str(part.get("thoughtSignature", "")).replace("+", "-").replace("/", "_")
    call = {name: value for name, value in part.get("functionCall", {}).items() if name != "id" and value != {}}
    return {**part, "functionCall": call, "thoughtSignature": "" if signature.startswith("skip_") else signature}


def conversation() -> tuple[Message, ...]:
    """A picture is sent, a tool is called and shows one too."""
    image = Image(ref="a.png", mime_type="image/png")
    call = ToolCallContent(id="call_1", name="read_file", args=msgspec.Raw(b'{"path":"b"}'))
    result = ToolResultContent(id="call_1", name="read_file", ok=True, parts=(Text(text="here:"), image))
    sealed = Reasoning(text="hm", provider="google", model=NAME, signature="c2ln")
    return (
        replace(ASKED, parts=(Text(text="look"), image)),
        replace(ASKED, role="assistant", parts=(sealed, ToolCallPart(content=call))),
        replace(ASKED, role="tool", parts=(ToolResultPart(content=result),)),
    )


def their_conversation(types) -> list:
    image = types.FunctionResponsePart.from_bytes(data=b"png", mime_type="image/png")
    call = types.FunctionCall(id="call_1", name="read_file", args={"path": "b"})
    result = types.FunctionResponse(id="call_1", name="read_file", response={"output": "here:"}, parts=[image])
    picture = types.Part.from_bytes(data=b"png", mime_type="image/png")
    thought = types.Part(text="hm", thought=True)
    return [
        types.Content(role="user", parts=[types.Part(text="look"), picture]),
        types.Content(role="model", parts=[thought, types.Part(function_call=call, thought_signature=b"sig")]),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]


def their_config(types, schema: object) -> object:
    declared = types.FunctionDeclaration(name="read_file", description="Read it.", parameters_json_schema=schema)
    return types.GenerateContentConfig(
        system_instruction="be brief",
        tools=[types.Tool(function_declarations=[declared])],
        temperature=0.5,
        top_p=0.9,
        seed=7,
        stop_sequences=["END"],
        max_output_tokens=99,
        response_mime_type="application/json",
        response_json_schema=schema,
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="LOW"),
    )


def camel(value: object) -> object:
    """The SDK writes some names in the other of the two ways that Google takes."""
    if isinstance(value, list):
        return list(map(camel, value))
    if not isinstance(value, dict):
        return value
    return {re.sub("_(.)", lambda found: found[1].upper(), name): camel(inner) for name, inner in value.items()}


def test_a_request_is_written_as_the_sdk_writes_it(oracle):
    """System prompt, tools, options, schema, pictures, calls, results and signatures stand where the SDK puts them."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = ToolDefinition(name="read_file", description="Read it.", input_schema=schema, kind=ToolKind.READ)
    options = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "max_tokens": 99, "schema": schema}
    options |= {"reasoning_summary": "auto", "reasoning_effort": "low"}
    oracle.serve(says("ok"))
    oracle.ask_ours(
        ModelRequest(
            system="be brief", messages=conversation(), tools=(tool,), options=options, files={"a.png": b"png"}
        )
    )
    ours = oracle.asked
    oracle.ask_theirs(their_conversation(oracle.types), their_config(oracle.types, schema))
    theirs = oracle.asked

    assert (ours.path, ours.headers["x-goog-api-key"]) == (theirs.path, theirs.headers["x-goog-api-key"])
    written = camel(theirs.json)
    del written["systemInstruction"]["role"]  # the SDK calls the system prompt the user's
    assert ours.json == written


RECORDED = [
    says("héllo wörld 🌍", chunks=3, reasoning="Überlegen…", usage=Usage(input_tokens=9, output_tokens=7)),
    says("signed", seal="c2lnbmVk", usage=Usage(input_tokens=9, output_tokens=9, reasoning_tokens=4, cached_tokens=3)),
    calls(("shell", {"command": "echo ä"}), ("read_file", {"path": "日本.md"}), text="Let me see.", pieces=3),
    says("cut", finish="length"),
    says("", finish="content_filter"),
    repeats(says("one two", chunks=2), 1),
    Reply(frames=(b'data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}}\n\n',)),
    Reply(frames=(b'data: {"candidates":[{"finishReason":"SAFETY","index":0}]}\n\n',)),
    Reply(
        frames=(
            b'data: {"candidates":[{"content":{"role":"model"}}],"usageMetadata":{"promptTokenCount":4}}\n\n',
            b'data: {"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"new":{"x":[1]}}\n\n',
            b'data: {"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":6}}\n\n',
        )
    ),
]


@pytest.mark.parametrize("reply", [*RECORDED, *(slices(reply, 1) for reply in RECORDED[:3])])
def test_streams_as_google_sends_them_are_understood_alike(oracle, reply):
    """Whole, byte by byte, signed, cut short, blocked, repeated, with fields nobody knows."""
    oracle.serve(reply)

    assert oracle.ask_ours() == their_words(oracle.ask_theirs())


def test_an_answer_in_one_piece_is_the_same_answer(oracle):
    """Where a server does not stream, both sides understand what they would have heard piece by piece."""
    reply = calls(("shell", {"command": "true"}), text="see", usage=Usage(input_tokens=5, output_tokens=6))
    oracle.serve(reply)
    streamed, whole = oracle.ask_ours(), oracle.ask_theirs_at_once()
    oracle.serve(fails(200, body=GEMINI.whole(reply.content)))

    assert oracle.ask_ours() == their_words([whole]) == streamed


ERROR = b'{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}'
STATUSES = (400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 529)
REFUSALS = [
    *(fails(status, f"refused with {status}") for status in STATUSES),
    fails(504, "deadline", code="DEADLINE_EXCEEDED"),
    fails(429, "slow down", headers={"retry-after": "7"}),
    fails(503, body=b"[" + ERROR + b"]"),
    fails(503, body=b"<!DOCTYPE html><html><h1>Sorry</h1></html>", content_type="text/html"),
    inserts(says("one two", chunks=2), 2, b"data: " + ERROR + b"\n\n"),
]


@pytest.mark.parametrize("reply", REFUSALS)
def test_an_error_has_the_status_and_the_words_the_sdk_finds(oracle, reply):
    """Before the answer and in the middle of it; only a web page is not repeated."""
    oracle.serve(reply)
    with pytest.raises(ModelError) as ours:
        oracle.ask_ours()
    with pytest.raises(oracle.refusals) as theirs:
        oracle.ask_theirs()

    assert ours.value.status == theirs.value.code
    assert "html" in str(theirs.value.message) or str(theirs.value.message) in ours.value.message


@pytest.mark.parametrize("ending", ["whole", "cut", "reset"])
def test_half_an_answer_is_not_taken_for_a_whole_one(oracle, ending):
    """An answer without a finish reason was cut, however orderly its end; the SDK leaves that to its user."""
    oracle.serve(breaks(says("one two", chunks=2), 2, ending))
    with pytest.raises(ModelError) as ours:
        oracle.ask_ours()

    assert (ours.value.code, ours.value.retryable) == ("stream_cut", True)
    if ending == "whole":
        assert [part.text for part in parts_of(oracle.ask_theirs())] == ["one"]
