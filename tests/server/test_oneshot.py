"""The one-shot: one question, one answer; kept but not listed, and nobody to ask."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from agi.errors import ModelError
from agi.testing.box import Daemon, daemon_in_a_box, eventually
from agi.testing.files import broken_png, picture


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


async def test_files_go_along_and_a_bad_one_leaves_nothing_behind(daemon: Daemon) -> None:
    """Known by their bytes, under the names they came with; refused before anything is asked."""
    daemon.model.says("a square")
    good = {"filename": "shot.png", "mime_type": "application/octet-stream", "data": b64encode(picture()).decode()}
    note = {"filename": "n.md", "mime_type": "text/markdown", "data": b64encode(b"# Notes").decode()}
    bad = {"filename": "x.png", "mime_type": "image/png", "data": b64encode(broken_png()).decode()}

    reply = await daemon.post("/v1/one-shot", {"prompt": "what is it?", "attachments": [good, note]})
    refused = await daemon.post("/v1/one-shot", {"prompt": "and this?", "attachments": [good, bad]})
    no_base64 = await daemon.post("/v1/one-shot", {"prompt": "?", "attachments": [{**good, "data": "%"}]})

    assert (reply.status, reply.json()["content"]) == (200, "a square")
    text, image, file = daemon.model.requests[0].messages[0].parts
    assert (text.text, image.name, image.mime_type) == ("what is it?", "shot.png", "image/png")
    assert file.text.startswith("[file n.md]")
    assert [(one.status, one.code) for one in (refused, no_base64)] == [(422, "image_damaged"), (422, no_base64.code)]
    sessions = daemon.harness.folder / "sessions"
    await eventually(lambda: [path.name for path in sessions.iterdir()] == [reply.json()["session_id"]])
