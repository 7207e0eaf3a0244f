"""A daemon over the network: streams that break are taken up, nothing is told twice, nothing waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agi.client import daemon as module
from agi.client.daemon import DaemonClient
from agi.client.find import open_daemon
from agi.config.daemon import DaemonRecord
from agi.errors import Damaged, Invalid, NotFound, Unavailable
from agi.protocol.commands import CreateSession, PostMessage
from agi.protocol.events import Event, Notice

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
NO_SESSION = b'{"error":{"code":"session_not_found","message":"There is none."}}'
GONE = b"HTTP/1.1 404 Not Found\r\ncontent-length: %d\r\n\r\n%b" % (len(NO_SESSION), NO_SESSION)
Answer = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


def frame(seq: int, id: str = "") -> bytes:
    """One event as a chunk of an answer."""
    data = Event.of(seq, "t", "s", None, Notice(code="c", message="m")).envelope().decode()
    event = f"event: notice\ndata: {data}\nid: {id or seq}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(event), event)


@asynccontextmanager
async def answering(*answers: Answer) -> AsyncIterator[tuple[DaemonClient, list[str]]]:
    """A client of a server that answers one request a connection, each in its own way; and what was asked."""
    asked: list[str] = []
    rest = iter(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(request.split(" ")[1])
        await next(rest)(request, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = DaemonClient(Path("/nowhere"), DaemonRecord(url=url, pid=1, started_at="", token="t" * 20))
    try:
        yield client, asked
    finally:
        await client.close()
        server.close()


def sends(*pieces: bytes) -> Answer:
    """Write these, then hang up."""

    async def answer(request: str, writer: asyncio.StreamWriter) -> None:
        assert "authorization: Bearer " + "t" * 20 in request
        writer.write(b"".join(pieces))

    return answer


async def test_a_broken_stream_is_taken_up_behind_the_last_event():
    """The position goes back to the daemon, with its offset and epoch."""
    cut = sends(HEAD, frame(1), frame(2, "2:40@7"))
    async with answering(cut, sends(HEAD, frame(3)), sends(GONE)) as (client, asked):
        told = [event.seq async for event in client.follow("s")]

    assert told == [1, 2, 3]
    assert asked == ["/v1/sessions/s/events", "/v1/sessions/s/events?after=2%3A40%407", "/v1/sessions/s/events?after=3"]


async def test_half_an_event_is_told_only_once_it_is_whole():
    """A cut in the middle of a frame loses and doubles nothing."""
    async with answering(sends(HEAD, frame(1), frame(2)[:40]), sends(HEAD, frame(2)), sends(GONE)) as (client, _):
        assert [event.seq async for event in client.follow("s")] == [1, 2]


async def test_heartbeats_are_not_events():
    """They show that the daemon lives, and are not told."""
    beat = b'event: heartbeat\ndata: {"ts":"t"}\n\n'
    async with answering(sends(HEAD, b"%x\r\n%b\r\n" % (len(beat), beat), frame(1)), sends(GONE)) as (client, _):
        assert [event.seq async for event in client.follow("s")] == [1]


async def test_damage_of_the_log_ends_the_following_with_that_error():
    """What stands before it is told; and it is not asked for again."""
    told = b'event: error\ndata: {"code":"damaged","message":"A hole.","hint":"Run `agi repair`."}\n\n'
    async with answering(sends(HEAD, frame(1), b"%x\r\n%b\r\n" % (len(told), told))) as (client, asked):
        stream = client.follow("s")
        assert (await anext(stream)).seq == 1
        with pytest.raises(Damaged, match="A hole") as refused:
            await anext(stream)

    assert refused.value.hint == "Run `agi repair`."
    assert len(asked) == 1


async def test_a_session_that_was_never_there_is_an_error():
    """And not an empty stream."""
    async with answering(sends(GONE)) as (client, _):
        with pytest.raises(NotFound):
            await anext(client.follow("s"))


async def test_a_daemon_that_stays_away_is_given_up(monkeypatch):
    """After a while there is an error instead of a wait without end."""
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0))
    async with answering(sends(HEAD, frame(1)), sends(b""), sends(b"")) as (client, _):
        stream = client.follow("s")
        assert (await anext(stream)).seq == 1
        with pytest.raises(Unavailable, match="is gone"):
            await anext(stream)


async def test_an_answer_that_is_not_understood_is_an_error_of_ours():
    """Something else listens at that port."""
    body = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
    async with answering(sends(body)) as (client, _):
        with pytest.raises(Unavailable, match="not understood"):
            await client.session("s")


@pytest.mark.parametrize("name", ["../../x", "a/b", "a?b", "a#b", "ü", "a b", "a%2Fb"])
async def test_no_id_leads_to_another_path(name):
    """Whatever a session is called, it stays one segment."""
    async with answering(sends(GONE)) as (client, asked):
        with pytest.raises(NotFound):
            await client.session(name)

    assert asked[0].count("/") == 3
    assert not set(asked[0]) & set("?# ü")


async def test_a_daemon_that_starts_again_elsewhere_is_found_again(here):
    """A new port and a new token: the follower goes on where it was."""
    async with here.daemon():
        client = await open_daemon(here.settings)
        assert client is not None
        session = await client.create_session(CreateSession(workspace_path=str(here.project)))
        stream = client.follow(session.id)
        assert (await anext(stream)).type == "session_created"
    async with here.daemon(), asyncio.timeout(20):
        following = asyncio.ensure_future(anext(stream))
        other = await open_daemon(here.settings)
        assert other is not None
        await other.post_message(session.id, PostMessage(content="hello", wait=False))
        assert (await following).seq == 2
        await stream.aclose()
        await other.close()
        await client.close()


def says(status: str, body: bytes) -> Answer:
    """An answer as a whole."""
    return sends(b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (status.encode(), len(body), body))


async def test_a_daemon_of_an_older_version_lists_its_models_and_who_answers_is_left_open():
    """It takes no names: what they would come to is not guessed."""
    refused = says("422 Unprocessable Entity", b'{"error":{"code":"invalid","message":"`agent` is not known here."}}')
    listed = says("200 OK", b'{"models":[],"default":{"provider":"p","model":"m","reason":"asked","because":""}}')
    async with answering(refused, listed) as (client, asked):
        found = await client.models(agent="build")

    assert asked == ["/v1/models?agent=build", "/v1/models"]
    assert (found.default, found.problem) == (None, module.OLDER)


async def test_what_is_no_name_is_refused_by_a_daemon_of_this_version():
    """In its own words; without names nothing is asked twice."""
    refused = says("422 Unprocessable Entity", b'{"error":{"code":"invalid","message":"Too long."}}')
    listed = says("200 OK", b'{"models":[],"default":null,"agent":"build"}')
    async with answering(refused, listed, refused) as (client, asked):
        for names in ({"model": "m" * 300}, {}):
            with pytest.raises(Invalid, match="Too long"):
                await client.models(**names)

    assert len(asked) == 3
