"""Forks over HTTP: a whole session comes back, and bad requests change nothing."""

from __future__ import annotations

import asyncio

import pytest

from agi.models.scripted import Say, Wait
from agi.testing.box import Daemon


async def test_a_fork_is_a_whole_session_and_knows_its_source(daemon: Daemon) -> None:
    """201 in the shape of a new session; the list can be narrowed to forks of one."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    made = await daemon.post(f"/v1/sessions/{turn.session_id}/fork")
    fork = made.json()

    assert made.status == 201
    assert fork["id"] == fork["session_id"] != turn.session_id
    assert fork["forked_from"]["ancestors"] == [turn.session_id]
    assert fork.keys() == (await daemon.get(f"/v1/sessions/{turn.session_id}")).json().keys()
    listed = (await daemon.get(f"/v1/sessions?forked_from={turn.session_id}")).json()
    assert [one["id"] for one in listed["sessions"]] == [fork["id"]]


async def test_a_running_session_can_be_forked_and_removing_it_is_still_refused(daemon: Daemon) -> None:
    """The fork is idle, and removing it does not touch the source."""
    gate = asyncio.Event()
    daemon.model.plays(Say("half"), Wait(gate), Say(" and whole"))
    turn = await daemon.ask("hello")
    fork = (await daemon.post(f"/v1/sessions/{turn.session_id}/fork", {})).json()
    refused = await daemon.call("DELETE", f"/v1/sessions/{turn.session_id}")
    removed = await daemon.call("DELETE", f"/v1/sessions/{fork['id']}")
    gate.set()

    assert (fork["activity"], refused.status, removed.status) == ("idle", 409, 204)
    assert await turn.answer() == "half and whole"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"message_id": "msg_1"}, 404),
        ({"turn_id": ""}, 422),
        ({"seq": 0}, 422),
        ({"seq": 10**9}, 422),
        ({"seq": "1"}, 422),
        ({"at": 1}, 422),
        ({"before": True}, 422),
        ({"title": "x" * 501}, 422),
        ([], 422),
    ],
)
async def test_a_bad_fork_is_refused(daemon: Daemon, body: object, status: int) -> None:
    """With the status that fits, and nothing is made."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    answer = await daemon.post(f"/v1/sessions/{turn.session_id}/fork", body)

    assert answer.status == status
    assert len((await daemon.get("/v1/sessions")).json()["sessions"]) == 1
