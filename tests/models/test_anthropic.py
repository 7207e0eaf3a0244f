"""The adapter against real sockets: what a server sends becomes stream items, whatever goes wrong one kind of error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from agi.config.values import Secret
from agi.errors import ModelError
from agi.models.anthropic import Anthropic
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.limits import Limits
from agi.net.http import HttpClient
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.testing.anthropic_wire import event
from agi.testing.formats import chunk
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Called,
    Refused,
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
    waits,
    web_page,
)

KEY = "sk-ant-test-0123456789abcdef"
QUICK = Limits(first_byte=0.05, idle=0.05, thinking=0.05)


def asking(text: str = "hello") -> ModelRequest:
    last = Message(id="msg_1", role="user", parts=(Text(text=text),), created_at="", status="complete")
    return ModelRequest(system="be brief", messages=(last,))


def model_at(client: HttpClient, base_url: str, limits: Limits | None = None):
    return Anthropic(
        client,
        provider="anthropic",
        name="claude-opus-5-5",
        base_url=base_url,
        api_key=Secret(KEY),
        limits=limits,
        clock=lambda: 1_000_000_000.0,
    )


async def ask(url: str, **how) -> list[StreamItem]:
    async with HttpClient() as client:
        return [item async for item in model_at(client, url, **how).stream(asking())]


async def listen_into(items: list[StreamItem], url: str) -> None:
    async with HttpClient() as client:
        async for item in model_at(client, url).stream(asking()):
            items.append(item)


async def ask_once(reply: Reply, **how) -> list[StreamItem]:
    async with ProviderServer([reply]) as server:
        return await ask(server.url, **how)


async def failure_of(reply: Reply, **how) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask_once(reply, **how)
    assert "anthropic (claude-opus-5-5)" in caught.value.message
    assert KEY not in caught.value.message + caught.value.hint
    assert caught.value.hint
    return caught.value


def text_of(items: list[StreamItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


@asynccontextmanager
async def raw_server(answer: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    """A server that reads one request and then writes whatever bytes it likes."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        try:
            await answer(writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.gather(*tasks, return_exceptions=True)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PING = event("ping")
# As the documentation shows a stream with thinking and tools.
RECORDED = Reply(
    frames=(
        event(
            "message_start",
            message={
                "id": "msg_01",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": "claude-opus-5-5",
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 11, "cache_read_input_tokens": 5, "output_tokens": 1},
            },
        ),
        event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
        PING,
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Überlegen…"}),
        event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "EqQB+/=="}),
        event("content_block_stop", index=0),
        event("content_block_start", index=1, content_block={"type": "text", "text": ""}),
        event("content_block_delta", index=1, delta={"type": "text_delta", "text": "héllo "}),
        event("content_block_delta", index=1, delta={"type": "text_delta", "text": "wörld 🌍\u2028"}),
        event("content_block_stop", index=1),
        event(
            "content_block_start",
            index=2,
            content_block={"type": "tool_use", "id": "toolu_a", "name": "shell", "input": {}},
        ),
        event("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": ""}),
        event("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '{"command":"ech'}),
        event("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": 'o ä"}'}),
        event("content_block_stop", index=2),
        event(
            "content_block_start",
            index=3,
            content_block={"type": "tool_use", "id": "toolu_b", "name": "read_file", "input": {}},
        ),
        event("content_block_delta", index=3, delta={"type": "input_json_delta", "partial_json": '{"path":"日本.md"}'}),
        event("content_block_stop", index=3),
        event(
            "message_delta",
            delta={"stop_reason": "tool_use", "stop_sequence": None},
            usage={"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 3}},
        ),
        b": keep-alive\n\n",
        event("message_stop"),
    )
)
EXPECTED: list[StreamItem] = [
    ReasoningDelta("Überlegen…"),
    ReasoningSealed('{"type":"thinking","signature":"EqQB+/=="}'),
    TextDelta("héllo "),
    TextDelta("wörld 🌍\u2028"),
    CallMade("toolu_a", "shell", '{"command":"echo ä"}'),
    CallMade("toolu_b", "read_file", '{"path":"日本.md"}'),
    Finished(
        stop_reason="tool_calls",
        usage=Usage(input_tokens=16, output_tokens=7, cached_tokens=5, reasoning_tokens=3, requests=1),
    ),
]


async def test_text_reasoning_calls_and_usage_arrive_in_order():
    """A stream becomes deltas as they come, then the calls, then how it ended and what it cost."""
    assert await ask_once(RECORDED) == EXPECTED


async def test_the_network_may_cut_the_stream_at_any_byte():
    """However the bytes are cut, letters and events included, the same items come out."""
    data = b"".join(RECORDED.frames)
    replies = [Reply(frames=(data[:at], data[at:]), apart=True) for at in range(1, len(data), 3)]
    async with ProviderServer(replies) as server, HttpClient() as client:
        model = model_at(client, server.url)
        for _ in replies:
            assert [item async for item in model.stream(asking())] == EXPECTED


async def test_the_stream_may_arrive_byte_by_byte():
    """One byte a write gives the same items."""
    assert await ask_once(slices(RECORDED, 1)) == EXPECTED


async def test_a_stream_that_breaks_off_anywhere_fails_and_makes_no_call():
    """Cut at any byte before its end is told, a stream fails as retryable and no call is made."""
    data = b"".join(RECORDED.frames)
    complete = data.index(b'"stop_reason":"tool_use"')
    cuts = range(0, complete, 29)
    async with ProviderServer([Reply(frames=(data[:at],) if at else (), ending="cut") for at in cuts]) as server:
        for _ in cuts:
            items: list[StreamItem] = []
            with pytest.raises(ModelError) as caught:
                await listen_into(items, server.url)
            assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)
            assert items == EXPECTED[: len(items)]
            assert not any(isinstance(item, CallMade | Finished) for item in items)


async def test_a_stream_that_breaks_after_its_stop_reason_is_whole():
    """Once the reason and the cost are in, nothing is missing."""
    items = await ask_once(breaks(says("all of it"), 3, "reset"))

    usage = Usage(input_tokens=10, output_tokens=1, requests=1)
    assert items == [TextDelta("all of it"), Finished(stop_reason="end_turn", usage=usage)]


async def test_a_server_that_stays_silent_after_its_stop_reason_is_not_waited_for():
    """The end is waited for a little, then the answer stands."""
    items = await ask_once(breaks(says("all"), 3, "stall"), limits=Limits(last_words=0.02))

    assert items[-1].stop_reason == "end_turn"


async def test_a_clean_end_without_a_stop_reason_is_a_cut_stream():
    """An orderly end of the body does not make an answer complete."""
    error = await failure_of(breaks(says("half of it"), 2, "whole"))

    assert (error.code, error.retryable) == ("stream_cut", True)


async def test_a_server_that_does_not_stream_is_understood():
    """One JSON object is the same answer."""
    reply = calls(("shell", {"command": "true"}, "toolu_x"), text="see")
    async with ProviderServer([reply]) as server, HttpClient() as client:
        response = await client.request("POST", server.url + "/v1/messages", body=b'{"stream":false}')
        whole = await response.read()
    items = await ask_once(Reply(content_type="application/json", frames=(whole,)))

    assert items[:2] == [TextDelta("see"), CallMade("toolu_x", "shell", '{"command":"true"}')]
    assert items[2].stop_reason == "tool_calls"


async def test_the_scripted_provider_speaks_this_format():
    """Whatever a script says comes out as said: thoughts, seals, words, calls that overlap, why it ended, the cost."""
    spent = Usage(input_tokens=30, output_tokens=9, cached_tokens=20, reasoning_tokens=4, requests=1)
    pieces = (
        *(Thought("a"), Thought("b"), Sealed("sig"), Sealed("opaque"), Said("c"), Refused("d")),
        *(
            Called(0, "toolu_0", "x"),
            Called(1, "toolu_1", "y"),
            Written(0, '{"n":'),
            Written(1, "{}"),
            Written(0, "1}"),
        ),
    )
    items = await ask_once(answers(*pieces, finish="tool_calls", usage=spent))

    assert items == [
        ReasoningDelta("a"),
        ReasoningDelta("b"),
        ReasoningSealed('{"type":"thinking","signature":"sig"}'),
        ReasoningSealed('{"type":"redacted_thinking","data":"opaque"}'),
        TextDelta("c"),
        TextDelta("d"),
        CallMade("toolu_0", "x", '{"n":1}'),
        CallMade("toolu_1", "y", "{}"),
        Finished(stop_reason="tool_calls", usage=spent),
    ]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("pause_turn", "end_turn")],
)
async def test_every_stop_reason_has_its_word(finish, reason):
    """As scripts name them."""
    assert (await ask_once(says("x", finish=finish)))[-1].stop_reason == reason


ERRORS = [
    (fails(400, "messages: roles must alternate"), "provider_failed", False),
    (fails(400, "prompt is too long: 208310 tokens > 200000 maximum"), "context_overflow", False),
    (fails(400, "input length and `max_tokens` exceed context limit: 19 + 8 > 20"), "context_overflow", False),
    (fails(400, "Your credit balance is too low to access the Anthropic API."), "provider_failed", False),
    (fails(401, "invalid x-api-key"), "provider_auth", False),
    (fails(402, "billing"), "provider_failed", False),
    (fails(403, "no access"), "provider_auth", False),
    (fails(404, "model: claude-nine"), "model_not_found", False),
    (fails(408, "timeout"), "provider_failed", True),
    (fails(409, "conflict"), "provider_failed", True),
    (fails(413, "Request exceeds the maximum size"), "context_overflow", False),
    (fails(422, "unprocessable"), "provider_failed", False),
    (fails(429, "This request would exceed your rate limit"), "rate_limited", True),
    (fails(500, "Internal server error"), "provider_failed", True),
    (fails(503, body=b"upstream connect error"), "provider_failed", True),
    (fails(504, "timed out"), "provider_failed", True),
    (fails(529, "Overloaded"), "provider_failed", True),
    (fails(302, headers={"location": "http://127.0.0.1:1/"}), "provider_failed", False),
    (fails(500, body=b""), "provider_failed", True),
    (fails(500, body=b"[" * 200_000), "provider_failed", True),
    (fails(500, body=b'{"type":"error","error":{"message":"\xff"}}'), "provider_failed", True),
    (fails(500, body=b'{"type":"error","error":null}'), "provider_failed", True),
]


@pytest.mark.parametrize(("reply", "code", "retryable"), ERRORS)
async def test_a_refusal_says_what_it_is_and_whether_to_try_again(reply, code, retryable):
    """Each status becomes a code; only what may pass is retryable."""
    error = await failure_of(reply)

    assert (error.code, error.retryable, error.status) == (code, retryable, reply.status)


@pytest.mark.parametrize(("headers", "seconds"), [({"retry-after": "7"}, 7.0), ({}, None)])
async def test_a_rate_limit_says_how_long_to_wait(headers, seconds):
    """If the server does."""
    assert (await failure_of(fails(429, headers=headers))).retry_after == seconds


async def test_a_web_page_is_not_repeated():
    """A gateway's HTML becomes a short plain sentence; a captive portal is not a model."""
    assert "a web page instead" in (await failure_of(web_page(503))).message
    error = await failure_of(web_page(200))

    assert "web page" in error.message
    assert "providers.anthropic.baseUrl is the address of an Anthropic-compatible API" in error.hint


async def test_the_server_s_words_never_hold_the_key():
    """Not even where the server repeats it."""
    error = await failure_of(fails(401, f"invalid x-api-key: {KEY}"))

    assert "invalid x-api-key: [key]" in error.message
    assert "ANTHROPIC_API_KEY" in error.hint


@pytest.mark.parametrize(
    ("data", "code", "retryable"),
    [
        (
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
            "provider_error",
            True,
        ),
        (
            b'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"bad"}}\n\n',
            "provider_error",
            False,
        ),
        (b"event: error\ndata: plain words\n\n", "provider_error", True),
        (b"data: {not json}\n\n", "provider_failed", True),
        (b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":"x"}\n\n', "provider_failed", True),
        (b"data: " + b"[" * 100_000 + b"\n\n", "provider_failed", True),
    ],
)
async def test_an_error_in_the_stream_breaks_it_off(data, code, retryable):
    """What came before was told; then the error says what it is."""
    error = await failure_of(inserts(says("one two", chunks=2), 2, data))

    assert (error.code, error.retryable) == (code, retryable)


async def test_odd_but_harmless_events_are_passed_over():
    """Pings, unknown events, null fields, a repeated delta: nothing of it breaks an answer."""
    odd = PING + event("something_new") + b'data: {"type":"content_block_delta","delta":null}\n\ndata:\n\n'

    assert text_of(await ask_once(repeats(inserts(says("abc", chunks=3), 1, odd), 3))) == "abbc"


async def test_half_a_surrogate_pair_becomes_a_replacement_character():
    """No text can hold it; one bad letter is not worth an answer."""
    for letter in (b"\\ud83d", b"\xff"):
        data = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}\n\n' % letter

        assert text_of(await ask_once(inserts(says("!"), 1, data))) == "\ufffd!"


@pytest.mark.parametrize("ending", ["cut", "reset"])
async def test_a_server_that_hangs_up_before_its_headers_may_be_asked_again(ending):
    """Nothing was said, so nothing is lost."""
    error = await failure_of(never_begins(ending))

    assert (error.code, error.retryable) == ("provider_failed", True)


@pytest.mark.parametrize("reply", [never_begins(), breaks(says("one two", chunks=2), 2, "stall")])
async def test_silence_runs_out(reply):
    """Before the headers or in the middle: given up as retryable."""
    assert (await failure_of(reply, limits=QUICK)).retryable


@pytest.mark.parametrize("alive", [PING, b": still here\n\n"])
async def test_keep_alives_are_not_words(alive):
    """A stream of pings or comments keeps the connection, but not for ever."""

    async def only_alive(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for _ in range(1000):
            writer.write(chunk(alive))
            await writer.drain()
            await asyncio.sleep(0.002)

    async with raw_server(only_alive) as url:
        with pytest.raises(ModelError, match="without saying anything") as caught:
            await ask(url, limits=Limits(thinking=0.02))
    assert caught.value.retryable


@pytest.mark.parametrize("limits", [Limits(size=1000), Limits(total=0.0)])
async def test_an_answer_that_does_not_end_is_cut_off(limits):
    """A flood is stopped by size and by time, and not asked for again."""
    error = await failure_of(says("x" * 10_000, chunks=100), limits=limits)

    assert "was cut off" in error.message
    assert not error.retryable


async def test_closing_the_stream_early_hangs_up():
    """Who stops listening closes the socket, so that the provider stops working."""
    gate = asyncio.Event()
    async with ProviderServer([waits(says("one two", chunks=2), 2, gate)]) as server, HttpClient() as client:
        async with aclosing(model_at(client, server.url).stream(asking())) as items:
            assert await anext(items) == TextDelta("one")
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_the_connection_serves_the_next_request_too():
    """Answers read to their end leave the connection for the next one."""
    async with ProviderServer([says("one"), calls(("shell", {})), says("three")]) as server, HttpClient() as client:
        model = model_at(client, server.url)
        texts = [text_of([item async for item in model.stream(asking())]) for _ in range(3)]

        assert texts == ["one", "", "three"]
        assert server.connections == 1


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
async def test_the_request_carries_the_key_and_the_version(path):
    """In their headers and nowhere else; the base URL may end in `/v1` or not."""
    async with ProviderServer([says("ok")]) as server:
        await ask(server.url + path)
        asked = server.requests[0]

    assert (asked.path, asked.headers["x-api-key"]) == ("/v1/messages", KEY)
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in asked.headers
    assert KEY.encode() not in asked.body
    assert asked.json["stream"] is True


async def test_without_a_key_none_is_sent():
    """A server of one's own may want none; a line end after a key does no harm."""
    async with ProviderServer([says("ok"), says("ok")]) as server, HttpClient() as client:
        for key in (None, Secret("abc\n")):
            model = Anthropic(client, provider="x", name="m", base_url=server.url, api_key=key)
            assert text_of([item async for item in model.stream(asking())]) == "ok"

        assert [asked.headers.get("x-api-key") for asked in server.requests] == [None, "abc"]


async def test_a_key_that_cannot_be_sent_is_told_without_it():
    """A key with a line break in it would split the request; it is refused before anything is sent."""
    async with HttpClient() as client:
        model = Anthropic(client, provider="x", name="m", base_url="http://127.0.0.1:1", api_key=Secret("ab\r\ncdefgh"))
        with pytest.raises(ModelError) as caught:
            await anext(model.stream(asking()))

    assert not caught.value.retryable
    assert "cdefgh" not in caught.value.message + caught.value.hint
