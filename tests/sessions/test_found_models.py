"""Turns answered by a model server that was found on this machine: settled when they begin, and kept to afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from agi.errors import Invalid
from agi.models import nearby
from agi.sessions.harness import Harness
from agi.testing.provider import ProviderServer, says
from agi.testing.replies import never_begins


class Found:
    """A place where nothing is configured, and the port where a server may be."""

    def __init__(self, place) -> None:
        self.place = place
        self.port = 0

    async def open(self, server: ProviderServer) -> None:
        """Begin anew, as a new process would: nothing is remembered of what was seen."""
        self.port = int(server.url.rpartition(":")[2])
        nearby._AROUND.clear()
        settings = replace(self.place.settings(), probe_ports={"vllm": self.port})
        self.place.harness = Harness(settings)

    def started(self) -> list[tuple[str, str]]:
        events = (json.loads(event.raw) for event in self.place.events("turn_started"))
        return [(event["provider"], event["model"]) for event in events]

    @asynccontextmanager
    async def silence(self) -> AsyncIterator[asyncio.Event]:
        """Something listens where the server was, and says nothing; the event is set when it is asked."""
        asked = asyncio.Event()

        async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.set()
            await reader.read()
            writer.close()

        async with await asyncio.start_server(hold, "127.0.0.1", self.port):
            yield asked


@pytest.fixture
async def found(place) -> AsyncIterator[Found]:
    await place.harness.close()
    yield Found(place)
    nearby._AROUND.clear()


async def test_a_message_is_answered_by_the_server_that_was_found(found, place):
    """Nothing is set up; who answers stands in the log, and is looked for once."""
    async with ProviderServer([says("one"), says("two")], models=("nomic-embed-text", "qwen3-8b")) as server:
        await found.open(server)
        await place.start()
        for text in ("one", "two"):
            turn = await place.ask("hi")
            assert (turn.status, place.answer()) == ("completed", text)
        assert found.started() == [("vllm", "qwen3-8b")] * 2
        assert [asked.json["model"] for asked in server.requests] == ["qwen3-8b"] * 2
        assert server.connections == 2  # one to look, one to ask


async def test_without_one_a_message_is_refused_and_nothing_is_written(found, place):
    """The session is as it was."""
    async with ProviderServer([]) as server:
        await found.open(server)
    await place.start()
    before = place.types()
    with pytest.raises(Invalid) as refused:
        await place.say("hi")

    assert refused.value.code == "no_model"
    assert place.types() == before


async def test_a_session_may_ask_for_one_by_name(found, place):
    """When it is made, and when it is changed; one that is not there is refused at once."""
    async with ProviderServer([says("hello")], models=("a",)) as server:
        await found.open(server)
        await place.start(provider="vllm")
        await place.ask("hi")
        assert found.started() == [("vllm", "a")]
    nearby._AROUND.clear()
    with pytest.raises(Invalid) as refused:
        await place.start(provider="vllm")

    assert refused.value.code == "provider_unreachable"
    assert f"127.0.0.1:{found.port}" in refused.value.message


async def test_a_turn_goes_on_with_the_same_server_after_a_restart(found, place):
    """It is found again; another model is not asked instead."""
    async with ProviderServer([never_begins(), says("The whole of it.")], models=("a",)) as server:
        await found.open(server)
        await place.start()
        posted = await place.say("tell me")
        await place.until(lambda: len(server.requests) == 1)
        await place.harness.close()

        await found.open(server)
        assert await place.harness.recover() == 1
        turn = await asyncio.wait_for(place.ended(posted), 10)

        assert (turn.status, place.answer()) == ("completed", "The whole of it.")
        assert [asked.json["model"] for asked in server.requests] == ["a", "a"]


async def test_a_turn_whose_server_is_gone_fails_with_its_address(found, place):
    """It neither crashes nor waits for ever, and can be retried."""
    async with ProviderServer([never_begins()], models=("a",)) as server:
        await found.open(server)
        await place.start()
        posted = await place.say("tell me")
        await place.until(lambda: len(server.requests) == 1)
        await place.harness.close()
    await found.open(server)
    await place.harness.recover()
    turn = await asyncio.wait_for(place.ended(posted), 10)

    error = json.loads(place.events("turn_failed")[0].raw)["error"]
    assert (turn.status, error["code"]) == ("failed", "provider_unreachable")
    assert f"Nothing answers at 127.0.0.1:{found.port}." in error["message"]


async def test_a_turn_can_be_canceled_while_its_server_is_looked_for(found, place, monkeypatch):
    """The wish is not lost in between."""
    async with ProviderServer([never_begins()], models=("a",)) as server:
        await found.open(server)
        await place.start()
        posted = await place.say("tell me")
        await place.until(lambda: len(server.requests) == 1)
        await place.harness.close()
    monkeypatch.setattr(nearby, "NAMED_S", 0.5)
    async with found.silence() as asked:
        await found.open(server)
        await place.harness.recover()
        await asyncio.wait_for(asked.wait(), 10)
        await place.cancel()
        turn = await asyncio.wait_for(place.ended(posted), 10)

    assert turn.status == "canceled"
