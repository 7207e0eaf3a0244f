"""The one-shot: one question, one answer; kept but not listed, and nobody to ask."""

from __future__ import annotations

from pathlib import Path

from agi.errors import ModelError
from agi.testing.box import Daemon, daemon_in_a_box


async def test_its_session_is_kept_but_not_listed(daemon: Daemon) -> None:
    """Whoever has the id can look at it."""
    daemon.model.says("Hello.")
    said = (await daemon.post("/v1/one-shot", {"prompt": "hi", "agent": "general"})).json()
    session = (await daemon.get(f"/v1/sessions/{said['session_id']}")).json()
    assert (session["agent"], session["status"]) == ("general", "completed")
    assert (await daemon.get("/v1/sessions")).json()["sessions"] == []


async def test_nobody_watches_it_so_nothing_asks(daemon: Daemon) -> None:
    """A call that would need approval is refused at once; the model is told, and so is the client."""
    daemon.model.calls("shell", command="echo hi > x").then_says("I may not.")
    said = (await daemon.post("/v1/one-shot", {"prompt": "run it"})).json()
    assert said["content"] == "I may not."
    assert [(one["name"], one["cause"]) for one in said["refused"]] == [("shell", "policy")]
    assert not daemon.workspace.was_touched()


async def test_a_failing_provider_is_told_with_the_turn(daemon: Daemon) -> None:
    """502 in the error shape."""
    daemon.model.fails(ModelError("down"))
    reply = await daemon.post("/v1/one-shot", {"prompt": "hi"})
    assert (reply.status, reply.code) == (502, "provider_failed")
    assert reply.json()["error"]["turn_id"].startswith("turn_")


async def test_what_cannot_be_asked_leaves_no_session_behind(tmp_path: Path) -> None:
    """Where no model can answer, the question is refused and nothing stays."""
    async with daemon_in_a_box(tmp_path, config={"defaultProvider": "openai"}) as daemon:
        reply = await daemon.post("/v1/one-shot", {"prompt": "hi"})
        assert (reply.status, reply.code) == (422, "missing_key")
        count = daemon.harness.log.db.execute("SELECT count(*) FROM events").fetchone()[0]
        assert count == 0


async def test_options_reach_the_model(daemon: Daemon) -> None:
    """What a provider may be told is passed on."""
    daemon.model.says("Hello.")
    await daemon.post("/v1/one-shot", {"prompt": "hi", "options": {"temperature": 0.5}})
    assert daemon.model.requests[0].options == {"temperature": 0.5}
