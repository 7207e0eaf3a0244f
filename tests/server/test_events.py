"""Streams of a session: history then live, exact on resume however often the link breaks, never held up by a reader."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agi.eventlog.hub import BUFFER
from agi.models.base import Finished, ModelRequest, ReasoningDelta, StreamItem, TextDelta
from agi.models.scripted import Call, Say, Wait
from agi.net.sse import SseEvent, SseParser
from agi.protocol.messages import Usage
from agi.server.request import AppSettings
from agi.testing.box import AskedTurn, Daemon, daemon_in_a_box, eventually

ENDINGS = ("session_completed", "session.completed")


class DrippingModel:
    """Thinks and speaks in random pieces, a few each time it is let."""

    provider = "scripted"
    name = "drip"

    def __init__(self, pieces: list[str]) -> None:
        self._pieces = pieces
        self._allowed = asyncio.Semaphore(0)

    def let(self, count: int) -> None:
        for _ in range(count):
            self._allowed.release()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        for n, piece in enumerate(self._pieces):
            await self._allowed.acquire()
            thinks = n < len(self._pieces) // 4
            yield ReasoningDelta(piece) if thinks else TextDelta(piece)
        yield Finished(stop_reason="end_turn", usage=Usage(requests=1))


class Reader:
    """A client's state: the text of each part and the durable events, each character and each event once."""

    def __init__(self) -> None:
        self.last_id = ""
        self.text: dict[str, str] = {}
        self.seen: list[tuple[int, str]] = []
        self.ended = False

    def hear(self, event: SseEvent) -> None:
        assert event.id is not None
        self.last_id = event.id
        self.ended = event.event in ENDINGS
        data = msgspec.json.decode(event.data)
        if event.event == "model_output_delta":
            self._add(data["data"]["part_id"], data["data"]["offset"], data["data"]["delta"])
        elif event.event == "message.part.delta":
            self._add(data["partId"], data["offset"], data["delta"])
        else:
            self.seen.append((int(event.id.partition(":")[0]), event.event))

    def _add(self, part_id: str, offset: int, delta: str) -> None:
        assert offset == len(self.text.get(part_id, "")), "a gap or a repetition"
        assert delta
        self.text[part_id] = self.text.get(part_id, "") + delta


class Line:
    """One connection of a client that will not last."""

    def __init__(self, daemon: Daemon) -> None:
        self._port = int(daemon.url.rpartition(":")[2])

    async def begin(self, target: str, last_id: str = "") -> asyncio.StreamReader:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        header = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        self._writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n{header}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        return reader

    def drop(self) -> None:
        self._writer.transport.abort()


def body_of(chunked: bytes) -> bytes:
    """What arrived of a chunked body, also where it breaks off in the middle."""
    body = b""
    while chunked:
        size, found, rest = chunked.partition(b"\r\n")
        if not found:
            break
        body += rest[: int(size, 16)]
        chunked = rest[int(size, 16) + 2 :]
    return body


async def read_to_end(daemon: Daemon, target: str, reader: Reader) -> None:
    async with contextlib.aclosing(daemon.stream(target)) as events:
        async for event in events:
            reader.hear(event)
            if reader.ended:
                return


def pieces(rng: random.Random, count: int) -> list[str]:
    letters = 'abc dé\n漢😀"\\'
    return ["".join(rng.choice(letters) for _ in range(rng.randint(1, 60))) for _ in range(count)]


@pytest.mark.threat("T40")
@pytest.mark.parametrize("surface", ["events", "stream"])
async def test_a_link_that_breaks_200_times_loses_and_repeats_nothing(tmp_path: Path, surface: str) -> None:
    """Wherever the link breaks, even within a frame, a client that comes back with its last id gets just the rest."""
    rng = random.Random(7)
    said = pieces(rng, 800)
    model, reader = DrippingModel(said), Reader()
    async with daemon_in_a_box(tmp_path, model=model) as daemon:
        session_id = await daemon.begin()
        target = f"/v1/sessions/{session_id}/{surface}"
        reader.last_id = "1"
        await daemon.ask("go on", session_id=session_id)
        for _ in range(200):
            line = Line(daemon)
            by_header = rng.random() < 0.5
            where = target if by_header else f"{target}?after={reader.last_id}"
            if rng.random() < 0.5:
                model.let(4)
                incoming = await line.begin(where, reader.last_id if by_header else "")
            else:
                incoming = await line.begin(where, reader.last_id if by_header else "")
                model.let(4)
            arrived = await incoming.read(65536)
            line.drop()
            for event in SseParser().feed(body_of(arrived[: rng.randint(0, len(arrived))])):
                reader.hear(event)
        await read_to_end(daemon, f"{target}?after={reader.last_id}", reader)
        final = (await daemon.get(f"/v1/sessions/{session_id}/messages")).json()["messages"][-1]
        assert reader.text == {part["id"]: part["text"] for part in final["parts"]}
        assert "".join(reader.text.values()) == "".join(said)
        logged = daemon.harness.log.read(session_id, 1, 10_000)
        unsaid = {"model_output_delta"} if surface == "events" else {"model_output_delta", "turn_started"}
        assert [seq for seq, _ in reader.seen] == [event.seq for event in logged if event.type not in unsaid]


async def test_two_readers_of_the_same_turn_see_the_same(daemon: Daemon) -> None:
    """Whoever comes late gets the past first and then the present, and ends with the same state."""
    gate = asyncio.Event()
    daemon.model.plays(Say("before ", size=2), Wait(gate), Say("after", size=1))
    turn = await daemon.ask("speak")
    target = f"/v1/sessions/{turn.session_id}/events"
    first, second = Reader(), Reader()
    early = asyncio.create_task(read_to_end(daemon, target, first))
    await eventually(lambda: "".join(first.text.values()) == "before ")
    late = asyncio.create_task(read_to_end(daemon, target, second))
    await eventually(lambda: "".join(second.text.values()) == "before ")

    gate.set()

    await asyncio.gather(early, late)
    assert first.text == second.text
    assert first.seen == second.seen
    assert "".join(first.text.values()) == "before after"


@pytest.mark.advisory("codex app-server")
@pytest.mark.threat("T40")
async def test_a_reader_that_does_not_read_holds_nobody_up_and_still_gets_everything(daemon: Daemon) -> None:
    """The turn runs at its own speed, memory stays bounded, and the slow reader gets all of it once it reads."""
    daemon.model.plays(*(Say(f"{number:04} " * 200) for number in range(6000)))
    session_id = await daemon.begin()
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.setblocking(False)
        port = int(daemon.url.rpartition(":")[2])
        await asyncio.get_running_loop().sock_connect(slow, ("127.0.0.1", port))
        request = f"GET /v1/sessions/{session_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        await asyncio.get_running_loop().sock_sendall(slow, request.encode())
        turn = await daemon.ask("shout", session_id=session_id)
        assert len(await turn.answer()) == 6_000_000
        (group,) = daemon.harness.log.hub._by_session.values()
        assert all(len(subscription.items) <= BUFFER for subscription in group)

        reader = Reader()
        await _drain(slow, reader)

    assert [len(text) for text in reader.text.values()] == [6_000_000]


async def _drain(slow: socket.socket, reader: Reader) -> None:
    """Read a chunked stream to the end of the turn."""
    incoming, writer = await asyncio.open_connection(sock=slow.dup())
    await incoming.readuntil(b"\r\n\r\n")
    parser = SseParser()
    while not reader.ended:
        size = int(await incoming.readuntil(b"\r\n"), 16)
        for event in parser.feed((await incoming.readexactly(size + 2))[:-2]):
            reader.hear(event)
    writer.close()
    await writer.wait_closed()


async def test_closing_every_client_does_not_stop_the_turn(daemon: Daemon) -> None:
    """A run belongs to the daemon: the turn finishes, is stored, and a new client sees the whole of it."""
    gate = asyncio.Event()
    daemon.model.plays(Say("one "), Wait(gate), Call("repo_tree")).then_says("two")
    turn = await daemon.ask("work")
    line = Line(daemon)
    incoming = await line.begin(f"/v1/sessions/{turn.session_id}/events")
    await incoming.readuntil(b"turn_started")

    line.drop()
    await eventually(lambda: not daemon.harness.log.hub.followed())
    gate.set()

    assert await turn.answer() == "two"
    events = [event["type"] for event in await daemon.history(turn.session_id)]
    assert events[-1] == "session_completed"
    assert "tool_call_completed" in events


async def test_an_idle_stream_shows_that_it_lives(tmp_path: Path) -> None:
    """The heartbeat is a visible event, and has no id: nothing happened."""
    async with daemon_in_a_box(tmp_path, settings=AppSettings(heartbeat_s=0.01)) as daemon:
        session_id = await daemon.begin()
        for surface in ("events", "stream"):
            line = Line(daemon)
            incoming = await line.begin(f"/v1/sessions/{session_id}/{surface}")
            heard = await incoming.readuntil(b"event: heartbeat\n")
            rest = await incoming.readuntil(b"\n\n")
            line.drop()
            assert b"id:" not in rest
            assert heard.count(b"id:") == (1 if surface == "events" else 0)


async def test_a_busy_stream_needs_no_heartbeat(tmp_path: Path) -> None:
    """Only silence is broken."""
    async with daemon_in_a_box(tmp_path, settings=AppSettings(heartbeat_s=30.0)) as daemon:
        daemon.model.says("hello there", size=1)
        turn = await daemon.ask("hi")
        await turn.answer()
        words = [event["type"] for event in await daemon.history(turn.session_id)]
        assert "heartbeat" not in words


async def answered(daemon: Daemon) -> AskedTurn:
    daemon.model.says("Hello.")
    turn = await daemon.ask("hi")
    await turn.answer()
    await eventually(lambda: daemon.harness.state(turn.session_id).status == "completed")
    return turn


async def first_event(daemon: Daemon, target: str, headers: dict[str, str] | None = None) -> SseEvent:
    async with contextlib.aclosing(daemon.stream(target, headers=headers or {})) as events:
        return await anext(events)


@pytest.mark.threat("T40")
@pytest.mark.parametrize("surface", ["events", "stream"])
@pytest.mark.parametrize("cursor", ["9999", "9999:4", "3@7", "1:2@1700000000"])
async def test_a_cursor_of_another_log_starts_over_from_a_snapshot(daemon: Daemon, surface: str, cursor: str) -> None:
    """An unknown or future position, or one of another epoch, gets an explicit `resync`, never a silent gap."""
    turn = await answered(daemon)

    event = await first_event(daemon, f"/v1/sessions/{turn.session_id}/{surface}?after={cursor}")

    told = msgspec.json.decode(event.data)
    session = (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()
    assert event.event == "resync"
    assert event.id == str(session["last_seq"])
    assert told == {"session": session, "open_text": [], "seq": session["last_seq"], "turn_id": None}


async def test_a_snapshot_tells_which_turn_runs_also_where_others_wait(daemon: Daemon) -> None:
    """The session's last turn is then one in line; whoever wants to stop what runs needs the other."""
    daemon.model.plays(Say("Thinking"), Wait(asyncio.Event()))
    turn = await daemon.ask("begin")
    await eventually(lambda: daemon.harness.state(turn.session_id).turn)
    waits = await daemon.ask("and then this", session_id=turn.session_id)
    event = await first_event(daemon, f"/v1/sessions/{turn.session_id}/events?after=1@0")

    told = msgspec.json.decode(event.data)
    assert told["turn_id"] == turn.id
    assert told["session"]["last_turn_id"] == waits.id


async def test_after_a_resync_the_open_text_goes_on_where_the_snapshot_ends(tmp_path: Path) -> None:
    """The snapshot holds what the log has of an open message; the deltas that follow continue it exactly."""
    rng = random.Random(3)
    said = pieces(rng, 200)
    model = DrippingModel(said)
    async with daemon_in_a_box(tmp_path, model=model) as daemon:
        turn = await daemon.ask("go on")
        model.let(120)
        read = daemon.harness.log.read
        await eventually(lambda: read(turn.session_id)[-1].type == "model_output_delta")
        target = f"/v1/sessions/{turn.session_id}/events?after=5@99"
        text: dict[str, str] = {}
        async with contextlib.aclosing(daemon.stream(target)) as events:
            async for event in events:
                data: Any = msgspec.json.decode(event.data)
                if event.event == "resync":
                    assert data["open_text"]
                    text = {part["part_id"]: part["text"] for part in data["open_text"]}
                    model.let(80)
                elif event.event == "model_output_delta":
                    part_id, offset = data["data"]["part_id"], data["data"]["offset"]
                    assert offset == len(text.get(part_id, ""))
                    text[part_id] = text.get(part_id, "") + data["data"]["delta"]
                elif event.event == "session_completed":
                    break
        assert "".join(text.values()) == "".join(said)


@pytest.mark.parametrize("cursor", ["x", "-1", "1:", "1:2:3", "%20", "1e3", "0x1", "%D9%A3"])
async def test_a_position_that_is_none_is_malformed(daemon: Daemon, cursor: str) -> None:
    """Garbage is refused before anything is sent, in the query and in the header."""
    session_id = await daemon.begin()
    target = f"/v1/sessions/{session_id}/events"

    by_query = await daemon.get(f"{target}?after={cursor}")
    assert (by_query.status, by_query.code) == (400, "bad_cursor")
    if cursor.isascii() and "%" not in cursor:
        by_header = await daemon.get(target, {"last-event-id": cursor})
        assert (by_header.status, by_header.code) == (400, "bad_cursor")


async def test_the_query_beats_the_header(daemon: Daemon) -> None:
    """`?after=` is what the caller said last; the header is what a browser remembers."""
    turn = await answered(daemon)
    target = f"/v1/sessions/{turn.session_id}/events?after=2"

    event = await first_event(daemon, target, {"last-event-id": "4"})

    assert event.id == "3"


async def test_history_alone_ends_by_itself(daemon: Daemon) -> None:
    """`?follow=false` is the history as a stream; `?limit=` ends either kind after so many events."""
    turn = await answered(daemon)
    target = f"/v1/sessions/{turn.session_id}/events"

    everything = await daemon.get(f"{target}?follow=false")
    two = [event.event async for event in daemon.stream(f"{target}?limit=2")]
    third = [event.event async for event in daemon.stream(f"{target}?limit=1&after=2&follow=false")]

    assert everything.headers["content-type"].startswith("text/event-stream")
    assert everything.body.count(b"\n\n") == len(daemon.harness.log.read(turn.session_id))
    assert two == ["session_created", "session_updated"]
    assert third == ["message_added"]


async def test_the_stream_of_a_deleted_session_ends(daemon: Daemon) -> None:
    """There is nothing more to tell."""
    session_id = await daemon.begin()
    heard: list[str] = []

    async def listen() -> None:
        heard.extend([event.event async for event in daemon.stream(f"/v1/sessions/{session_id}/events")])

    listening = asyncio.create_task(listen())
    await eventually(lambda: bool(daemon.harness.log.hub.followed()))
    assert (await daemon.call("DELETE", f"/v1/sessions/{session_id}")).status == 204

    await asyncio.wait_for(listening, 5)
    assert heard == ["session_created"]


@pytest.mark.parametrize("surface", ["events", "stream"])
async def test_head_tells_that_there_is_a_stream_without_opening_it(daemon: Daemon, surface: str) -> None:
    """HEAD is GET without a body, also where the body would never end."""
    session_id = await daemon.begin()

    there = await daemon.call("HEAD", f"/v1/sessions/{session_id}/{surface}")
    missing = await daemon.call("HEAD", f"/v1/sessions/sess_{'0' * 32}/{surface}")

    assert (there.status, missing.status) == (200, 404)
    assert there.headers["content-type"].startswith("text/event-stream")
    assert not daemon.harness.log.hub.followed()


async def test_stopping_the_application_ends_its_streams(daemon: Daemon) -> None:
    """A daemon that stops does not wait for its readers."""
    session_id = await daemon.begin()
    listening = asyncio.create_task(daemon.get(f"/v1/sessions/{session_id}/events"))
    await eventually(lambda: bool(daemon.harness.log.hub.followed()))

    daemon.app.stop()

    assert (await asyncio.wait_for(listening, 5)).status == 200


async def test_an_input_on_several_lines_does_not_break_a_frame(daemon: Daemon) -> None:
    """A tool's input is told as the model wrote it, but a line break between two tokens is no end of a line here."""
    daemon.model.plays(Call("repo_tree", '{\n  "depth":\r\n 1\n}')).then_says("Seen.")
    turn = await daemon.ask("look")
    assert await turn.answer() == "Seen."

    told = {event["type"]: event["data"] for event in await daemon.history(turn.session_id)}

    assert told["tool_call_started"]["tool_call"]["input"] == {"depth": 1}


async def test_canceling_what_is_queued_does_not_disturb_what_is_being_said(tmp_path: Path) -> None:
    """The end of a turn that never began closes nobody's text."""
    said = pieces(random.Random(5), 100)
    model, reader = DrippingModel(said), Reader()
    async with daemon_in_a_box(tmp_path, model=model) as daemon:
        turn = await daemon.ask("go on")
        reading = asyncio.create_task(read_to_end(daemon, f"/v1/sessions/{turn.session_id}/events", reader))
        model.let(10)
        await eventually(lambda: bool(reader.text))
        queued = await daemon.ask("and then?", session_id=turn.session_id)
        model.let(10)
        reply = await daemon.post(f"/v1/sessions/{turn.session_id}/cancel", {"turn_id": queued.id})
        assert reply.json() == {"turn_ids": [queued.id], "status": "canceled"}

        model.let(80)

        await reading
        assert "".join(reader.text.values()) == "".join(said)


async def test_a_hole_in_the_log_ends_the_stream_with_what_to_do(daemon: Daemon) -> None:
    """What stands before the damage is told, then an error; the connection ends as it should."""
    daemon.model.says("hello")
    turn = await daemon.ask("hi")
    await turn.answer()
    with contextlib.closing(sqlite3.connect(daemon.harness.log.path)) as db:
        db.execute("DELETE FROM events WHERE session_id=? AND seq=3", (turn.session_id,))
        db.commit()

    told = [event async for event in daemon.stream(f"/v1/sessions/{turn.session_id}/events?follow=false")]

    assert [event.event for event in told] == ["session_created", "session_updated", "error"]
    assert "agi repair" in msgspec.json.decode(told[-1].data)["hint"]
