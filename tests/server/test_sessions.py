"""Sessions over HTTP: begun, listed in pages, changed, removed."""

from __future__ import annotations

import asyncio

from agi.testing.box import Daemon


async def test_a_session_takes_the_fields_of_both_seeds(daemon: Daemon) -> None:
    """`201` with the whole session, in which `session_id` repeats `id`; `project_path` is `workspace_path`."""
    body = {"title": "Fix it", "agent": "plan", "project_path": str(daemon.workspace.path), "system_prompt": "Be kind."}
    reply = await daemon.post("/v1/sessions", body)
    session = reply.json()
    assert reply.status == 201
    assert session["id"] == session["session_id"]
    assert session["workspace_path"] == session["project_path"] == str(daemon.workspace.path)
    assert (session["title"], session["agent"], session["system_prompt"]) == ("Fix it", "plan", "Be kind.")
    assert (await daemon.get(f"/v1/sessions/{session['id']}")).json() == session


async def test_nothing_needs_to_be_said_to_begin_one(daemon: Daemon) -> None:
    """An empty body is an empty object."""
    reply = await daemon.post("/v1/sessions")
    assert reply.status == 201
    assert reply.json()["workspace_path"] == str(daemon.workspace.path)


async def test_sessions_come_in_pages(daemon: Daemon) -> None:
    """`before` the last one's `updated_at` gives the next page."""
    made = []
    for n in range(5):
        made.append(await daemon.begin(title=str(n)))
        await asyncio.sleep(0.002)  # the list is ordered by milliseconds

    first = (await daemon.get("/v1/sessions?limit=2")).json()["sessions"]
    second = (await daemon.get(f"/v1/sessions?limit=2&before={first[-1]['updated_at']}")).json()["sessions"]
    third = (await daemon.get(f"/v1/sessions?limit=2&before={second[-1]['updated_at']}")).json()["sessions"]

    assert [session["id"] for session in (*first, *second, *third)] == made[::-1]


async def test_a_session_can_be_changed(daemon: Daemon) -> None:
    """Absent fields stay."""
    session_id = await daemon.begin(title="old", agent="plan")
    changed = (await daemon.call("PATCH", f"/v1/sessions/{session_id}", {"title": "new"})).json()
    assert (changed["title"], changed["agent"]) == ("new", "plan")
    refused = await daemon.call("PATCH", f"/v1/sessions/{session_id}", {"agent": "nobody"})
    assert (refused.status, refused.code) == (422, "unknown_agent")
    assert (await daemon.get(f"/v1/sessions/{session_id}")).json() == changed


async def test_a_removed_session_is_gone(daemon: Daemon) -> None:
    """204, then 404, and its folder is gone."""
    session_id = await daemon.begin()
    await daemon.harness.log.mirrored()
    reply = await daemon.call("DELETE", f"/v1/sessions/{session_id}")
    assert (reply.status, reply.body) == (204, b"")
    assert (await daemon.get(f"/v1/sessions/{session_id}")).status == 404
    await daemon.harness.log.mirrored()
    assert not daemon.harness.session_folder(session_id).exists()
    assert (await daemon.call("DELETE", f"/v1/sessions/{session_id}")).code == "session_not_found"
