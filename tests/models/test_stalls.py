"""A silent stream is given up, however it is kept open; one that thinks is not. The same for every wire format."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agi.config.values import TimeoutSettings
from agi.errors import ModelError
from agi.models.base import ModelRequest, StreamItem, TextDelta
from agi.models.limits import Limits
from agi.net.http import HttpClient
from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.testing.adapters import APIS, adapter_at
from agi.testing.provider import ProviderServer
from agi.testing.replies import (
    Called,
    Reply,
    Said,
    Thought,
    Written,
    answers,
    breaks,
    calls,
    fails,
    murmurs,
    never_begins,
    says,
    slices,
    waits,
)

QUESTION = Message(id="msg_1", role="user", parts=(Text(text="hello"),), created_at="", status="complete")
REQUEST = ModelRequest(system="be brief", messages=(QUESTION,))
SHORT = 0.03
"""A limit that runs out within the test."""
LONG = 30.0
"""One that does not."""
COMMENT = b": still here\n\n"
KEEP_ALIVES = {
    "chat": (COMMENT, b'data: {"choices":[{"delta":{}}]}\n\n', b'data: {"choices":[{"delta":{"content":""}}]}\n\n'),
    "responses": (
        COMMENT,
        b'event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n',
        b'data: {"type":"response.in_progress","response":{"status":"in_progress"}}\n\n',
    ),
    "messages": (COMMENT, b'event: ping\ndata: {"type":"ping"}\n\n', b'data: {"type":"ping"}\n\n'),
    "gemini": (COMMENT, b"\r\n\r\n", b'data: {"candidates":[{"content":{"parts":[{"text":""}]}}]}\r\n\r\n'),
}
EACH_KEEP_ALIVE = [(api, data) for api in APIS for data in KEEP_ALIVES[api]]


@pytest.fixture
async def ahead(monkeypatch):
    """Call it to put the clock forward; nobody waits for it."""
    loop = asyncio.get_running_loop()
    real, passed = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: real() + passed[0])

    def passes(seconds: float) -> None:
        passed[0] += seconds

    return passes


async def ask(reply: Reply, api: str, **how) -> list[StreamItem]:
    async with ProviderServer([reply]) as server, HttpClient() as client:
        return [item async for item in adapter_at(server.url, api, client, **how).stream(REQUEST)]


async def stalled(reply: Reply, api: str, **limits: float) -> ModelError:
    """The failure of a stream that stalls; the client has hung up by then."""
    given = Limits(**{"first_byte": LONG, "idle": LONG, "thinking": LONG, **limits})
    async with ProviderServer([reply]) as server, HttpClient() as client, asyncio.timeout(10):
        with pytest.raises(ModelError) as caught:
            [item async for item in adapter_at(server.url, api, client, limits=given).stream(REQUEST)]
        await server.hung_up.wait()
    error = caught.value
    assert (error.code, error.retryable) == ("stalled", True)
    assert error.message.startswith("tested (model-1) ")
    return error


class Patience:
    """A gate before which so many seconds pass once someone waits at it."""

    def __init__(self, ahead: Callable[[float], None], seconds: float) -> None:
        self._ahead = ahead
        self._seconds = seconds
        self.waited = False

    async def wait(self) -> None:
        await asyncio.sleep(0.01)  # the client has read what came before
        self._ahead(self._seconds)
        await asyncio.sleep(0.01)
        self.waited = True


def text_of(items: list[StreamItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_sends_no_headers_is_given_up(api):
    """It may be asked again; the hint names the setting."""
    error = await stalled(never_begins(), api, first_byte=SHORT)

    assert "did not begin to answer within 0.03 s" in error.message
    assert "providers.tested.timeouts.firstByteSeconds" in error.hint


@pytest.mark.parametrize("api", APIS)
async def test_headers_and_then_nothing_is_given_up(api):
    """Not a byte is needed to notice it."""
    error = await stalled(Reply(ending="stall"), api, thinking=SHORT)

    assert "without saying anything" in error.message
    assert "providers.tested.timeouts.thinkingSeconds" in error.hint


@pytest.mark.parametrize("api", APIS)
async def test_a_whole_body_that_never_comes_is_given_up(api):
    """Also where the server does not stream."""
    await stalled(Reply(content_type="application/json", frames=(b"{",), ending="stall"), api, thinking=SHORT)


@pytest.mark.parametrize(("api", "keep_alive"), EACH_KEEP_ALIVE)
async def test_keep_alives_are_not_words(api, keep_alive):
    """Comments, pings and empty chunks keep the connection open, but not for ever."""
    await stalled(murmurs(says("late"), 1, keep_alive), api, thinking=SHORT)


@pytest.mark.parametrize(("api", "keep_alive"), EACH_KEEP_ALIVE)
async def test_keep_alives_in_the_middle_of_words_are_cut_after_the_shorter_limit(api, keep_alive):
    """Once words flow, the next is near."""
    error = await stalled(murmurs(says("one two", chunks=2), 2, keep_alive), api, idle=SHORT)

    assert "providers.tested.timeouts.idleSeconds" in error.hint


@pytest.mark.parametrize("api", APIS)
async def test_a_stop_in_the_middle_of_a_token_is_given_up(api):
    """Half an event is nothing said."""
    halved = slices(breaks(says("one two", chunks=2), 3, "whole"), 40)
    await stalled(breaks(halved, 9, "stall"), api, idle=SHORT, thinking=SHORT)


@pytest.mark.parametrize("api", APIS)
async def test_a_byte_now_and_then_is_not_a_word_either(api):
    """However long the bytes of one event keep coming, without its end nothing was said."""
    await stalled(murmurs(says("late"), 1, b"d"), api, thinking=SHORT)


@pytest.mark.parametrize("api", APIS)
async def test_a_clean_close_without_a_finish_is_a_cut_stream(api):
    """An orderly end of the body does not make an answer complete."""
    with pytest.raises(ModelError) as caught:
        await ask(breaks(says("half of it"), 2, "whole"), api)

    assert (caught.value.code, caught.value.retryable) == ("stream_cut", True)


@pytest.mark.parametrize("before", [1, 2, 3])
@pytest.mark.parametrize("api", APIS)
async def test_a_model_that_thinks_long_is_not_killed(api, before, ahead):
    """Before its first thought, between two of them and before its first word it has the longer limit."""
    gate = Patience(ahead, 800)
    reply = waits(answers(Thought("hm"), Thought(" so"), Said("done")), before, gate)
    items = await ask(reply, api)

    assert gate.waited
    assert text_of(items) == "done"


@pytest.mark.parametrize("api", ["messages", "gemini"])
async def test_arguments_that_are_written_unseen_are_waited_for(api, ahead):
    """These formats hold back a value, or a whole call, until it is written: a large file takes its time."""
    gate = Patience(ahead, 800)
    pieces = (Said("Now"), Called(0, "call_1", "shell"), Written(0, '{"command":'), Written(0, '"ls"}'))
    items = await ask(waits(answers(*pieces, finish="tool_calls"), 4, gate), api)

    assert gate.waited
    assert items[1].arguments == '{"command":"ls"}'


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_arguments_that_stop_flowing_are_a_stall(api):
    """These formats send every piece of a call as it is written."""
    await stalled(breaks(calls(("shell", {"command": "ls"}), pieces=4), 4, "stall"), api, idle=SHORT)


@pytest.mark.parametrize("api", APIS)
async def test_a_reader_that_takes_its_time_is_no_stall(api, ahead):
    """Only waiting for the server counts, not what is done with its words."""
    gate = asyncio.Event()
    reply = waits(says("one two three", chunks=3), 3, gate)
    heard = []
    async with ProviderServer([reply]) as server, HttpClient() as client:
        async for item in adapter_at(server.url, api, client).stream(REQUEST):
            heard.append(item)
            ahead(1000)
            await asyncio.sleep(0)
            gate.set()

    assert text_of(heard) == "one two three"


@pytest.mark.parametrize("api", APIS)
async def test_what_the_user_has_set_counts(api):
    """`providers.<name>.timeouts` beats the built-in limits, each by itself."""
    for said in (TimeoutSettings(thinking_seconds=SHORT), TimeoutSettings(total_seconds=SHORT)):
        with pytest.raises(ModelError, match=r"without saying anything|passed 0\.03 s"):
            await ask(Reply(ending="stall"), api, timeouts=said)


@pytest.mark.parametrize("api", APIS)
async def test_the_whole_answer_has_a_limit_too(api):
    """A model that never ends is cut off, also where it is silent at that moment, and not asked for again."""
    with pytest.raises(ModelError, match=r"was cut off: its answer passed 0\.03 s") as caught:
        await ask(breaks(says("on and on", chunks=2), 2, "stall"), api, limits=Limits(total=SHORT))

    assert not caught.value.retryable
    assert "providers.tested.timeouts.totalSeconds" in caught.value.hint


@pytest.mark.parametrize("api", APIS)
async def test_a_refusal_whose_words_never_come_is_told_by_its_status(api):
    """The rest of it is waited for a little, and not for minutes."""
    with pytest.raises(ModelError, match="answered 503") as caught:
        await ask(breaks(fails(503, "busy"), 0, "stall"), api, limits=Limits(last_words=SHORT))

    assert (caught.value.code, caught.value.retryable) == ("provider_failed", True)


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_keeps_the_connection_after_the_end_does_not_lengthen_the_turn(api):
    """Once the answer and its cost are there, nothing is waited for but a moment, whatever still trickles in."""
    begun = asyncio.get_running_loop().time()
    reply = murmurs(breaks(says("all"), 4, "stall"), 4, COMMENT)
    items = await ask(reply, api, limits=Limits(last_words=LONG, after_done=SHORT))

    assert items[-1].usage.output_tokens == 1
    assert asyncio.get_running_loop().time() - begun < LONG / 3


@pytest.mark.parametrize("api", APIS)
async def test_the_limit_for_the_last_words_is_for_all_of_them(api):
    """A server that says the end but never its cost, and never stops murmuring, is left after one limit."""
    frames = {
        "chat": (b'data: {"choices":[{"delta":{"content":"all"},"finish_reason":"stop"}]}\n\n',),
        "responses": (b'data: {"type":"response.output_text.delta","delta":"all"}\n\n', b"data: [DONE]\n\n"),
        "messages": (
            b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"all"}}\n\n',
            b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        ),
        "gemini": (b'data: {"candidates":[{"content":{"parts":[{"text":"all"}]},"finishReason":"STOP"}]}\n\n',),
    }[api]
    begun = asyncio.get_running_loop().time()
    items = await ask(murmurs(Reply(frames=frames), 2, COMMENT), api, limits=Limits(last_words=0.1))

    assert text_of(items) == "all"
    assert items[-1].stop_reason == "end_turn"
    assert asyncio.get_running_loop().time() - begun < 5
