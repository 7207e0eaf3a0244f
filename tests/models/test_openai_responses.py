"""The adapter against real sockets: what a server sends becomes stream items, whatever goes wrong one kind of error."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec
import pytest

from agi.config.values import Secret
from agi.errors import ModelError
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.limits import Limits
from agi.models.openai_responses import OpenAIResponses
from agi.net.http import HttpClient
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart, ToolResultContent, ToolResultPart
from agi.testing.box import daemon_in_a_box
from agi.testing.openai_responses_wire import RESPONSES
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
from agi.testing.scripts import loop_script

KEY = "sk-test-0123456789abcdef"
QUICK = Limits(first_byte=0.05, idle=0.05, thinking=0.05)


def message(role: str, *parts) -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def asking(*earlier: Message) -> ModelRequest:
    return ModelRequest(system="be brief", messages=(*earlier, message("user", Text(text="hello"))))


def model_at(client: HttpClient, base_url: str, limits: Limits | None = None):
    return OpenAIResponses(
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


async def ask_once(reply: Reply, **how) -> list[StreamItem]:
    async with ProviderServer([reply]) as server:
        return await ask(server.base_url, **how)


async def listen_into(items: list[StreamItem], base_url: str) -> None:
    async with HttpClient() as client:
        async for item in model_at(client, base_url).stream(asking()):
            items.append(item)


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


WHOLE = answers(
    Thought("Über"),
    Thought("legen…"),
    Sealed("gAAA+/=="),
    Said("héllo "),
    Said("wörld 🌍\u2028"),
    Called(0, "call_a", "shell"),
    Written(0, '{"command":"ech'),
    Called(1, "call_b", "read_file"),
    Written(0, 'o ä"}'),
    Written(1, '{"path":"日本.md"}'),
    finish="tool_calls",
    usage=Usage(input_tokens=11, output_tokens=7, cached_tokens=5, reasoning_tokens=3),
)
SEAL = (
    '{"type":"reasoning","id":"item_script_0","summary":[{"type":"summary_text","text":"Überlegen…"}],'
    '"encrypted_content":"gAAA+/=="}'
)
EXPECTED: list[StreamItem] = [
    ReasoningDelta("Über"),
    ReasoningDelta("legen…"),
    ReasoningSealed(SEAL),
    TextDelta("héllo "),
    TextDelta("wörld 🌍\u2028"),
    CallMade("call_a", "shell", '{"command":"echo ä"}'),
    CallMade("call_b", "read_file", '{"path":"日本.md"}'),
    Finished(
        stop_reason="tool_calls",
        usage=Usage(input_tokens=11, output_tokens=7, cached_tokens=5, reasoning_tokens=3, requests=1),
    ),
]
DATA = b"".join(RESPONSES.frames(WHOLE.content))


async def test_text_reasoning_calls_and_usage_arrive_in_order():
    """A stream becomes deltas as they come, the seal after its thoughts, calls as they are whole, and the cost."""
    assert await ask_once(WHOLE) == EXPECTED


async def test_the_network_may_cut_the_stream_at_any_byte():
    """However the bytes are cut, letters and events included, the same items come out."""
    cuts = range(1, len(DATA), 7)
    replies = [Reply(frames=(DATA[:at], DATA[at:]), apart=True) for at in cuts]
    async with ProviderServer(replies) as server, HttpClient() as client:
        model = model_at(client, server.base_url)
        for _ in cuts:
            assert [item async for item in model.stream(asking())] == EXPECTED


async def test_the_stream_may_arrive_byte_by_byte():
    """One byte a write gives the same items."""
    assert await ask_once(slices(WHOLE, 1)) == EXPECTED


async def test_a_stream_that_breaks_off_anywhere_fails_after_what_it_said():
    """Cut at any byte before its last event, a stream fails as retryable; only calls that were whole are told."""
    cuts = range(0, DATA.index(b"event: response.completed"), 97)
    replies = [Reply(frames=(DATA[:at],) if at else (), ending="cut") for at in cuts]
    async with ProviderServer(replies) as server:
        for _ in cuts:
            items: list[StreamItem] = []
            with pytest.raises(ModelError) as caught:
                await listen_into(items, server.base_url)
            assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)
            assert items == EXPECTED[: len(items)]


@pytest.mark.parametrize("ending", ["whole", "cut", "reset"])
async def test_a_stream_that_breaks_after_its_last_event_is_whole(ending):
    """The last event says everything; how the connection ends is nobody's business then."""
    items = await ask_once(breaks(says("all of it"), 3, ending))

    assert text_of(items) == "all of it"
    assert items[-1].usage.output_tokens == 1


async def test_a_server_that_stays_silent_after_its_last_event_is_not_waited_for():
    """There is nothing more to come."""
    items = await ask_once(breaks(says("all"), 3, "stall"), limits=Limits(after_done=0.02))

    assert items[-1].stop_reason == "end_turn"


@pytest.mark.parametrize("after", [1, 2])
async def test_a_clean_end_without_a_last_event_is_a_cut_stream(after):
    """An orderly end of the body does not make an answer complete."""
    error = await failure_of(breaks(says("half of it"), after, "whole"))

    assert (error.code, error.retryable) == ("stream_cut", True)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (says("x"), "end_turn"),
        (says("x", finish="length"), "max_tokens"),
        (says("x", finish="content_filter"), "refusal"),
        (answers(Refused("I will not.")), "refusal"),
        (calls(("shell", "{}")), "tool_calls"),
        (calls(("shell", '{"comm'), finish="length"), "max_tokens"),
    ],
)
async def test_every_ending_has_its_word(reply, reason):
    """From the status of the answer, why it is incomplete, and what is in it."""
    assert (await ask_once(reply))[-1].stop_reason == reason


async def test_an_answer_that_failed_is_a_failure():
    """The last event may say so."""
    error = await failure_of(says("x", finish="error"))

    assert (error.code, error.retryable) == ("provider_error", True)


ERRORS = [
    (fails(400, "Invalid type for 'input[0].content'"), "provider_failed", False),
    (
        fails(400, "The encrypted content could not be verified", code="invalid_encrypted_content"),
        "reasoning_refused",
        False,
    ),
    (fails(400, "too long", code="context_length_exceeded"), "context_overflow", False),
    (fails(401, "Incorrect API key provided", code="invalid_api_key"), "provider_auth", False),
    (fails(403, "no access"), "provider_auth", False),
    (fails(404, "The model does not exist", code="model_not_found"), "model_not_found", False),
    (fails(408, "timeout"), "provider_failed", True),
    (fails(409, "busy"), "provider_failed", True),
    (fails(413, "payload"), "context_overflow", False),
    (fails(429, "slow down"), "rate_limited", True),
    (fails(429, "You exceeded your current quota", code="insufficient_quota"), "rate_limited", False),
    (fails(500, "boom"), "provider_failed", True),
    (fails(503, body=b""), "provider_failed", True),
    (fails(529, "overloaded"), "provider_failed", True),
    (fails(500, body=b"[" * 200_000), "provider_failed", True),
    (web_page(502), "provider_failed", True),
]


@pytest.mark.parametrize(("reply", "code", "retryable"), ERRORS)
async def test_a_refusal_says_what_it_is_and_whether_to_try_again(reply, code, retryable):
    """Each status becomes a code; only what may pass is retryable."""
    error = await failure_of(reply)

    assert (error.code, error.retryable, error.status) == (code, retryable, reply.status)
    assert "<html" not in error.message


async def test_a_web_page_with_200_is_a_failure():
    """A captive portal is not a model."""
    error = await failure_of(web_page(200))

    assert "web page" in error.message
    assert "Responses" in error.hint


@pytest.mark.parametrize(
    ("headers", "seconds"), [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "250"}, 0.25), ({}, None)]
)
async def test_how_long_to_wait_is_told(headers, seconds):
    """Where the server says it."""
    assert (await failure_of(fails(429, headers=headers))).retry_after == seconds


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'event: error\ndata: {"type":"error","code":"server_error","message":"boom"}\n\n', "provider_error"),
        (b'event: error\ndata: {"message":"boom"}\n\n', "provider_error"),
        (b'data: {"error":{"message":"boom","type":"server_error"}}\n\n', "provider_error"),
        (b"data: {not json}\n\n", "provider_failed"),
        (b'data: {"item":7}\n\n', "provider_failed"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "provider_failed"),
    ],
)
async def test_an_error_or_garbage_in_the_stream_breaks_it_off(data, code):
    """What came before was told; then one error says what it is."""
    error = await failure_of(inserts(says("one two", chunks=2), 2, data))

    assert (error.code, error.retryable) == (code, True)


async def test_the_key_is_never_told_back():
    """Not even if the server repeats it in the middle of a stream."""
    data = b'event: error\ndata: {"message":"bad key %b"}\n\n' % KEY.encode()
    error = await failure_of(inserts(says("one two", chunks=2), 2, data))

    assert "bad key [key]" in error.message


async def test_a_piece_that_comes_twice_counts_once():
    """Events are numbered, so the same one is known again."""
    for number in range(5):
        assert text_of(await ask_once(repeats(says("one two three", chunks=3), number))) == "one two three"


async def test_a_broken_letter_becomes_a_replacement_character():
    """One bad letter is not worth an answer."""
    half = b'data: {"type":"response.output_text.delta","delta":"\\ud83d"}\n\n'
    broken = b'data: {"type":"response.output_text.delta","delta":"\xff"}\n\n'

    for data in (half, broken):
        assert (await ask_once(inserts(answers(Said("!")), 1, data)))[0] == TextDelta("\ufffd")


async def test_a_server_that_does_not_stream_is_understood():
    """Some answer with one JSON object."""
    items = await ask_once(Reply(content_type="application/json", frames=(RESPONSES.whole(WHOLE.content),)))

    assert items[0] == ReasoningDelta("Überlegen…")
    assert items[1] == EXPECTED[2]
    assert text_of(items) == text_of(EXPECTED)
    assert items[-3:] == EXPECTED[-3:]


@pytest.mark.parametrize("ending", ["cut", "reset"])
async def test_a_server_that_hangs_up_before_its_headers_may_be_asked_again(ending):
    """Nothing was said, so nothing is lost."""
    error = await failure_of(never_begins(ending))

    assert (error.code, error.retryable) == ("provider_failed", True)


@pytest.mark.parametrize("reply", [never_begins(), breaks(says("one two", chunks=2), 2, "stall")])
async def test_silence_runs_out(reply):
    """Before the headers or in the middle: given up as retryable."""
    assert (await failure_of(reply, limits=QUICK)).retryable


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
        async with aclosing(model_at(client, server.base_url).stream(asking())) as items:
            assert await anext(items) == TextDelta("one")
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_the_connection_serves_the_next_request_too():
    """Answers read to their end leave the connection for the next one."""
    async with ProviderServer([says("one"), says("two")]) as server, HttpClient() as client:
        model = model_at(client, server.base_url + "/")
        texts = [text_of([item async for item in model.stream(asking())]) for _ in range(2)]

        assert texts == ["one", "two"]
        assert server.connections == 1


async def test_the_request_carries_the_key_and_keeps_nothing_at_the_provider():
    """The key goes into its header and nowhere else."""
    async with ProviderServer([says("ok")]) as server:
        await ask(server.base_url)
        (asked,) = server.requests

    assert asked.path == "/v1/responses"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in asked.body
    assert (asked.json["stream"], asked.json["store"]) == (True, False)
    assert asked.json["instructions"] == "be brief"


async def test_without_a_key_none_is_sent_and_a_line_end_after_one_does_no_harm():
    """Local servers need none; keys come from files and shells."""
    async with ProviderServer([says("ok"), says("ok")]) as server, HttpClient() as client:
        for key in (None, Secret("abc\n")):
            model = OpenAIResponses(client, provider="x", name="m", base_url=server.base_url, api_key=key)
            assert text_of([item async for item in model.stream(asking())]) == "ok"

    assert [asked.headers.get("authorization") for asked in server.requests] == [None, "Bearer abc"]


async def test_over_a_whole_turn_what_was_thought_goes_back_sealed_and_in_place(tmp_path):
    """The second request has the very bytes of the item, before the call it led to, and the result after it."""
    first = answers(
        Thought("Überlegen…"), Sealed("gAAA+/=="), Said("I look."), Called(0, "c", "repo_tree"), Written(0, "{}")
    )
    async with (
        ProviderServer([first, says("There it is.")]) as server,
        HttpClient() as client,
        daemon_in_a_box(tmp_path, model=model_at(client, server.base_url)) as daemon,
    ):
        turn = await daemon.ask("look around")
        assert await turn.answer() == "There it is."

    before, after = server.requests
    items = after.json["input"]
    assert [item["type"] for item in items] == [
        *(item["type"] for item in before.json["input"]),
        *("reasoning", "message", "function_call", "function_call_output"),
    ]
    assert SEAL.encode() in after.body
    assert items[-2]["call_id"] == items[-1]["call_id"]
    assert after.body.startswith(before.body.removesuffix(b"]}"))


async def test_a_script_knows_how_far_a_conversation_is():
    """The scripted provider counts results in this format as in every other."""
    call = ToolCallContent(id="call_a", name="shell", args=msgspec.Raw(b"{}"))
    result = ToolResultContent(id="call_a", name="shell", ok=True)
    turn = (
        message("user", Text(text="go")),
        message("assistant", ToolCallPart(content=call)),
        message("tool", ToolResultPart(content=result)),
    )
    async with ProviderServer(loop_script(1, text="Done.")) as server:
        first = await ask(server.base_url, ModelRequest(system="", messages=turn[:1]))
        second = await ask(server.base_url, ModelRequest(system="", messages=turn))

    assert isinstance(first[0], CallMade)
    assert text_of(second) == "Done."
