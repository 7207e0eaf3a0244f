"""Verifying over HTTP: whether a session's log is as it was written."""

from __future__ import annotations

import sqlite3

from agi.testing.box import Daemon


async def test_a_log_is_verified_also_against_a_head_that_was_kept(daemon: Daemon) -> None:
    """A running daemon's mirror is waited for; a head that fits no event is a finding, not an error."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    path = f"/v1/sessions/{turn.session_id}/verify"
    session = (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()
    looked = (await daemon.get(path)).json()
    kept = (await daemon.get(f"{path}?head={session['head']}")).json()
    other = (await daemon.get(f"{path}?head={'f' * 64}")).json()

    assert (looked["intact"], looked["head"], looked["events"]) == (True, session["head"], session["last_seq"])
    assert (kept["intact"], kept["head_seq"]) == (True, session["last_seq"])
    assert (other["intact"], other["findings"][0]["place"]) == (False, "head")


async def test_a_changed_event_is_named(daemon: Daemon) -> None:
    """200: the look succeeded, the log is what failed."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    db = sqlite3.connect(daemon.harness.log.path)
    db.execute("UPDATE events SET ts='2026-01-01T00:00:00.000Z' WHERE seq=2")
    db.commit()
    db.close()
    answer = await daemon.get(f"/v1/sessions/{turn.session_id}/verify")

    assert answer.status == 200
    found = answer.json()["findings"][0]
    assert (found["place"], found["problem"], found["seq"]) == ("database", "changed", 2)


async def test_what_is_no_session_or_no_hash_is_refused(daemon: Daemon) -> None:
    """With the usual errors."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    missing = await daemon.get("/v1/sessions/sess_00000000000070008000000000000000/verify")
    strange = await daemon.get(f"/v1/sessions/{turn.session_id}/verify?head=beef")

    assert (missing.status, strange.status) == (404, 422)
