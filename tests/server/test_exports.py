"""Exports over HTTP: a session as one file, to be saved."""

from __future__ import annotations

from agi.replay.cassette import parse_cassette
from agi.testing.box import Daemon


async def test_a_session_is_exported_in_each_format(daemon: Daemon) -> None:
    """A cassette that can be read, lines that are the mirror's, and Markdown."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    path = f"/v1/sessions/{turn.session_id}/export"
    cassette = await daemon.get(f"{path}?format=cassette")
    lines = await daemon.get(path)
    text = await daemon.get(f"{path}?format=markdown")
    mirror = daemon.harness.log.folder / "sessions" / turn.session_id / "events.ndjson"
    await daemon.harness.log.mirrored()

    assert parse_cassette(cassette.body).head.session_id == turn.session_id
    assert lines.body == mirror.read_bytes()
    assert "attachment" in lines.headers["content-disposition"]
    assert b"## User\n\nhello" in text.body


async def test_another_format_and_another_session_are_refused(daemon: Daemon) -> None:
    """With the usual errors."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    strange = await daemon.get(f"/v1/sessions/{turn.session_id}/export?format=pdf")
    missing = await daemon.get("/v1/sessions/sess_00000000000070008000000000000000/export")

    assert (strange.status, missing.status) == (422, 404)
