"""Making room over HTTP, and by the daemon itself where the settings say so."""

from __future__ import annotations

import pytest

from agi.testing.box import Daemon


async def test_room_is_looked_at_and_made(daemon: Daemon) -> None:
    """The answer says what was there, what went and what is there now."""
    session_id = await daemon.begin()
    looked = (await daemon.post("/v1/gc", {"dry_run": True, "older_than_days": 0})).json()
    assert (await daemon.get(f"/v1/sessions/{session_id}")).status == 200
    done = (await daemon.post("/v1/gc", {"older_than_days": 0})).json()

    assert [one["id"] for one in looked["sessions"]] == [one["id"] for one in done["sessions"]] == [session_id]
    assert (looked["dry_run"], done["dry_run"], done["in_use"]) == (True, False, 0)
    assert (done["before"]["sessions"], done["after"]["sessions"]) == (1, 0)
    assert (await daemon.get(f"/v1/sessions/{session_id}")).status == 404


@pytest.mark.parametrize(
    "body", [{"older_than_days": -1}, {"max_bytes": "2GB"}, {"keep_sessions": 1.5}, {"all": True}, [], 7]
)
async def test_a_bad_request_removes_nothing(daemon: Daemon, body: object) -> None:
    """422, and every session is there."""
    await daemon.begin()
    assert (await daemon.post("/v1/gc", body)).status == 422
    assert len((await daemon.get("/v1/sessions")).json()["sessions"]) == 1
