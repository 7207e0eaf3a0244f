"""The adapter against real sockets: what a server sends becomes stream items, whatever goes wrong one kind of error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from agi.config.values import Secret
from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.limits import Limits
from agi.models.openai_chat import OpenAIChat
from agi.net.http import HttpClient
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.testing.formats import chunk
from agi.testing.openai_chat_wire import CHAT, frame
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Reply,
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

KEY = "sk-test-0123456789abcdef"
QUICK = Limits(first_byte=0.05, idle=0.05, thinking=0.05)


def asking(text: str = "hello", *earlier: Message) -> ModelRequest:
    last = Message(id="msg_1", role="user", parts=(Text(text=text),), created_at="", status="complete")
    return ModelRequest(system="be brief", messages=(*earlier, last))


def model_at(client: HttpClient, base_url: str, limits: Limits | None = None):
    return OpenAIChat(
        client,
        provider="openai",
        name="gpt-5",
        base_url=base_url,
        api_key=Secret(KEY),
        limits=limits,
        clock=lambda: 1_000_000_000.0,
    )


async def ask(base_url: str, request: ModelRequest | None = None, **how) -> list[StreamItem]:
    async with HttpClient() as client:
        return [item async for item in model_at(client, base_url, **how).stream(request or asking())]


async def listen_into(items: list[StreamItem], base_url: str) -> None:
    async with HttpClient() as client:
        async for item in model_at(client, base_url).stream(asking()):
            items.append(item)


async def ask_once(reply: Reply, **how) -> list[StreamItem]:
    async with ProviderServer([reply]) as server:
        return await ask(server.base_url, **how)


async def failure_of(reply: Reply, **how) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask_once(reply, **how)
    assert "openai" in caught.value.message
    assert "gpt-5" in caught.value.message
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
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        await asyncio.gather(*tasks, return_exceptions=True)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
RECORDED = Reply(
    frames=(
        frame({"role": "assistant", "content": ""}),
        frame({"reasoning_content": "Überlegen…"}),
        frame({"content": "héllo "}),
        frame({"content": "wörld 🌍\u2028"}),
        frame({"tool_calls": [{"index": 0, "id": "call_a", "function": {"name": "shell", "arguments": ""}}]}),
        frame({"tool_calls": [{"index": 0, "function": {"arguments": '{"command":"ech'}}]}),
        frame({"tool_calls": [{"index": 1, "id": "call_b", "function": {"name": "read_file", "arguments": ""}}]}),
        frame({"tool_calls": [{"index": 0, "function": {"arguments": 'o ä"}'}}]}),
        frame({"tool_calls": [{"index": 1, "function": {"arguments": '{"path":"日本.md"}'}}]}),
        frame({}, finish="tool_calls"),
        b": keep-alive\n\n",
        b'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":'
        b'{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":3}}}\n\n',
        b"data: [DONE]\n\n",
    )
)
EXPECTED: list[StreamItem] = [
    ReasoningDelta("Überlegen…"),
    ReasoningSealed("chat:reasoning_content"),
    TextDelta("héllo "),
    TextDelta("wörld 🌍\u2028"),
    CallMade("call_a", "shell", '{"command":"echo ä"}'),
    CallMade("call_b", "read_file", '{"path":"日本.md"}'),
    Finished(
        stop_reason="tool_calls",
        usage=Usage(input_tokens=11, output_tokens=7, cached_tokens=5, reasoning_tokens=3, requests=1),
    ),
]


async def test_text_reasoning_calls_and_usage_arrive_in_order():
    """A stream becomes deltas as they come, then the calls, then how it ended and what it cost."""
    assert await ask_once(RECORDED) == EXPECTED


async def test_the_network_may_cut_the_stream_at_any_byte():
    """However the bytes are cut, letters and events included, the same items come out."""
    data = b"".join(RECORDED.frames)
    replies = [Reply(frames=(data[:at], data[at:]), apart=True) for at in range(1, len(data))]
    async with ProviderServer(replies) as server, HttpClient() as client:
        model = model_at(client, server.base_url)
        for _ in replies:
            assert [item async for item in model.stream(asking())] == EXPECTED


async def test_the_stream_may_arrive_byte_by_byte():
    """One byte a write gives the same items."""
    assert await ask_once(slices(RECORDED, 1)) == EXPECTED


async def test_a_stream_that_breaks_off_anywhere_fails_and_makes_no_call():
    """Cut at any byte before its end is told, a stream fails as retryable and no half call is made."""
    data = b"".join(RECORDED.frames)
    complete = data.index(b'"finish_reason":"tool_calls"')
    cuts = range(0, complete, 11)
    async with ProviderServer([Reply(frames=(data[:at],) if at else (), ending="cut") for at in cuts]) as server:
        for _ in cuts:
            items: list[StreamItem] = []
            with pytest.raises(ModelError) as caught:
                await listen_into(items, server.base_url)
            assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)
            assert items == EXPECTED[: len(items)]
            assert not any(isinstance(item, CallMade | Finished) for item in items)


async def test_a_stream_that_breaks_after_its_finish_is_whole():
    """Once the finish reason is in, a lost connection costs only the usage."""
    items = await ask_once(breaks(says("all of it"), 3, "reset"))

    assert items == [TextDelta("all of it"), Finished(stop_reason="end_turn", usage=Usage(requests=1))]


async def test_a_server_that_stays_silent_after_its_finish_is_not_waited_for():
    """The cost is waited for a little, then the answer stands without it."""
    items = await ask_once(breaks(says("all"), 3, "stall"), limits=Limits(last_words=0.02))

    assert items[-1] == Finished(stop_reason="end_turn", usage=Usage(requests=1))


async def test_a_clean_end_without_a_finish_is_a_cut_stream():
    """An orderly end of the body does not make an answer complete."""
    error = await failure_of(breaks(says("half of it"), 2, "whole"))

    assert (error.code, error.retryable) == ("stream_cut", True)


async def test_done_without_a_finish_reason_is_an_end():
    """`[DONE]` alone says that the answer is complete."""
    reply = Reply(frames=(frame({"content": "yes"}), b"data: [DONE]\n\n"))

    assert await ask_once(reply) == [TextDelta("yes"), Finished(stop_reason="end_turn", usage=Usage(requests=1))]


async def test_an_end_without_done_is_an_end_too():
    """A finish reason alone says it as well."""
    reply = Reply(frames=(frame({"content": "yes"}), frame({}, finish="stop")))

    assert text_of(await ask_once(reply)) == "yes"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "end_turn"),
        ("function_call", "end_turn"),
        ("content_filter", "refusal"),
        ("something_new", "end_turn"),
    ],
)
async def test_every_finish_reason_has_its_word(finish, reason):
    """Without calls, `tool_calls` is an ordinary end; unknown words are too."""
    assert (await ask_once(says("x", finish=finish)))[-1].stop_reason == reason


@pytest.mark.parametrize(("finish", "reason"), [("stop", "tool_calls"), ("length", "max_tokens")])
async def test_calls_decide_what_a_plain_stop_means(finish, reason):
    """Some servers say `stop` where calls were made; a length limit stays one, as arguments may be cut."""
    items = await ask_once(calls(("shell", '{"comm'), finish=finish))

    assert (items[-2].arguments, items[-1].stop_reason) == ('{"comm', reason)


async def test_a_finish_of_error_is_a_failure():
    """A server may end its stream with an error and no words."""
    assert (await failure_of(says("x", finish="error"))).code == "provider_error"


ERRORS = [
    (fails(401, "Incorrect API key provided", code="invalid_api_key"), "provider_auth", False),
    (fails(403, "no access"), "provider_auth", False),
    (fails(404, "The model does not exist", code="model_not_found"), "model_not_found", False),
    (fails(400, "model `x` does not exist"), "model_not_found", False),
    (fails(429, "slow down"), "rate_limited", True),
    (fails(429, "You exceeded your current quota", code="insufficient_quota"), "rate_limited", False),
    (fails(400, "This model's maximum context length is 8192 tokens."), "context_overflow", False),
    (fails(400, "too long", code="context_length_exceeded"), "context_overflow", False),
    (fails(500, "the request exceeds the available context size"), "context_overflow", False),
    (fails(413, "payload"), "context_overflow", False),
    (fails(400, "tool_call_ids did not have response messages"), "provider_failed", False),
    (fails(422, body=b'{"detail":[{"msg":"field required"}]}'), "provider_failed", False),
    (fails(408, "timeout"), "provider_failed", True),
    (fails(409, "busy"), "provider_failed", True),
    (fails(500, "failed to parse the model's tool call as JSON"), "provider_failed", True),
    (fails(503, "loading model"), "provider_failed", True),
    (fails(529, "overloaded"), "provider_failed", True),
    (fails(302, headers={"location": "http://127.0.0.1:1/"}), "provider_failed", False),
    (fails(500, body=b""), "provider_failed", True),
    (fails(500, body=b"[" * 200_000), "provider_failed", True),
    (fails(500, body=b"\xff\xfe plain words"), "provider_failed", True),
    (fails(500, body=b'{"error":{"message":"\xff"}}'), "provider_failed", True),
    (fails(500, body=b"null"), "provider_failed", True),
    (fails(500, body=b'{"error":{"error":{"error":{"error":{"error":{"error":7}}}}}}'), "provider_failed", True),
    (fails(500, body=b"x" * 100_000), "provider_failed", True),
]


@pytest.mark.parametrize(("reply", "code", "retryable"), ERRORS)
async def test_a_refusal_says_what_it_is_and_whether_to_try_again(reply, code, retryable):
    """Each status becomes a code; only what may pass is retryable."""
    error = await failure_of(reply)

    assert (error.code, error.retryable, error.status) == (code, retryable, reply.status)


async def test_a_web_page_is_not_repeated():
    """A gateway's HTML becomes a short plain sentence."""
    error = await failure_of(web_page(503))

    assert error.message == "openai (gpt-5) answered 503: a web page instead of a model's answer"
    assert error.retryable


async def test_a_web_page_with_200_is_a_failure():
    """A captive portal is not a model."""
    error = await failure_of(web_page(200))

    assert "web page" in error.message
    assert "baseUrl" in error.hint


async def test_the_server_s_words_are_cut_and_cleaned_and_never_hold_the_key():
    """At most 500 characters, no control characters, and the key taken out even if the server hides it in them."""
    hidden = KEY[:6] + "\x00" + KEY[6:]
    error = await failure_of(fails(400, f"bad key {KEY}, or {hidden}, \x1b[31mred\x1b[0m " + "x" * 5000))

    assert "bad key [key]" in error.message
    assert "0123456789" not in error.message
    assert "\x1b" not in error.message
    assert len(error.message) < 550


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:50 GMT"}, 10.0),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:30 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_retry_after_is_read_in_seconds_or_as_a_date(headers, seconds):
    """What cannot be a time is no time."""
    assert (await failure_of(fails(429, headers=headers))).retry_after == seconds


@pytest.mark.parametrize(
    ("data", "code", "retryable"),
    [
        (b'data: {"error":{"message":"overloaded","code":529}}\n\n', "provider_error", True),
        (b'data: {"error":{"message":"bad","type":"invalid_request_error"}}\n\n', "provider_error", False),
        (b'data: {"error":"plain words"}\n\n', "provider_error", True),
        (b'data: {"object":"error","message":"boom","code":500}\n\n', "provider_error", True),
        (b'event: error\ndata: {"message":"boom"}\n\n', "provider_error", True),
        (b'data: {"error":{"message":"prompt is too long: 9 > 8"}}\n\n', "context_overflow", False),
        (b"data: {not json}\n\n", "provider_failed", True),
        (b'data: {"choices":"none"}\n\n', "provider_failed", True),
        (b"data: " + b"[" * 100_000 + b"\n\n", "provider_failed", True),
    ],
)
async def test_an_error_in_the_stream_breaks_it_off(data, code, retryable):
    """What came before was told; then the error says what it is."""
    error = await failure_of(inserts(says("one two", chunks=2), 2, data))

    assert (error.code, error.retryable) == (code, retryable)


async def test_odd_but_harmless_chunks_are_passed_over():
    """Null and unknown fields, no choices, empty data, a repeated chunk: nothing of it breaks an answer."""
    odd = b'data: {"choices":null,"usage":null,"x":{"y":[1]}}\n\ndata: {}\n\ndata:\n\n'
    odd += b'data: {"choices":[{"delta":null}]}\n\n'
    reply = repeats(inserts(says("ab", chunks=2), 1, odd), 2)

    assert text_of(await ask_once(reply)) == "aab"


async def test_half_a_surrogate_pair_becomes_a_replacement_character():
    """No text can hold it; one bad letter is not worth an answer."""
    reply = inserts(says("!"), 1, b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n')
    broken = inserts(says("!"), 1, b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n')

    assert text_of(await ask_once(reply)) == "\ufffd!"
    assert text_of(await ask_once(broken)) == "\ufffd!"


async def test_a_server_that_does_not_stream_is_understood():
    """Some answer with one JSON object when there are tools."""
    whole = CHAT.whole(calls(("shell", {"command": "true"}, "call_x"), ("shell", {}, "call_x"), text="see").content)
    items = await ask_once(Reply(content_type="application/json", frames=(whole,)))

    assert items[:2] == [TextDelta("see"), CallMade("call_x", "shell", '{"command":"true"}')]
    assert items[2].id != "call_x"
    assert items[3].stop_reason == "tool_calls"


@pytest.mark.parametrize("ending", ["cut", "reset"])
async def test_a_server_that_hangs_up_before_its_headers_may_be_asked_again(ending):
    """Nothing was said, so nothing is lost."""
    error = await failure_of(never_begins(ending))

    assert (error.code, error.retryable) == ("provider_failed", True)


async def test_silence_before_the_headers_runs_out():
    """A server that takes the request and says nothing is given up, and may be asked again."""
    error = await failure_of(never_begins(), limits=QUICK)

    assert (error.code, error.retryable) == ("stalled", True)
    assert "did not begin to answer" in error.message
    assert "providers.openai.timeouts.firstByteSeconds" in error.hint


async def test_silence_in_the_middle_runs_out():
    """Headers and a few words, then nothing: given up as retryable, with what was said told before."""
    error = await failure_of(breaks(says("one two", chunks=2), 2, "stall"), limits=QUICK)

    assert (error.code, error.retryable) == ("stalled", True)
    assert "providers.openai.timeouts.idleSeconds" in error.hint


async def test_keep_alives_are_not_words():
    """A stream of comments keeps the connection, but not for ever."""

    async def only_comments(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for _ in range(1000):
            writer.write(chunk(b": still here\n\n"))
            await writer.drain()
            await asyncio.sleep(0.002)

    async with raw_server(only_comments) as url:
        with pytest.raises(ModelError, match="without saying anything") as caught:
            await ask(url, limits=Limits(thinking=0.02))
    assert caught.value.retryable


@pytest.mark.parametrize("limits", [Limits(size=1000), Limits(total=0.0)])
async def test_an_answer_that_does_not_end_is_cut_off(limits):
    """A flood is stopped by size and by time, and not asked for again."""
    error = await failure_of(says("x" * 10_000, chunks=100), limits=limits)

    assert "was cut off" in error.message
    assert not error.retryable


async def test_nobody_listening_is_told_with_the_address():
    """A server that is not running is named by host and port."""
    async with ProviderServer([]) as server:
        url = server.base_url
    with pytest.raises(ModelError) as caught:
        await ask(url)

    assert (caught.value.code, caught.value.retryable) == ("provider_failed", True)
    assert url.split("/")[2] in caught.value.message


async def test_closing_the_stream_early_hangs_up():
    """Who stops listening closes the socket, so that the provider stops working."""
    gate = asyncio.Event()
    async with ProviderServer([waits(says("one two", chunks=2), 2, gate)]) as server, HttpClient() as client:
        async with aclosing(model_at(client, server.base_url).stream(asking())) as items:
            assert await anext(items) == TextDelta("one")
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_canceling_hangs_up():
    """A task canceled while it waits for the next word takes the socket along."""
    reply = waits(says("one two", chunks=2), 2, asyncio.Event())
    async with ProviderServer([reply]) as server, HttpClient() as client:
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in model_at(client, server.base_url).stream(asking()):
                heard.set()

        task = asyncio.create_task(listen())
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_the_connection_serves_the_next_request_too():
    """Answers read to their end leave the connection for the next one, also where the end comes late."""
    late = Reply(frames=(*CHAT.frames(says("two").content), b"\n"), apart=True)
    async with ProviderServer([says("one"), late, says("three")]) as server, HttpClient() as client:
        model = model_at(client, server.base_url)
        texts = [text_of([item async for item in model.stream(asking())]) for _ in range(3)]

        assert texts == ["one", "two", "three"]
        assert server.connections == 1


async def test_the_request_carries_the_key_and_asks_for_a_stream_with_usage():
    """The key goes into its header and nowhere else."""
    async with ProviderServer([says("ok")]) as server:
        await ask(server.base_url)
        asked = server.requests[0]

    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in asked.body
    assert asked.json["stream"] is True
    assert asked.json["stream_options"] == {"include_usage": True}


async def test_a_line_end_after_the_key_does_no_harm():
    """Keys come from files and shells."""
    async with ProviderServer([says("ok")]) as server, HttpClient() as client:
        model = OpenAIChat(client, provider="x", name="m", base_url=server.base_url + "/", api_key=Secret("abc\n"))
        assert text_of([item async for item in model.stream(asking())]) == "ok"
        assert server.requests[0].headers["authorization"] == "Bearer abc"


async def test_a_key_that_cannot_be_sent_is_told_without_it():
    """A key with a line break in it would split the request; it is refused before anything is sent."""
    async with HttpClient() as client:
        model = OpenAIChat(
            client, provider="x", name="m", base_url="http://127.0.0.1:1", api_key=Secret("ab\r\ncdefgh")
        )
        with pytest.raises(ModelError) as caught:
            await anext(model.stream(asking()))

    assert not caught.value.retryable
    assert "cdefgh" not in caught.value.message + caught.value.hint
