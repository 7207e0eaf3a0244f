"""OpenAI's own SDK is the oracle: both sides hear the same bytes from one server, and have to understand the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.config.values import Secret
from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.limits import Limits
from agi.models.openai_responses import OpenAIResponses
from agi.models.openai_responses_format import encode_request
from agi.net.http import HttpClient
from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.parts import (
    Audio,
    File,
    Image,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)
from agi.protocol.tools import ToolDefinition, ToolKind
from agi.testing.openai_responses_wire import RESPONSES
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Called,
    Piece,
    Refusal,
    Refused,
    Reply,
    Said,
    Sealed,
    Thought,
    Written,
    answers,
    breaks,
    fails,
    inserts,
    never_begins,
    says,
    web_page,
)

NOW = 1_000_000_000.0
WAIT = 0.5
REQUEST = ModelRequest(
    system="be brief",
    messages=(Message(id="msg_1", role="user", parts=(Text(text="hello"),), created_at="", status="complete"),),
)
STOPS: dict[str, StopReason] = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
HANDED_BACK = ("type", "id", "summary", "content", "encrypted_content")
Json = dict[str, Any]
bounded = settings(max_examples=40, derandomize=True, deadline=None)


class Heard(msgspec.Struct, kw_only=True):
    """What one side understood of an answer: its parts in order, as a message would have them."""

    parts: list[tuple[str, ...]] = []
    seals: list[Json] = []
    stop: str = ""
    usage: Usage = Usage()

    def say(self, kind: str, text: str) -> None:
        """Words that follow each other are one part; a seal or a call comes between two."""
        if text and self.parts and self.parts[-1][0] == kind:
            self.parts[-1] = (kind, self.parts[-1][1] + text)
        elif text:
            self.parts.append((kind, text))

    def seal(self, item: Json) -> None:
        self.seals.append(item)
        self.parts.append(("seal", item["id"]))


class Oracle:
    """Our adapter and the SDK at one server that answers whatever it was told last, in one loop."""

    def __init__(self, sdk: SimpleNamespace) -> None:
        self._sdk = sdk
        self._runner = asyncio.Runner()
        self._server = ProviderServer(lambda _asked: self._reply)
        self._reply = Reply()
        self._runner.run(self._open())

    def close(self) -> None:
        self._runner.run(self._close())
        self._runner.close()

    def compare(self, reply: Reply) -> Heard:
        """Both hear the same; returns what."""
        ours, theirs = self.ours(reply), self.theirs(reply)
        assert ours == theirs
        return ours

    def ours(self, reply: Reply) -> Heard:
        self._reply = reply
        return self._runner.run(self._hear_ours())

    def theirs(self, reply: Reply) -> Heard:
        self._reply = reply
        return self._runner.run(self._hear_theirs())

    def theirs_whole(self, reply: Reply) -> Heard:
        self._reply = reply
        return self._runner.run(self._hear_theirs_whole())

    def failures(self, reply: Reply) -> tuple[ModelError, Exception]:
        """Both fail; returns how."""
        with pytest.raises(ModelError) as ours:
            self.ours(reply)
        with pytest.raises(Exception) as theirs:  # the SDK lets errors of its parts through
            self.theirs(reply)
        return ours.value, theirs.value

    def would_retry(self, status: int) -> bool:
        return bool(self._client._should_retry(self._sdk.httpx2.Response(status)))

    def retry_after(self, headers: Mapping[str, str]) -> float | None:
        found: float | None = self._client._parse_retry_after_header(self._sdk.httpx2.Headers(headers))
        return found

    async def _open(self) -> None:
        await self._server.__aenter__()
        limit = self._sdk.httpx2.Timeout(2.0, read=WAIT)
        self._client = self._sdk.openai.AsyncOpenAI(
            base_url=self._server.base_url, api_key="sk-none-at-all", max_retries=0, timeout=limit
        )
        self._http = HttpClient()
        self._model = OpenAIResponses(
            self._http,
            provider="openai",
            name="gpt-5",
            base_url=self._server.base_url,
            api_key=Secret("sk-none-at-all"),
            limits=Limits(first_byte=WAIT, idle=WAIT, thinking=WAIT, last_words=WAIT),
            clock=lambda: NOW,
        )

    async def _close(self) -> None:
        await self._client.close()
        await self._http.close()
        await self._server.__aexit__()

    async def _hear_ours(self) -> Heard:
        return understood([item async for item in self._model.stream(REQUEST)])

    async def _hear_theirs(self) -> Heard:
        """The SDK's own accumulation; an answer that is incomplete it hands out only with its last event."""
        text, last = "", None
        async with self._client.responses.stream(model="gpt-5", input="hello") as stream:
            async for event in stream:
                if event.type in ("response.output_text.delta", "response.refusal.delta"):
                    text += event.delta
                elif event.type in ("response.completed", "response.incomplete"):
                    last = event.response
                elif event.type in ("response.failed", "error"):
                    raise RuntimeError(event)
            if last is None:
                raise RuntimeError("no last event")
        heard = completed(last)
        assert text == "".join(part[1] for part in heard.parts if part[0] == "text")
        return heard

    async def _hear_theirs_whole(self) -> Heard:
        return completed(await self._client.responses.create(model="gpt-5", input="hello"))


def understood(items: list[StreamItem]) -> Heard:
    heard, last = Heard(), items[-1]
    for item in items[:-1]:
        if isinstance(item, TextDelta):
            heard.say("text", item.text)
        elif isinstance(item, ReasoningDelta):
            heard.say("reasoning", item.text)
        elif isinstance(item, ReasoningSealed):
            heard.seal(msgspec.json.decode(item.signature))
        else:
            assert isinstance(item, CallMade)
            heard.parts.append(("call", item.id, item.name, item.arguments))
    assert isinstance(last, Finished)
    heard.stop, heard.usage = last.stop_reason, last.usage
    return heard


def completed(response: Any) -> Heard:
    """What the SDK put together, its words for the stop and the cost turned into ours."""
    heard = Heard(stop="end_turn")
    for item in response.output:
        if item.type == "message":
            heard.say("text", "".join(getattr(part, "text", None) or part.refusal for part in item.content))
            heard.stop = "refusal" if any(part.type == "refusal" for part in item.content) else heard.stop
        elif item.type == "reasoning":
            shown = [part.text for part in item.summary] or [part.text for part in item.content or ()]
            heard.say("reasoning", "\n\n".join(shown))
            if item.encrypted_content or item.content:
                kept = item.to_dict()
                heard.seal({name: kept[name] for name in HANDED_BACK if kept.get(name) or name == "summary"})
        elif item.type == "function_call":
            heard.parts.append(("call", item.call_id, item.name, item.arguments))
            heard.stop = "tool_calls" if heard.stop == "end_turn" else heard.stop
    if response.incomplete_details and heard.stop != "refusal":
        heard.stop = STOPS[response.incomplete_details.reason]
    usage = response.usage
    heard.usage = Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.input_tokens_details.cached_tokens,
        reasoning_tokens=usage.output_tokens_details.reasoning_tokens,
        requests=1,
    )
    return heard


@pytest.fixture(scope="session")
def sdk() -> SimpleNamespace:
    """The SDK, imported once and late: it takes its time."""
    import httpx2
    import openai
    from openai.types.responses import response_create_params

    return SimpleNamespace(httpx2=httpx2, openai=openai, params=response_create_params)


@pytest.fixture(scope="module")
def oracle(sdk: SimpleNamespace) -> Iterator[Oracle]:
    both = Oracle(sdk)
    yield both
    both.close()


class Recorder:
    """Writes all the events OpenAI sends for an answer, one item after the other, as they were seen."""

    def __init__(self, reason: str | None, usage: Usage) -> None:
        self.frames: list[bytes] = []
        self.deltas: list[int] = []
        """Which frames are deltas."""
        self._numbers = count()
        self._output: list[Json] = []
        self._head: Json = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "gpt-5",
            "error": None,
            "instructions": "be brief",
            "tools": [{"type": "function", "name": "shell", "parameters": {}}],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "reasoning": {"effort": "low"},
            "store": False,
        }
        self._reason = reason
        self._usage = RESPONSES.whole(answers(usage=usage).content)
        for kind in ("created", "in_progress"):
            self._write(f"response.{kind}", response=self._response("in_progress", None))

    def finished(self) -> list[bytes]:
        status = "incomplete" if self._reason else "completed"
        usage = msgspec.json.decode(self._usage)["usage"]
        self._write(f"response.{status}", response=self._response(status, usage))
        return self.frames

    def thinks(self, parts: list[list[str]], sealed: str | None, aloud: bool) -> None:
        kind, name = ("reasoning_text", "content") if aloud else ("summary_text", "summary")
        whole = [{"type": kind, "text": "".join(pieces)} for pieces in parts]
        item = {"id": self._id("rs"), "type": "reasoning", "summary": [], **({"status": None} if sealed else {})}
        place = self._begin(item)
        event = "reasoning_text" if aloud else "reasoning_summary_text"
        for number, pieces in enumerate(parts):
            at = {**place, "content_index" if aloud else "summary_index": number}
            if not aloud:
                self._write("response.reasoning_summary_part.added", **at, part={"type": kind, "text": ""})
            self._deltas(f"response.{event}", at, pieces, text="".join(pieces))
        self._end({**item, name: whole, "encrypted_content": sealed})

    def speaks(self, parts: list[tuple[str, list[str]]]) -> None:
        item = {"id": self._id("msg"), "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        place, whole = self._begin(item), []
        for number, (kind, pieces) in enumerate(parts):
            field = "refusal" if kind == "refusal" else "text"
            more = {} if kind == "refusal" else {"annotations": [], "logprobs": []}
            at = {**place, "content_index": number}
            self._write("response.content_part.added", **at, part={"type": kind, field: "", **more})
            self._deltas(f"response.{kind}", at, pieces, **{field: "".join(pieces)})
            whole.append({"type": kind, field: "".join(pieces), **more})
            self._write("response.content_part.done", **at, part=whole[-1])
        self._end({**item, "status": "completed", "content": whole})

    def calls(self, name: str, pieces: list[str]) -> None:
        item = {"id": self._id("fc"), "type": "function_call", "status": "in_progress", "name": name, "arguments": ""}
        item["call_id"] = f"call_{len(self._output)}"
        place = self._begin(item)
        self._deltas("response.function_call_arguments", place, pieces, arguments="".join(pieces))
        self._end({**item, "status": "completed", "arguments": "".join(pieces)})

    def _deltas(self, kind: str, place: Json, pieces: list[str], **whole: str) -> None:
        logprobs = {"logprobs": []} if kind == "response.output_text" else {}
        for piece in pieces:
            self.deltas.append(len(self.frames))
            self._write(f"{kind}.delta", **place, delta=piece, **logprobs, obfuscation="x7Kq")
        self._write(f"{kind}.done", **place, **whole, **logprobs)

    def _id(self, kind: str) -> str:
        return f"{kind}_{len(self._output)}"

    def _begin(self, item: Json) -> Json:
        self._write("response.output_item.added", output_index=len(self._output), item=item)
        return {"item_id": item["id"], "output_index": len(self._output)}

    def _end(self, item: Json) -> None:
        self._write("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)

    def _response(self, status: str, usage: object) -> Json:
        why = {"reason": self._reason} if status == "incomplete" else None
        return {**self._head, "status": status, "incomplete_details": why, "output": [*self._output], "usage": usage}

    def _write(self, kind: str, **fields: object) -> None:
        self.frames.append(written(kind, sequence_number=next(self._numbers), **fields))


def written(kind: str, **fields: object) -> bytes:
    """One event."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode({"type": kind, **fields}))


letters = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
texts = letters | st.sampled_from(["héllo ", "🌍\u2028", "日本", '"}\\', "\n\n", "data: [DONE]", "\ufeff"])
words = st.lists(texts, min_size=1, max_size=4)
counts = st.integers(0, 10**9)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, cached_tokens=counts, reasoning_tokens=counts)
thoughts = st.tuples(st.just("thinks"), st.lists(words, max_size=3), st.none() | letters, st.booleans())
speeches = st.tuples(
    st.just("speaks"),
    st.lists(st.tuples(st.sampled_from(["output_text", "output_text", "refusal"]), words), min_size=1, max_size=2),
)
made = st.tuples(st.just("calls"), st.sampled_from(["shell", "read_file"]), st.lists(texts, max_size=4))
NOISE = [
    b": keep-alive\n\n",
    b'event: keepalive\ndata: {"type":"keepalive"}\n\n',
    b'event: response.something.new\nretry: 10\ndata: {"type":"response.something.new",\ndata: "x":[1]}\n\n',
]


@st.composite
def recordings(draw: st.DrawFn) -> Recorder:
    """Any answer: thoughts, summaries, seals, messages of several parts, refusals, calls, in any order and number."""
    recorder = Recorder(draw(st.sampled_from([None, None, *STOPS])), draw(usages))
    for does, *what in draw(st.lists(thoughts | speeches | made, max_size=6)):
        getattr(recorder, does)(*what)
    return recorder


noises = st.lists(st.tuples(st.integers(0, 99), st.sampled_from(NOISE)), max_size=3)
places = st.lists(st.integers(0, 99_999), max_size=12)


def cut(data: bytes, places: list[int]) -> Reply:
    """A stream in pieces that end at these bytes."""
    ends = sorted({place % len(data) for place in places} | {0, len(data)})
    return Reply(frames=tuple(data[start:end] for start, end in pairwise(ends)), apart=True)


@given(recorder=recordings(), noise=noises, places=places, crlf=st.booleans())
@bounded
def test_any_answer_cut_anywhere_is_understood_alike(oracle, recorder, noise, places, crlf):
    """Same parts in the same order, seals, arguments, usage and stop reason, with noise between and either line end."""
    frames = recorder.finished()
    for place, data in noise:
        frames.insert(1 + place % (len(frames) - 1), data)
    data = b"".join(frames)
    oracle.compare(cut(data.replace(b"\n", b"\r\n") if crlf else data, places))


def test_thoughts_aloud_in_the_events_of_open_models_are_understood_alike(oracle):
    """No part of them is announced as OpenAI does it, and their text is the item's content, not a summary."""
    recorder = Recorder(None, Usage(input_tokens=1, output_tokens=2))
    recorder.thinks([["The user ", "says hi."]], None, aloud=True)
    recorder.speaks([("output_text", ["Hi", "!"])])
    part = {"type": "reasoning_text", "text": ""}
    place = {"item_id": "rs_0", "output_index": 0, "content_index": 0}
    recorder.finished().insert(3, written("response.content_part.added", **place, part=part))
    heard = oracle.compare(Reply(frames=tuple(recorder.frames)))

    assert [part[:2] for part in heard.parts] == [
        ("reasoning", "The user says hi."),
        ("seal", "rs_0"),
        ("text", "Hi!"),
    ]


@given(recorder=recordings(), number=st.integers(0, 99))
@settings(bounded, max_examples=20)
def test_a_repeated_delta_is_taken_once_by_both(oracle, recorder, number):
    """The SDK trusts the last event, we the numbers; the text is the same. (Its snapshots would have it twice.)"""
    if not recorder.deltas:
        return
    at = recorder.deltas[number % len(recorder.deltas)]
    frames = [*recorder.finished()]
    frames.insert(at, frames[at])
    whole = Reply(frames=tuple(frames))

    ours = oracle.ours(whole)
    frames.pop(at)
    assert ours == oracle.theirs(Reply(frames=tuple(frames)))


@st.composite
def scripted(draw: st.DrawFn) -> Reply:
    """What the scripted provider can be told to say, calls with interleaved arguments included."""
    kinds = st.builds(Thought, texts) | st.builds(Sealed, letters) | st.builds(Said, texts) | st.builds(Refused, texts)
    pieces: list[Piece] = draw(st.lists(kinds, max_size=6))
    number = draw(st.integers(0, 3))
    pieces += [Called(index, f"call_{index}", "shell") for index in range(number)]
    if number:
        pieces += draw(st.lists(st.builds(Written, st.integers(0, number - 1), texts), max_size=8))
    return answers(*pieces, finish=draw(st.sampled_from(["stop", "length", "content_filter"])), usage=draw(usages))


@given(reply=scripted())
@bounded
def test_what_the_scripted_provider_says_is_understood_alike(oracle, reply):
    """Its streams and its whole answers are OpenAI's to the SDK, too."""
    streamed = oracle.compare(reply)
    whole = Reply(content_type="application/json", frames=(RESPONSES.whole(reply.content),))

    assert oracle.ours(whole) == oracle.theirs_whole(reply) == streamed


STATUSES = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529]


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("form", ["json", "html", "empty"])
def test_a_refusal_is_one_on_both_sides_and_tried_again_by_both_or_neither(oracle, status, form):
    """Whatever the body; the SDK says what may be tried again."""
    reply = {"json": fails(status, "no"), "html": web_page(status), "empty": fails(status, body=b"")}[form]
    ours, theirs = oracle.failures(reply)

    assert (ours.status, theirs.status_code) == (status, status)
    assert ours.retryable == oracle.would_retry(status)
    assert ("no" in ours.message) == (form == "json")


@pytest.mark.parametrize(
    "headers",
    [{}, {"retry-after": "7"}, {"retry-after-ms": "250", "retry-after": "9"}, {"retry-after": "soon"}],
)
def test_how_long_to_wait_is_read_alike(oracle, headers):
    """In seconds or milliseconds, or not at all."""
    ours, _theirs = oracle.failures(fails(429, headers=headers))

    assert ours.retry_after == oracle.retry_after(headers)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (answers(Said("a"), Refusal(message="overloaded", code="server_error")), "provider_error"),
        (answers(Said("a"), Refusal(message="slow", code="rate_limit_exceeded")), "rate_limited"),
        (inserts(says("ab", chunks=2), 2, b'data: {"error":{"message":"boom"}}\n\n'), "provider_error"),
        (says("ab", finish="error"), "provider_error"),
        (inserts(says("ab", chunks=2), 2, b"data: {oops\n\n"), "provider_failed"),
        (inserts(says("ab", chunks=2), 2, b"data: <html>\n\n"), "provider_failed"),
        (breaks(says("ab", chunks=2), 2, "cut"), "stream_cut"),
        (breaks(says("ab", chunks=2), 2, "reset"), "stream_cut"),
        (breaks(says("ab", chunks=2), 2, "whole"), "stream_cut"),
        (breaks(says("ab", chunks=2), 2, "stall"), "stalled"),
        (never_begins("cut"), "provider_failed"),
        (never_begins("reset"), "provider_failed"),
        (never_begins("stall"), "stalled"),
    ],
)
def test_a_stream_that_fails_fails_on_both_sides_and_here_as_one_kind_of_error(oracle, reply, code):
    """An error in the middle, garbage, a broken connection, an early end, silence: many errors there, here one."""
    ours, _theirs = oracle.failures(reply)

    assert (ours.code, ours.retryable) == (code, True)


@given(recorder=recordings(), place=st.integers(0, 99_999))
@bounded
def test_an_answer_that_ends_early_anywhere_is_whole_on_neither_side(oracle, recorder, place):
    """Not even where all its items are there: only the last event says that it is complete."""
    frames = recorder.finished()
    data = b"".join(frames)[: place % len(b"".join(frames[:-1]))]
    ours, _theirs = oracle.failures(Reply(frames=(data,)))

    assert (ours.code, ours.retryable) == ("stream_cut", True)


def conversation() -> tuple[Message, ...]:
    call = ToolCallPart(content=ToolCallContent(id="c1", name="shell", args=msgspec.Raw(b'{"command":"ls"}')))
    picture = Image(ref="x.png", mime_type="image/png")
    shown = (
        *(Text(text="look"), picture, Audio(ref="x.wav", mime_type="audio/wav")),
        *(File(ref="a.pdf", mime_type="application/pdf"), File(ref="n.md", mime_type="text/markdown")),
    )
    seal = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}'
    thought = Reasoning(text="", provider="openai", model="gpt-5", signature=seal)
    mark = msgspec.structs.replace(thought, signature='{"type":"message","phase":"commentary"}')
    result = ToolResultContent(id="c1", name="shell", ok=True, parts=(Text(text="a"), picture))
    said = {
        "user": shown,
        "assistant": (thought, mark, Text(text="so"), call),
        "tool": (ToolResultPart(content=result),),
    }
    return tuple(
        Message(id=f"msg_{role}", role=role, parts=parts, created_at="", status="complete")
        for role, parts in said.items()
    )


OPTIONS: Json = {
    "temperature": 0.5,
    "top_p": 1.0,
    "max_tokens": 9,
    "reasoning_effort": "low",
    "reasoning_summary": "auto",
    "schema": {"type": "object"},
}


def test_a_request_is_one_the_sdk_could_have_made(sdk):
    """Checked against its own types: every kind of message and part, tools, options and a schema."""
    from pydantic import ConfigDict, TypeAdapter, with_config

    request = ModelRequest(
        system="be brief",
        messages=conversation(),
        tools=(ToolDefinition(name="shell", description="Run.", input_schema={"type": "object"}, kind=ToolKind.READ),),
        options=OPTIONS,
        files={"x.png": b"\x89PNG\r\n\x1a\n", "x.wav": b"RIFF", "a.pdf": b"%PDF-", "n.md": b"# notes"},
    )
    body = msgspec.json.decode(encode_request("openai", "gpt-5", request))
    strict = with_config(ConfigDict(extra="forbid"))(sdk.params.ResponseCreateParamsStreaming)

    assert settled(TypeAdapter(strict).validate_python(body)) == body


def settled(value: Any) -> Any:
    """Read a checked value to its end: lists are checked only as they are read."""
    if isinstance(value, dict):
        return {name: settled(one) for name, one in value.items()}
    return [settled(one) for one in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value
