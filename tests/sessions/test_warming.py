"""A small model begins to read when a session is opened; other models are left alone until they are asked."""

from __future__ import annotations

import json

import pytest

from agi.testing.provider import ProviderServer
from agi.testing.replies import fails, says


def at(server: ProviderServer, profile: str) -> str:
    provider = {"baseUrl": server.base_url, "profile": profile}
    return json.dumps({"defaultProvider": "mine", "defaultModel": "m", "providers": {"mine": provider}})


async def test_a_small_model_reads_ahead_when_a_session_is_opened(place):
    """What is known before the question is sent once, in the background, and again in front of the question."""
    answer = json.dumps({"tool": "answer", "text": "Two files."})
    async with ProviderServer([says("x"), says(answer)]) as server:
        place.configure(at(server, "small"))
        (place.project / "calc.py").write_text("pass\n")
        await place.start()
        await place.until(lambda: len(server.requests) == 1)

        turn = await place.ask("how many files are there?")

    assert (turn.status, place.answer()) == ("completed", "Two files.")
    ahead, asked = (request.json["messages"] for request in server.requests)
    assert "calc.py" in json.dumps(ahead)
    assert asked[: len(ahead) - 1] == ahead[:-1]


async def test_any_other_model_is_not_asked_before_somebody_asks(place):
    """Reading ahead costs money there."""
    async with ProviderServer([says("hello")]) as server:
        place.configure(at(server, "full"))
        await place.start()
        await place.ask("hi")

        assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [fails(500, "broken"), fails(401, "who are you?")])
async def test_what_goes_wrong_then_is_told_when_somebody_asks(place, reply):
    """Opening a session does not fail because of it."""
    async with ProviderServer([reply, reply]) as server:
        place.configure(at(server, "small"))
        await place.start()
        await place.until(lambda: len(server.requests) == 1)

    assert place.types() == ["session_created"]


async def test_closing_stops_a_reading_that_is_under_way(place):
    """A slow model holds nobody up."""
    async with ProviderServer([]) as server:
        place.configure(at(server, "small"))
        await place.start()
        await place.harness.close()
        await place.open()
        assert place.types() == ["session_created"]
