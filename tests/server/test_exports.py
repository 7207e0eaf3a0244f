"""Exports over HTTP: a session as one file, to be saved."""

from __future__ import annotations

import sqlite3

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


async def test_a_changed_log_is_no_cassette(daemon: Daemon) -> None:
    """The event is named, and what helps; its lines can be had as they are."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    db = sqlite3.connect(daemon.harness.log.path)
    db.execute("UPDATE events SET ts='2026-01-01T00:00:00.000Z' WHERE seq=2")
    db.commit()
    db.close()
    path = f"/v1/sessions/{turn.session_id}/export"
    refused = await daemon.get(f"{path}?format=cassette")
    error = refused.json()["error"]

    assert (refused.status, error["code"]) == (422, "log_damaged")
    assert "event 2 is not as it was written" in error["message"]
    assert "--from-mirrors" in error["hint"]
    assert (await daemon.get(path)).status == 200


async def test_a_rotted_byte_is_told_and_not_a_failure_of_ours(daemon: Daemon) -> None:
    """An export names the damage; a stream tells what stands before it, then the same."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    db = sqlite3.connect(daemon.harness.log.path)
    db.execute("UPDATE events SET data=CAST(x'7bff7d' AS TEXT) WHERE seq=3")
    db.commit()
    db.close()
    path = f"/v1/sessions/{turn.session_id}"

    for kind in ("ndjson", "cassette"):
        refused = await daemon.get(f"{path}/export?format={kind}")
        error = refused.json()["error"]
        assert (refused.status, error["code"]) == (422, "log_damaged")
        assert "behind event 2" in error["message"]
        assert "agi repair --from-mirrors" in error["hint"]
    for stream in ("events", "stream?after=1"):
        told = (await daemon.get(f"{path}/{stream}")).body
        assert b"id: 2\n\nevent: error\n" in told
        assert b"agi repair --from-mirrors" in told
