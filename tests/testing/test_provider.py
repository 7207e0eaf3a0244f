"""The scripted provider: the wire format as OpenAI has it, over real sockets, and each fault as ordered."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

import msgspec
import pytest

from agi.net.http import HttpClient, NetError, Response
from agi.net.sse import sse_events
from agi.protocol.messages import Usage
from agi.testing.asked import Asked, Question
from agi.testing.formats import FORMATS, encode, format_of
from agi.testing.openai_chat_wire import CHAT
from agi.testing.provider import ProviderServer, loop_script
from agi.testing.replies import (
    Refusal,
    Refused,
    Reply,
    Said,
    Sealed,
    Thought,
    answers,
    breaks,
    calls,
    fails,
    inserts,
    never_begins,
    paces,
    repeats,
    says,
    slices,
    split,
    waits,
    web_page,
)


async def post(client: HttpClient, server: ProviderServer, body: object = None) -> Response:
    asked = {"model": "script", "stream": True, "messages": []} if body is None else body
    return await client.request("POST", server.base_url + "/chat/completions", body=msgspec.json.encode(asked))


@contextlib.asynccontextmanager
async def serving(*replies: Reply) -> AsyncIterator[tuple[HttpClient, ProviderServer]]:
    async with ProviderServer(replies) as server, HttpClient() as client:
        yield client, server


async def events_of(*replies: Reply) -> list[bytes]:
    async with serving(*replies) as (client, server):
        response = await post(client, server)
        return [event.data async for event in sse_events(response.chunks())]


async def test_text_is_streamed_as_openai_does():
    """A role, the pieces, a finish reason, the usage, `[DONE]`."""
    *chunks, done = await events_of(says("hello", chunks=2, reasoning="hm"))
    read = [msgspec.json.decode(chunk) for chunk in chunks]

    assert [chunk["choices"][0]["delta"] for chunk in read[:-1]] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": "he"},
        {"content": "llo"},
        {},
    ]
    assert read[-2]["choices"][0]["finish_reason"] == "stop"
    assert (read[-1]["choices"], read[-1]["usage"]["prompt_tokens"]) == ([], 10)
    assert {chunk["object"] for chunk in read} == {"chat.completion.chunk"}
    assert done == b"[DONE]"


async def test_calls_are_streamed_in_argument_deltas():
    """A head with id and name, then the arguments in pieces."""
    chunks = await events_of(calls(("shell", {"command": "true"}, "call_1"), pieces=2))
    deltas = [msgspec.json.decode(chunk)["choices"][0]["delta"] for chunk in chunks[1:4]]

    assert deltas[0]["tool_calls"][0]["function"] == {"name": "shell", "arguments": ""}
    assert "".join(delta["tool_calls"][0]["function"]["arguments"] for delta in deltas) == '{"command":"true"}'


async def test_a_request_that_does_not_ask_for_a_stream_gets_one_object():
    """The same script serves both."""
    async with serving(calls(("shell", {}, "call_1"), text="see"), says("end")) as (client, server):
        first = msgspec.json.decode(await (await post(client, server, {"messages": []})).read())
        second = msgspec.json.decode(await (await post(client, server, {"stream": False})).read())

    assert first["choices"][0]["message"]["tool_calls"][0]["id"] == "call_1"
    assert first["choices"][0]["finish_reason"] == "tool_calls"
    assert second["choices"][0]["message"] == {"role": "assistant", "content": "end"}


async def test_requests_are_kept_and_the_connection_too():
    """Two requests over one connection, both recorded with headers and body."""
    async with serving(says("a"), says("b")) as (client, server):
        for _ in range(2):
            await (await post(client, server)).read()

        assert server.connections == 1
        assert [asked.json["model"] for asked in server.requests] == ["script", "script"]
        assert "content-length" in server.requests[0].headers


async def test_a_script_that_is_over_says_so():
    """As a failure of the server."""
    async with serving() as (client, server):
        response = await post(client, server)

        assert (response.status, b"script is over" in await response.read()) == (500, True)


async def test_models_are_listed_and_other_paths_are_not_found():
    """What clients ask before they ask for answers."""
    async with ProviderServer([], models=("a", "b")) as server, HttpClient() as client:
        listed = await (await client.request("GET", server.base_url + "/models")).read()
        missing = await client.request("GET", server.base_url + "/nothing")

        assert [model["id"] for model in msgspec.json.decode(listed)["data"]] == ["a", "b"]
        assert missing.status == 404
        await missing.close()


async def test_a_refusal_has_its_status_headers_and_body():
    """Errors as OpenAI writes them, or whatever body is given."""
    async with serving(fails(429, "slow", code="rate", headers={"retry-after": "3"}), web_page(502)) as (
        client,
        server,
    ):
        first = await post(client, server)
        body = msgspec.json.decode(await first.read())
        second = await post(client, server)

        assert (first.status, first.headers["retry-after"]) == (429, "3")
        assert body == {"error": {"message": "slow", "type": "scripted_error", "code": "rate"}}
        assert (second.status, second.headers["content-type"]) == (502, "text/html; charset=utf-8")
        await second.close()


@pytest.mark.parametrize(
    "reply", [breaks(says("ab", chunks=2), 2, "cut"), breaks(says("ab", chunks=2), 2, "reset"), never_begins("cut")]
)
async def test_a_broken_connection_is_broken(reply):
    """Before the headers or in the middle of the body."""
    with pytest.raises(NetError) as caught:
        await events_of(reply)

    assert caught.value.code == "connection_lost"


async def test_a_stall_lasts_until_the_client_leaves():
    """And the server knows that it left."""
    async with serving(breaks(says("ab", chunks=2), 2, "stall")) as (client, server):
        response = await post(client, server)
        chunks = response.chunks()
        assert b'"content":"a"' in await anext(chunks) + await anext(chunks)
        assert not server.hung_up.is_set()
        await chunks.aclose()
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_a_gate_holds_the_rest_back():
    """A test decides when the next piece comes."""
    gate = asyncio.Event()
    async with serving(waits(says("ab", chunks=2), 2, gate)) as (client, server):
        events = sse_events((await post(client, server)).chunks())
        assert [b'"a"' in (await anext(events)).data for _ in range(2)] == [False, True]
        coming = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.01)
        assert not coming.done()
        gate.set()
        assert b'"b"' in (await coming).data
        await events.aclose()


async def test_faults_are_put_where_they_were_ordered():
    """Repeated and foreign frames, slices of any size, pauses: the rest stays as it was."""
    plain = await events_of(says("ab", chunks=2))

    assert await events_of(slices(says("ab", chunks=2), 3)) == plain
    assert await events_of(paces(says("ab", chunks=2), 0.001)) == plain
    assert await events_of(repeats(says("ab", chunks=2), 1)) == [*plain[:2], *plain[1:]]
    assert await events_of(inserts(says("ab", chunks=2), 1, b"data: {oops\n\n")) == [plain[0], b"{oops", *plain[1:]]
    assert await events_of(breaks(says("ab", chunks=2), 2, "whole")) == plain[:2]


def test_text_is_cut_into_about_equal_pieces():
    """As many as wanted, none empty, nothing lost."""
    assert split("abcde", 2) == ["ab", "cde"]
    assert split("ab", 10) == ["a", "b"]
    assert split("", 3) == []
    assert len(split("x" * 2500, 2000)) == 2000


def asked(*roles: str) -> Asked:
    body = msgspec.json.encode({"messages": [{"role": role} for role in roles]})
    request = Asked("POST", "/v1/chat/completions", {}, body)
    return msgspec.structs.replace(request, question=CHAT.read(request))


def test_a_loop_is_decided_by_the_conversation_alone():
    """So many calls after each user message, then text; the same request gets the same reply."""
    decide = loop_script(2)
    step = ("assistant", "tool")
    replies = [decide(asked("system", "user", *step * n)) for n in range(4)]
    wires = [encode(reply, CHAT, stream=True).wire for reply in replies]

    assert [b"call_loop_0" in wire for wire in wires] == [True, False, False, False]
    assert b"call_loop_1" in wires[1]
    assert b"Done." in wires[2]
    assert replies[3] is replies[2]
    assert decide(asked("user", *step * 2, "assistant", "user")) is replies[0]


def test_a_question_is_how_it_is_asked_and_how_many_results_it_brings():
    """Scripts decide by these, whatever the format; a body that is none is an error."""
    assert asked("user", "assistant", "tool", "tool").question == Question(stream=False, results=2)
    with pytest.raises(ValueError, match="truncated"):
        CHAT.read(Asked("POST", "/v1/chat/completions", {}, b"{"))


async def test_every_kind_of_piece_has_its_frame():
    """Also a refusal and an error in the middle; a seal, which this format does not know, leaves its place empty."""
    reply = answers(Thought("hm"), Sealed("x"), Refused("no"), Said("a"), Refusal(message="boom"))
    frames = CHAT.frames(reply.content)

    assert (len(frames), frames[2]) == (5 + 4, b"")
    assert frames[3].count(b'"refusal":"no"') == 1
    assert frames[5] == b'data: {"error":{"message":"boom","type":"scripted_error","code":null}}\n\n'


PATHS = {
    "/v1/chat/completions": "openai_chat",
    "/v1/responses": "openai_responses",
    "/v1/messages": "anthropic",
    "/v1beta/models/m:streamGenerateContent?alt=sse": "gemini",
}


@pytest.mark.parametrize("path", PATHS)
async def test_the_path_decides_the_format_and_the_script_does_not_care(path):
    """One reply, asked for at each path, is a stream of events that says the same."""
    async with serving(says("Hello."), fails(429, "slow down")) as (client, server):
        body = b'{"stream":true}'
        answer = await (await client.request("POST", server.url + path, body=body)).read()
        refusal = await client.request("POST", server.url + path, body=body)

        assert b"Hello." in answer
        assert answer.startswith((b"data: ", b"event: "))
        assert (refusal.status, b"slow down" in await refusal.read()) == (429, True)


@pytest.mark.parametrize("spoken", FORMATS, ids=lambda spoken: spoken.name)
def test_frames_are_counted_alike_in_every_format(spoken):
    """Opening, one a piece, why it ended, what it cost, that it is over: so a fault hits the same place everywhere."""
    reply = calls(("shell", {"command": "true"}, "call_1"), text="see", pieces=3)
    frames = spoken.frames(reply.content)

    assert len(frames) == len(reply.content.pieces) + 4
    assert b"see" in frames[1]
    assert b"shell" in b"".join(frames[2:6])


def test_every_format_has_a_path_of_its_own():
    """And nothing else is answered in any."""
    assert {path: format_of(path).name for path in PATHS} == PATHS
    assert format_of("/v1/models") is None


async def test_what_it_cost_is_told_with_its_details():
    """Cached and reasoning tokens are parts of the whole, as OpenAI counts."""
    spent = Usage(input_tokens=9, output_tokens=5, cached_tokens=4, reasoning_tokens=2)
    *_, cost, _done = await events_of(says("x", usage=spent))

    assert msgspec.json.decode(cost)["usage"] == {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


async def test_it_runs_as_its_own_process():
    """It prints its URL, then serves."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agi.testing.provider", "--script", "says:hi there", "--chunks", "2"),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert process.stdout
    try:
        url = (await process.stdout.readline()).decode().strip()
        async with HttpClient() as client:
            response = await client.request("POST", url + "/chat/completions", body=b'{"stream":true}')
            body = await response.read()
    finally:
        process.terminate()
        await process.wait()

    assert b'"hi t"' in body
    assert b'"here"' in body
