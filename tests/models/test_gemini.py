"""The Gemini adapter against real sockets: what a server sends becomes stream items, whatever goes wrong one error."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec
import pytest

from agi.config.values import Secret
from agi.errors import ModelError
from agi.models.base import (
    CallMade,
    Finished,
    ModelRequest,
    ReasoningDelta,
    ReasoningSealed,
    StreamItem,
    TextDelta,
)
from agi.models.gemini import GEMINI_URL, Gemini, _address
from agi.models.limits import Limits
from agi.net.http import HttpClient
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
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
    waits,
    web_page,
)

KEY = "AIzaTest0123456789abcdef"
QUICK = Limits(first_byte=0.05, idle=0.05, thinking=0.05)
ASKING = ModelRequest(
    system="be brief",
    messages=(Message(id="msg_1", role="user", parts=(Text(text="hello"),), created_at="", status="complete"),),
)


def model_at(client: HttpClient, base_url: str, limits: Limits | None = None):
    return Gemini(
        client,
        provider="google",
        name="gemini-3-pro",
        base_url=base_url,
        api_key=Secret(KEY),
        limits=limits,
        clock=lambda: 1_000_000_000.0,
    )


async def ask(base_url: str, into: list[StreamItem] | None = None, **how) -> list[StreamItem]:
    items = [] if into is None else into
    async with HttpClient() as client:
        async for item in model_at(client, base_url, **how).stream(ASKING):
            items.append(item)
    return items


async def ask_once(reply: Reply, **how) -> list[StreamItem]:
    async with ProviderServer([reply]) as server:
        return await ask(server.url, **how)


async def failure_of(reply: Reply, **how) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask_once(reply, **how)
    assert "google (gemini-3-pro)" in caught.value.message
    assert KEY not in caught.value.message + caught.value.hint
    assert caught.value.hint
    return caught.value


def text_of(items: list[StreamItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


def event(*parts: object, **fields: object) -> bytes:
    return b"data: %b\r\n\r\n" % msgspec.json.encode(
        {"candidates": [{"content": {"parts": parts, "role": "model"}, **fields}], "usageMetadata": USAGE}
    )


USAGE = {
    "promptTokenCount": 11,
    "cachedContentTokenCount": 5,
    "candidatesTokenCount": 4,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 18,
}
RECORDED = Reply(
    frames=(
        event({"text": "Überlegen…", "thought": True}),
        event({"text": "héllo "}),
        event({"text": "wörld 🌍\u2028"}),
        event(
            {"functionCall": {"name": "shell", "args": {"command": "echo ä"}, "id": "a1"}, "thoughtSignature": "c2ln"}
        ),
        event({"functionCall": {"name": "read_file", "args": {"path": "日本.md"}, "id": "a2"}}),
        b": keep-alive\r\n\r\n",
        event({"text": ""}, finishReason="STOP", index=0),
    )
)
EXPECTED: list[StreamItem] = [
    ReasoningDelta("Überlegen…"),
    TextDelta("héllo "),
    TextDelta("wörld 🌍\u2028"),
    ReasoningSealed("c2ln"),
    CallMade("a1", "shell", '{"command":"echo ä"}'),
    CallMade("a2", "read_file", '{"path":"日本.md"}'),
    Finished(
        stop_reason="tool_calls",
        usage=Usage(input_tokens=11, output_tokens=7, cached_tokens=5, reasoning_tokens=3, requests=1),
    ),
]


async def test_text_reasoning_calls_and_usage_arrive_in_order():
    """A stream becomes deltas as they come, then the calls with their signature, then the end and the cost."""
    assert await ask_once(RECORDED) == EXPECTED


async def test_the_network_may_cut_the_stream_at_any_byte():
    """However the bytes are cut, letters and events included, the same items come out."""
    data = b"".join(RECORDED.frames)
    replies = [Reply(frames=(data[:at], data[at:]), apart=True) for at in range(1, len(data), 3)]
    async with ProviderServer(replies) as server, HttpClient() as client:
        model = model_at(client, server.url)
        for _ in replies:
            assert [item async for item in model.stream(ASKING)] == EXPECTED
    assert await ask_once(slices(RECORDED, 1)) == EXPECTED


async def test_a_stream_that_breaks_off_anywhere_fails_and_makes_no_call():
    """Cut at any byte before its end is told, a stream fails as retryable and no call is made."""
    data = b"".join(RECORDED.frames)
    cuts = range(0, data.index(b'"finishReason"'), 23)
    async with ProviderServer([Reply(frames=(data[:at],) if at else (), ending="cut") for at in cuts]) as server:
        for _ in cuts:
            items: list[StreamItem] = []
            with pytest.raises(ModelError) as caught:
                await ask(server.url, into=items)
            assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)
            assert items == EXPECTED[: len(items)]
            assert not any(isinstance(item, CallMade | Finished) for item in items)


@pytest.mark.parametrize("ending", ["reset", "stall"])
async def test_an_answer_is_whole_once_its_finish_reason_is_in(ending):
    """A connection that is lost, or stays open in silence, after that takes nothing away."""
    reply = Reply(frames=(event({"text": "all of it"}, finishReason="STOP"),), ending=ending)
    items = await ask_once(reply, limits=Limits(last_words=0.02))

    assert (text_of(items), items[-1].stop_reason) == ("all of it", "end_turn")


async def test_what_follows_the_finish_reason_still_counts():
    """Text and cost that come after it belong to the answer."""
    frames = (event({"text": "one "}, finishReason="STOP"), event({"text": "two"}, finishReason="STOP"))
    items = await ask_once(Reply(frames=frames, apart=True))

    assert text_of(items) == "one two"
    assert items[-1].usage.input_tokens == 11


async def test_a_clean_end_without_a_finish_reason_is_a_cut_stream():
    """An orderly end of the body does not make an answer complete."""
    error = await failure_of(breaks(says("half of it"), 2, "whole"))

    assert (error.code, error.retryable) == ("stream_cut", True)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n\r\n"])
@pytest.mark.parametrize("how", [b"%b", b"[%b]"])
async def test_an_error_outside_of_any_event_is_heard(how, end):
    """Google sometimes writes one as a bare body into the stream, with nothing that marks it as data."""
    pretty = msgspec.json.format(how % BROKEN, indent=2)
    error = await failure_of(Reply(frames=(event({"text": "half"}), pretty + end)))

    assert (error.code, error.retryable, error.status) == ("provider_error", True, 503)
    assert "overloaded" in error.message


BROKEN = b'{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}'
BAD = b'{"error":{"code":400,"message":"Please ensure that function call turns alternate","status":"INVALID_ARGUMENT"}}'
LONG = b'{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}'


@pytest.mark.parametrize(
    ("data", "code", "retryable"),
    [
        (b"data: " + BROKEN + b"\n\n", "provider_error", True),
        (b"data: [" + BROKEN + b"]\n\n", "provider_error", True),
        (b"data: " + BAD + b"\n\n", "provider_error", False),
        (b"data: " + LONG + b"\n\n", "context_overflow", False),
        (b'data: {"error":"plain words"}\n\n', "provider_error", True),
        (b'event: error\ndata: {"message":"boom"}\n\n', "provider_error", True),
        (b"data: {not json}\n\n", "provider_failed", True),
        (b'data: {"candidates":"none"}\n\n', "provider_failed", True),
        (b"data: 7\n\n", "provider_failed", True),
        (b"data: " + b"[" * 100_000 + b"\n\n", "provider_failed", True),
    ],
)
async def test_an_error_in_the_stream_breaks_it_off(data, code, retryable):
    """What came before was told; then the error says what it is."""
    error = await failure_of(inserts(says("one two", chunks=2), 2, data))

    assert (error.code, error.retryable) == (code, retryable)


async def test_odd_but_harmless_chunks_are_passed_over():
    """Null and unknown fields, no candidates, empty data, a repeated chunk: nothing of it breaks an answer."""
    odd = b'data: {"candidates":null,"usageMetadata":null,"x":{"y":[1]}}\n\ndata: {}\n\ndata:\n\ndata: []\n\n'
    odd += b'data: {"candidates":[{"content":null}]}\n\ndata: {"candidates":[{"content":{"parts":null}}]}\n\n'
    odd += event({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"text": None}, {"executableCode": {}})
    reply = repeats(inserts(says("ab", chunks=2), 1, odd), 2)

    assert text_of(await ask_once(reply)) == "aab"


async def test_half_a_surrogate_pair_becomes_a_replacement_character():
    """No text can hold it; one bad letter is not worth an answer, in words or in arguments."""
    for letter in (b"\\ud83d", b"\xff"):
        said = b'data: {"candidates":[{"content":{"parts":[{"text":"%b"}]}}]}\n\n' % letter
        made = b'data: {"candidates":[{"content":{"parts":[{"functionCall":{"args":{"a":"%b"}}}]}}]}\n\n' % letter
        items = await ask_once(inserts(inserts(says("!"), 1, said), 2, made))

        assert text_of(items[:1]) == "\ufffd"
        assert items[1].arguments == '{"a":"\ufffd"}'


async def test_a_server_that_does_not_stream_is_understood():
    """One JSON object, or a list of chunks, is an answer as well; one without an end is not."""
    data = b'{"candidates":[{"content":{"parts":[{"text":"%b"}]}%b}]}'
    end = b',"finishReason":"STOP"'
    for body in (data % (b"ab", end), b"[%b,\n%b]\n" % (data % (b"a", b""), data % (b"b", end))):
        assert text_of(await ask_once(fails(200, body=body))) == "ab"
    assert (await failure_of(fails(200, body=data % (b"ab", b"")))).code == "stream_cut"
    assert (await failure_of(fails(200, body=BROKEN))).status == 503


@pytest.mark.parametrize("ending", ["cut", "reset"])
async def test_a_server_that_hangs_up_before_its_headers_may_be_asked_again(ending):
    """Nothing was said, so nothing is lost."""
    error = await failure_of(never_begins(ending))

    assert (error.code, error.retryable) == ("provider_failed", True)


@pytest.mark.parametrize("reply", [never_begins(), breaks(says("one two", chunks=2), 2, "stall")])
async def test_silence_runs_out(reply):
    """A server that says nothing, or nothing more, is given up and may be asked again."""
    assert (await failure_of(reply, limits=QUICK)).retryable


async def test_a_web_page_is_not_an_answer():
    """Neither as a refusal nor with a 200."""
    refused, served = await failure_of(web_page(503)), await failure_of(web_page(200))

    assert refused.retryable
    assert "web page" in served.message
    assert "Gemini" in served.hint


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
        async with aclosing(model_at(client, server.url).stream(ASKING)) as items:
            assert await anext(items) == TextDelta("one")
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_the_connection_serves_the_next_request_too():
    """Answers read to their end leave the connection for the next one."""
    async with ProviderServer([says("one"), calls(("shell", {})), says("three")]) as server, HttpClient() as client:
        model = model_at(client, server.url)
        for _ in range(3):
            assert [item async for item in model.stream(ASKING)]

        assert server.connections == 1


async def test_the_key_is_in_its_header_and_nowhere_else():
    """Neither in the URL, which proxies write down, nor in the body; a line end after it does no harm."""
    async with ProviderServer([says("ok")]) as server, HttpClient() as client:
        key = Secret(KEY + "\n")
        model = Gemini(client, provider="google", name="gemini-3-pro", base_url=server.url + "/", api_key=key)
        assert text_of([item async for item in model.stream(ASKING)]) == "ok"
        asked = server.requests[0]

    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.path == "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
    assert KEY.encode() not in asked.body
    assert (model.provider, model.name) == ("google", "gemini-3-pro")


async def test_a_key_that_cannot_be_sent_is_told_without_it():
    """A key with a line break in it would split the request; it is refused before anything is sent."""
    async with HttpClient() as client:
        key = Secret("ab\r\ncdefgh")
        model = Gemini(client, provider="x", name="m", base_url="http://127.0.0.1:1", api_key=key)
        with pytest.raises(ModelError) as caught:
            await anext(model.stream(ASKING))

    assert not caught.value.retryable
    assert "cdefgh" not in caught.value.message + caught.value.hint


async def test_a_whole_turn_hands_each_signature_back(place):
    """Through the loop and the log, a signature stands on its call again when the result is told."""
    (place.project / "a.txt").write_text("forty-two")
    signed = answers(Thought("look"), Sealed("c2ln"), Called(0, "x1", "read_file"), Written(0, '{"path":"a.txt"}'))
    last = answers(Said("It is "), Sealed("bGFzdA=="), Said("forty-two."))
    async with ProviderServer([signed, last, says("Bye.")]) as server, HttpClient() as client:
        place.model = model_at(client, server.url)
        await place.reopen()
        await place.ask("what is in a.txt?")
        assert place.answer() == "It is forty-two."
        await place.ask("thanks")
        called, result, said, _ = server.requests[-1].json["contents"][1:]

    call = called["parts"][1]
    assert called["parts"][0] == {"text": "look", "thought": True}
    assert (call["functionCall"]["name"], call["thoughtSignature"]) == ("read_file", "c2ln")
    assert result["parts"][0]["functionResponse"]["id"] == call["functionCall"]["id"]
    assert "forty-two" in result["parts"][0]["functionResponse"]["response"]["output"]
    assert said["parts"] == [{"text": "It is "}, {"text": "forty-two.", "thoughtSignature": "bGFzdA=="}]


@pytest.mark.parametrize(
    ("base_url", "name", "address"),
    [
        (GEMINI_URL, "gemini-3-pro", f"{GEMINI_URL}/v1beta/models/gemini-3-pro"),
        ("http://h/v1/", "m", "http://h/v1/models/m"),
        ("http://h/gate/v1beta", "models/m", "http://h/gate/v1beta/models/m"),
        ("http://h", "tunedModels/m", "http://h/v1beta/tunedModels/m"),
        ("http://h", "../x?key=1#ü", "http://h/v1beta/models/..%2Fx%3Fkey%3D1%23%C3%BC"),
    ],
)
def test_the_address_is_made_of_the_base_url_and_the_model_s_name(base_url, name, address):
    """With or without a version in the base URL; a name never becomes more than a name."""
    assert _address(base_url, name) == f"{address}:streamGenerateContent?alt=sse"
