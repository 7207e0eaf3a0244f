"""OpenAI's own SDK is the oracle: both sides hear the same bytes from one server, and have to understand the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.config.values import Secret
from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, StreamItem, TextDelta
from agi.models.limits import Limits
from agi.models.openai_chat import OpenAIChat
from agi.models.openai_chat_format import encode_request
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
from agi.testing.openai_chat_wire import CHAT
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Called,
    Piece,
    Refusal,
    Refused,
    Reply,
    Said,
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
    web_page,
)

NOW = 1_000_000_000.0
ASKED = Message(id="msg_1", role="user", parts=(Text(text="hello"),), created_at="", status="complete")
REQUEST = ModelRequest(system="be brief", messages=(ASKED,))
STOPS: dict[str, StopReason] = {"length": "max_tokens", "content_filter": "refusal"}
bounded = settings(max_examples=40, derandomize=True, deadline=None)


class Heard(msgspec.Struct, kw_only=True):
    """What one side understood of an answer."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, str]] = []
    stop: str = ""
    usage: Usage = Usage(requests=1)


class Oracle:
    """Our adapter and the SDK at one server that answers whatever it was told last, in one loop."""

    def __init__(self, sdk: Any, patience: float) -> None:
        self._sdk = sdk
        self._patience = patience
        self._runner = asyncio.Runner()
        self._server = ProviderServer(lambda _asked: self._reply)
        self._reply = Reply()
        self._run(self._open())

    def close(self) -> None:
        self._run(self._close())
        self._runner.close()

    def compare(self, reply: Reply) -> Heard:
        """Both hear the same; returns what."""
        ours, theirs = self.ours(reply), self.theirs(reply)
        assert ours == theirs
        return ours

    def ours(self, reply: Reply) -> Heard:
        self._reply = reply
        return self._run(self._hear_ours())

    def theirs(self, reply: Reply) -> Heard:
        self._reply = reply
        return self._run(self._hear_theirs())

    def theirs_whole(self, reply: Reply) -> Heard:
        self._reply = reply
        return self._run(self._hear_theirs_whole())

    def failures(self, reply: Reply) -> tuple[ModelError, Exception]:
        """Both fail; returns how."""
        with pytest.raises(ModelError) as ours:
            self.ours(reply)
        with pytest.raises(Exception) as theirs:  # of any kind: the SDK lets errors of its own parts through
            self.theirs(reply)
        return ours.value, theirs.value

    def would_retry(self, status: int, headers: Mapping[str, str]) -> bool:
        return bool(self._client._should_retry(self._response(status, headers)))

    def retry_after(self, headers: Mapping[str, str]) -> float | None:
        found: float | None = self._client._parse_retry_after_header(self._response(429, headers).headers)
        return found

    def _response(self, status: int, headers: Mapping[str, str]) -> Any:
        return self._sdk.httpx2.Response(status, headers=headers)

    def _run(self, coroutine: Any) -> Any:
        return self._runner.run(coroutine)

    async def _open(self) -> None:
        await self._server.__aenter__()
        limit = self._sdk.httpx2.Timeout(2.0, read=self._patience)
        self._client = self._sdk.openai.AsyncOpenAI(
            base_url=self._server.base_url, api_key="sk-none-at-all", max_retries=0, timeout=limit
        )
        self._http = HttpClient()
        self._model = OpenAIChat(
            self._http,
            provider="openai",
            name="gpt-5",
            base_url=self._server.base_url,
            api_key=Secret("sk-none-at-all"),
            limits=Limits(first_byte=self._patience, idle=self._patience, thinking=self._patience),
            clock=lambda: NOW,
        )

    async def _close(self) -> None:
        await self._client.close()
        await self._http.close()
        await self._server.__aexit__()

    async def _hear_ours(self) -> Heard:
        return understood([item async for item in self._model.stream(REQUEST)])

    async def _hear_theirs(self) -> Heard:
        state = self._sdk.State()
        heard, usage = Heard(), None
        async for chunk in await self._client.chat.completions.create(
            model="gpt-5", messages=[], stream=True, stream_options={"include_usage": True}
        ):
            state.handle_chunk(chunk)
            usage = chunk.usage or usage
            for choice in chunk.choices:
                extra = choice.delta.model_extra or {}
                heard.reasoning += extra.get("reasoning_content") or extra.get("reasoning") or ""
                heard.text += (choice.delta.content or "") + (choice.delta.refusal or "")
        return completed(heard, state.current_completion_snapshot.choices[0], usage)

    async def _hear_theirs_whole(self) -> Heard:
        whole = await self._client.chat.completions.create(model="gpt-5", messages=[])
        message = whole.choices[0].message
        extra = message.model_extra or {}
        said = (message.content or "") + (message.refusal or "")
        return completed(
            Heard(text=said, reasoning=extra.get("reasoning_content") or ""), whole.choices[0], whole.usage
        )


def understood(items: list[StreamItem]) -> Heard:
    last = items[-1]
    assert isinstance(last, Finished)
    return Heard(
        text="".join(item.text for item in items if isinstance(item, TextDelta)),
        reasoning="".join(item.text for item in items if isinstance(item, ReasoningDelta)),
        calls=[(item.id, item.name, item.arguments) for item in items if isinstance(item, CallMade)],
        stop=last.stop_reason,
        usage=last.usage,
    )


def completed(heard: Heard, choice: Any, usage: Any) -> Heard:
    """Add what the SDK put together at the end, its words for the stop and the cost turned into ours."""
    made = choice.message.tool_calls or []
    heard.calls = [(call.id, call.function.name, call.function.arguments) for call in made]
    heard.stop = STOPS.get(choice.finish_reason, "tool_calls" if made else "end_turn")
    heard.stop = "refusal" if choice.message.refusal else heard.stop
    if usage is not None:
        heard.usage = Usage(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cached_tokens=(usage.prompt_tokens_details and usage.prompt_tokens_details.cached_tokens) or 0,
            reasoning_tokens=(usage.completion_tokens_details and usage.completion_tokens_details.reasoning_tokens)
            or 0,
            requests=1,
        )
    return heard


@pytest.fixture(scope="session")
def sdk() -> SimpleNamespace:
    """The SDK, imported once and late: it takes its time."""
    import httpx2
    import openai
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import completion_create_params

    return SimpleNamespace(
        httpx2=httpx2, openai=openai, State=ChatCompletionStreamState, params=completion_create_params
    )


@pytest.fixture(scope="module")
def oracle(sdk: SimpleNamespace) -> Iterator[Oracle]:
    both = Oracle(sdk, patience=20.0)
    yield both
    both.close()


@pytest.fixture(scope="module")
def impatient(sdk: SimpleNamespace) -> Iterator[Oracle]:
    both = Oracle(sdk, patience=0.05)
    yield both
    both.close()


def cut(data: bytes, places: list[int]) -> Reply:
    """A stream in pieces that end at these bytes."""
    ends = sorted({place % len(data) for place in places} | {0, len(data)})
    return Reply(frames=tuple(data[start:end] for start, end in pairwise(ends)), apart=True)


def stream_of(reply: Reply, noise: list[tuple[int, bytes]]) -> bytes:
    assert reply.content
    frames = list(CHAT.frames(reply.content))
    for place, data in noise:
        frames.insert(place % len(frames), data)
    return b"".join(frames)


letters = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
texts = letters | st.sampled_from(["héllo ", "🌍\u2028", "日本", '"}\\', "\n\n", "data: [DONE]", "\ufeff"])
counts = st.integers(0, 10**9)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, cached_tokens=counts, reasoning_tokens=counts)
NOISE = [
    b": keep-alive\n\n",
    b'data: {"id":"x","object":"chat.completion.chunk","created":0,"model":"m","choices":[],"usage":null}\n\n',
    b"event: message\ndata: "
    b'{"id":"x","object":"chat.completion.chunk","created":0,"model":"m","choices":[],"new":{"a":[1]}}\n\n',
    b'data: {"id":"x","object":"chat.completion.chunk",\ndata: "created":0,"model":"m",\ndata: "choices":[]}\n\n',
]


@st.composite
def conversations(draw: st.DrawFn) -> Reply:
    """Any answer: thoughts, text, a refusal, parallel calls whose arguments come interleaved, any end and any cost."""
    pieces: list[Piece] = draw(st.lists(st.builds(Thought, texts), max_size=3))
    pieces += draw(st.lists(st.builds(Said, texts), max_size=5))
    pieces += draw(st.lists(st.builds(Refused, texts), max_size=1))
    number = draw(st.integers(0, 3))
    pieces += [Called(index, f"call_{index}", draw(st.sampled_from(["shell", "read_file"]))) for index in range(number)]
    if number:
        written = st.builds(Written, st.integers(0, number - 1), texts)
        pieces += draw(st.lists(written, max_size=8))
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    return answers(*pieces, finish=finish, usage=draw(usages))


noises = st.lists(st.tuples(st.integers(0, 99), st.sampled_from(NOISE)), max_size=3)
places = st.lists(st.integers(0, 99_999), max_size=12)


@given(reply=conversations(), noise=noises, places=places, crlf=st.booleans())
@bounded
def test_any_answer_cut_anywhere_is_understood_alike(oracle, reply, noise, places, crlf):
    """Same text, reasoning, calls, arguments, usage and stop reason, with noise in between and either line end."""
    data = stream_of(reply, noise)
    oracle.compare(cut(data.replace(b"\n", b"\r\n") if crlf else data, places))


@given(reply=conversations())
@bounded
def test_an_answer_in_one_piece_is_understood_alike(oracle, reply):
    """A server that does not stream is asked by the SDK for that, and answers us so all the same."""
    whole = Reply(content_type="application/json", frames=(CHAT.whole(reply.content),))

    assert oracle.ours(whole) == oracle.theirs_whole(reply)


def chunks(*choices: Mapping[str, object], usage: object = None, **more: object) -> bytes:
    """A recorded stream: one event a choice, then the cost, if it came."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", **more}
    events: list[dict[str, object]] = [{**head, "choices": [{"index": 0, **choice}]} for choice in choices]
    events += [{**head, "choices": [], "usage": usage}] if usage else []
    return b"".join(b"data: %b\n\n" % msgspec.json.encode(event) for event in events) + b"data: [DONE]\n\n"


def tool(index: int, arguments: str, **more: object) -> dict[str, object]:
    name = more.pop("name", None)
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"delta": {"tool_calls": [{"index": index, **more, "function": function}]}, "finish_reason": None}


RECORDED = {
    "openai": chunks(
        {"delta": {"role": "assistant", "content": None, "refusal": None}, "logprobs": None, "finish_reason": None},
        tool(0, "", id="call_a", type="function", name="shell"),
        *(tool(0, piece) for piece in ('{"', "command", '":"', "ls", '"}')),
        tool(1, "", id="call_b", type="function", name="read_file"),
        tool(1, '{"path":"ä"}'),
        {"delta": {}, "logprobs": None, "finish_reason": "tool_calls"},
        usage={
            "prompt_tokens": 82,
            "completion_tokens": 17,
            "total_tokens": 99,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 9, "accepted_prediction_tokens": 0},
        },
        service_tier="default",
        system_fingerprint="fp_1",
        obfuscation="x7k",
    ),
    "azure": b'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":['
    b'{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}\n\n'
    + chunks(
        {"delta": {"role": "assistant", "content": ""}, "content_filter_results": {}, "finish_reason": None},
        {"delta": {"content": "Hi"}, "content_filter_results": {"hate": {"filtered": False}}, "finish_reason": None},
        {"delta": {}, "content_filter_results": {}, "finish_reason": "content_filter"},
    ),
    "deepseek": chunks(
        {"delta": {"role": "assistant", "content": None, "reasoning_content": ""}, "finish_reason": None},
        {"delta": {"content": None, "reasoning_content": "Hm."}, "finish_reason": None},
        {"delta": {"content": "Yes.", "reasoning_content": None}, "finish_reason": None},
        {"delta": {"content": "", "reasoning_content": None}, "finish_reason": "stop"},
        usage={
            "prompt_tokens": 16,
            "completion_tokens": 10,
            "total_tokens": 26,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 4},
            "prompt_cache_hit_tokens": 8,
            "prompt_cache_miss_tokens": 8,
        },
    ),
    "ollama": chunks(
        {"delta": {"role": "assistant", "content": "", "reasoning": "Let me "}, "finish_reason": None},
        {"delta": {"role": "assistant", "content": "", "reasoning": "see."}, "finish_reason": None},
        {
            "delta": {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "call_x", "index": 0, "type": "function", "function": {"name": "shell", "arguments": "{}"}}
                ],
            },
            "finish_reason": None,
        },
        {"delta": {"role": "assistant", "content": ""}, "finish_reason": "tool_calls"},
        usage={"prompt_tokens": 180, "completion_tokens": 30, "total_tokens": 210},
        system_fingerprint="fp_ollama",
    ),
    "llama.cpp": chunks(
        {"finish_reason": None, "delta": {"role": "assistant", "content": None}},
        {"finish_reason": None, "delta": {"content": "Hel"}},
        {"finish_reason": None, "delta": {"content": "lo"}},
        {"finish_reason": "length", "delta": {}},
        usage={"completion_tokens": 2, "prompt_tokens": 9, "total_tokens": 11},
        timings={"prompt_n": 1, "prompt_ms": 12.5},
    ),
    "vllm": chunks(
        {"delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None, "token_ids": None},
        {"delta": {"reasoning": "hm", "reasoning_content": "hm"}, "logprobs": None, "finish_reason": None},
        {"delta": {"content": "2"}, "logprobs": None, "finish_reason": None},
        {"delta": {"content": ""}, "logprobs": None, "finish_reason": "stop", "stop_reason": None},
        usage={"prompt_tokens": 5, "total_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": None},
    ),
    "openrouter": b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n"
    + chunks(
        {
            "delta": {
                "role": "assistant",
                "content": "",
                "reasoning": "Hm",
                "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "format": "x", "index": 0}],
            },
            "finish_reason": None,
            "native_finish_reason": None,
        },
        {"delta": {"role": "assistant", "content": "ok"}, "finish_reason": None, "native_finish_reason": None},
        {"delta": {"role": "assistant", "content": ""}, "finish_reason": "stop", "native_finish_reason": "end_turn"},
        usage={"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "cost": 0.0001, "is_byok": False},
        provider="Anthropic",
    ),
    "groq": chunks(
        {"delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None},
        {"delta": {"content": "Fast."}, "logprobs": None, "finish_reason": None},
        {"delta": {}, "logprobs": None, "finish_reason": "stop"},
        usage={"queue_time": 0.02, "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, "total_time": 0.01},
        x_groq={"id": "req_1"},
    ),
}


@pytest.mark.parametrize("server", RECORDED)
@given(places=places)
@settings(bounded, max_examples=8)
def test_what_servers_were_seen_to_send_is_understood_alike(oracle, server, places):
    """Each with its own additions, cut anywhere."""
    heard = oracle.compare(cut(RECORDED[server], places))

    assert heard.stop
    assert heard.text or heard.calls


@given(reply=conversations(), number=st.integers(1, 12))
@settings(bounded, max_examples=20)
def test_a_repeated_chunk_is_taken_alike(oracle, reply, number):
    """Neither side guesses that a piece was sent twice by mistake."""
    assert reply.content
    pieces = [piece for piece in reply.content.pieces if not isinstance(piece, Called)]
    said = answers(*(piece for piece in pieces if not isinstance(piece, Written)), finish="stop")
    oracle.compare(repeats(said, number % (len(said.content.pieces) + 1)))


STATUSES = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529]


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("form", ["json", "html", "empty"])
def test_a_refusal_is_one_on_both_sides_and_tried_again_by_both_or_neither(oracle, status, form):
    """Whatever the body; the SDK says what may be tried again."""
    reply = {"json": fails(status, "no"), "html": web_page(status), "empty": fails(status, body=b"")}[form]
    ours, theirs = oracle.failures(reply)

    assert (ours.status, theirs.status_code) == (status, status)
    assert ours.retryable == oracle.would_retry(status, {})
    assert ("no" in ours.message) == (form == "json")


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("word", ["true", "false"])
def test_a_server_s_own_word_on_trying_again_counts_for_both(oracle, status, word):
    """`x-should-retry` is obeyed."""
    headers = {"x-should-retry": word}
    ours, _theirs = oracle.failures(fails(status, headers=headers))

    assert ours.retryable == oracle.would_retry(status, headers) == (word == "true")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"retry-after": "7"},
        {"retry-after": "0.25"},
        {"retry-after-ms": "250", "retry-after": "9"},
        {"retry-after": "soon"},
        {"retry-after-ms": "soon", "retry-after": "3"},
    ],
)
def test_how_long_to_wait_is_read_alike(oracle, headers):
    """In seconds or milliseconds, or not at all."""
    ours, _theirs = oracle.failures(fails(429, headers=headers))

    assert ours.retry_after == oracle.retry_after(headers)


@pytest.mark.parametrize(
    "headers", [{"retry-after": "Sun, 09 Sep 2001 01:46:50 GMT"}, {"retry-after": "Sun, 09 Sep 2001 01:46:50 +0000"}]
)
def test_a_date_to_wait_for_is_read_alike(oracle, headers, monkeypatch):
    """Both count from the same now."""
    monkeypatch.setattr("openai._base_client.time.time", lambda: NOW)
    ours, _theirs = oracle.failures(fails(429, headers=headers))

    assert ours.retry_after == oracle.retry_after(headers) == 10.0


@pytest.mark.parametrize(
    ("reply", "code", "retryable"),
    [
        (answers(Said("a"), Refusal(message="overloaded", kind="server_error")), "provider_error", True),
        (answers(Said("a"), Refusal(message="bad", kind="invalid_request_error")), "provider_error", False),
        (answers(Said("a"), Refusal(message="slow", code="rate_limit_exceeded")), "rate_limited", True),
        (inserts(says("ab", chunks=2), 2, b"data: {oops\n\n"), "provider_failed", True),
        (inserts(says("ab", chunks=2), 2, b"data: <html>\n\n"), "provider_failed", True),
        (breaks(says("ab", chunks=2), 2, "cut"), "stream_cut", True),
        (breaks(says("ab", chunks=2), 2, "reset"), "stream_cut", True),
        (never_begins("cut"), "provider_failed", True),
        (never_begins("reset"), "provider_failed", True),
    ],
)
def test_a_stream_that_fails_fails_on_both_sides_and_here_as_one_kind_of_error(oracle, reply, code, retryable):
    """An error in the middle, garbage, a broken connection: the SDK has many errors for these, we one."""
    ours, _theirs = oracle.failures(reply)

    assert (ours.code, ours.retryable) == (code, retryable)


@pytest.mark.parametrize("reply", [never_begins("stall"), breaks(says("ab", chunks=2), 2, "stall")])
def test_silence_runs_out_on_both_sides(impatient, reply):
    """Before the first word and after it; both may be asked again."""
    ours, theirs = impatient.failures(reply)

    assert (ours.code, ours.retryable) == ("stalled", True)
    assert "timed out" in str(theirs).lower() or "Timeout" in type(theirs).__name__


@pytest.mark.parametrize("reply", [says("ab", chunks=2), calls(("shell", {"command": "true"}), pieces=3)])
def test_an_answer_that_ends_early_is_only_noticed_here(oracle, reply):
    """The SDK takes a stream without an end for a whole one; here it is cut, and no half call is made."""
    early = breaks(reply, 3, "whole")

    with pytest.raises(ModelError) as caught:
        oracle.ours(early)
    assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)
    assert oracle.theirs(early).stop in ("end_turn", "tool_calls")


A_CALL = ToolCallPart(content=ToolCallContent(id="c1", name="shell", args=msgspec.Raw(b'{"command":"ls"}')))
FILES = {"x.png": b"\x89PNG", "x.wav": b"RIFF", "a.pdf": b"%PDF", "n.md": b"# notes"}


OPTIONS = {"temperature": 0.5, "top_p": 1.0, "seed": 7, "stop": ["x"], "max_tokens": 9, "reasoning_effort": "low"}


def test_a_request_is_one_the_sdk_could_have_made(sdk):
    """Checked against its own types: every kind of message and part, tools, options and a schema."""
    from pydantic import ConfigDict, TypeAdapter, with_config

    parts = (
        *(Text(text="look"), Image(ref="x.png", mime_type="image/png"), Audio(ref="x.wav", mime_type="audio/wav")),
        *(File(ref="a.pdf", mime_type="application/pdf"), File(ref="n.md", mime_type="text/markdown")),
    )
    result = ToolResultPart(content=ToolResultContent(id="c1", name="shell", ok=True, parts=(Text(text="a"),)))
    conversation = (("user", parts), ("assistant", (Reasoning(text="hm"), A_CALL)), ("tool", (result,)))
    request = ModelRequest(
        system="be brief",
        messages=tuple(
            Message(id=f"msg_{role}", role=role, parts=parts, created_at="", status="complete")
            for role, parts in conversation
        ),
        tools=(ToolDefinition(name="shell", description="Run.", input_schema={"type": "object"}, kind=ToolKind.READ),),
        options={**OPTIONS, "schema": {"type": "object"}},
        files=FILES,
    )
    body = msgspec.json.decode(encode_request("openai", "gpt-5", request, limit_name="max_completion_tokens"))
    strict = with_config(ConfigDict(extra="forbid"))(sdk.params.CompletionCreateParamsStreaming)
    checks = TypeAdapter(strict)  # kept: its lazy lists need it as long as they are read

    assert plain(checks.validate_python(body)) == body


def plain(value: object) -> object:
    """The value without the SDK's lazy lists, which check their items only when these are taken."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return value if isinstance(value, str) or not isinstance(value, Iterable) else [plain(item) for item in value]
