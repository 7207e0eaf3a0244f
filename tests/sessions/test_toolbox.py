"""Tools in a running turn: their output is told as it comes, and what they keep can be found."""

from __future__ import annotations

import json

from agi.models.scripted import Call


async def quiet(place) -> None:
    """Nothing is asked, nothing verified."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')


async def test_output_is_told_while_the_command_runs(place):
    """The first line is in the log before the command has ended."""
    await quiet(place)
    place.model.calls("shell", command="echo first; while [ ! -f go ]; do sleep 0.01; done; echo last").then_says("ok")
    posted = await place.say("run")

    first = await place.heard("tool_output_delta")
    assert json.loads(first.raw)["chunk"] == "first\n"
    assert not place.events("tool_call_completed")
    (place.project / "go").touch()
    await place.ended(posted)

    pieces = [json.loads(event.raw) for event in place.events("tool_output_delta")]
    assert "".join(piece["chunk"] for piece in pieces) == "first\nlast\n"
    assert [piece["offset"] for piece in pieces] == [0, 6]


async def test_a_flood_of_output_is_bounded_in_the_log_and_whole_in_its_artifact(place):
    """The log holds a little of it, the result its ends, the artifact all of it."""
    await quiet(place)
    place.model.calls("shell", command="seq 1 200000").then_says("ok")

    await place.ask("run")

    assert sum(len(event.raw) for event in place.events()) < 400_000
    result = json.loads(place.events("tool_call_completed")[0].raw)["tool_result"]
    artifact = result["artifact"]
    assert artifact["id"].startswith("art_")
    assert artifact["path"].startswith(f".agi/sessions/{place.session_id}/artifacts/turn_")
    kept = (place.project / artifact["path"]).read_text()
    assert kept == "".join(f"{n}\n" for n in range(1, 200_001))
    assert artifact["size"] == len(kept)


async def test_a_quick_command_writes_no_output_events(place):
    """What is in the result need not be in the log twice."""
    await quiet(place)
    place.model.calls("shell", command="echo hi").then_says("ok")

    await place.ask("run")

    assert not place.events("tool_output_delta")


async def test_a_command_does_not_see_the_daemons_keys(place, monkeypatch):
    """The environment of a command is an allow-list."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-canary")
    monkeypatch.setenv("SOME_SETTING", "sk-planted-canary")
    await quiet(place)
    place.model.plays(Call("shell", {"command": "env"})).then_says("ok")

    await place.ask("run")

    text = json.loads(place.events("tool_call_completed")[0].raw)["tool_result"]["parts"][0]["text"]
    assert "PATH=" in text
    assert "canary" not in text
