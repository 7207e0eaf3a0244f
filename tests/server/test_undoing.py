"""What a session changed, and taking it back, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.testing.box import AskedTurn, Daemon, daemon_in_a_box

QUIET = {"approval": {"requireForKinds": []}, "verify": {"autoVerify": False}}


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon that asks nobody."""
    async with daemon_in_a_box(tmp_path, trusted=True, config=QUIET) as box:
        yield box


async def changed(daemon: Daemon) -> AskedTurn:
    """A turn that changed a file and made one."""
    daemon.workspace.write("a.txt", "0\n")
    daemon.model.calls("shell", command="echo 1 > a.txt; echo 1 > b.txt").then_says("done")
    turn = await daemon.ask("go")
    await turn.answer()
    return turn


async def test_the_diff_of_a_session_is_one_file_diff_a_file(daemon: Daemon) -> None:
    """In the shape in which tools tell of changes."""
    turn = await changed(daemon)
    whole = (await daemon.get(f"/v1/sessions/{turn.session_id}/diff")).json()
    of_turn = (await daemon.get(f"/v1/sessions/{turn.session_id}/diff?turn={turn.id}")).json()
    between = (await daemon.get(f"/v1/sessions/{turn.session_id}/diff?from=start&to={turn.id}")).json()

    assert whole == of_turn
    assert whole["summary"] == {"files": 2, "additions": 2, "deletions": 1}
    assert whole["files"][0] == {
        "path": "a.txt",
        "status": "modified",
        "artifact": {
            "kind": "file_diff",
            "patchFormat": "unified",
            "patch": "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-0\n+1\n",
            "summary": {"files": 1, "additions": 1, "deletions": 1},
        },
    }
    assert between["files"] == []


async def test_a_revert_is_previewed_and_made(daemon: Daemon) -> None:
    """First what it would do, then exactly that; and back again."""
    turn = await changed(daemon)
    path = f"/v1/sessions/{turn.session_id}/revert"
    preview = (await daemon.post(path, {"to": turn.id, "what": "both", "preview": True})).json()
    assert daemon.workspace.read("a.txt") == "1\n"
    done = (await daemon.post(path, {"to": turn.id, "what": "both", "plan": preview["plan"]})).json()

    assert not daemon.workspace.was_touched()
    assert [(file["path"], file["status"]) for file in done["files"]] == [("a.txt", "modified"), ("b.txt", "deleted")]
    assert (preview["messages"], done["messages"]) == (4, 4)
    messages = (await daemon.get(f"/v1/sessions/{turn.session_id}/messages")).json()["messages"]
    assert [message["reverted"] for message in messages] == [True] * 4

    again = await daemon.post(path, {"to": done["redo"], "what": "both"})
    assert again.status == 200
    assert daemon.workspace.read("b.txt") == "1\n"


async def test_somebody_elses_work_is_a_conflict(daemon: Daemon) -> None:
    """409, with the names; a preview lists them."""
    turn = await changed(daemon)
    (daemon.workspace.path / "a.txt").write_text("mine\n")
    path = f"/v1/sessions/{turn.session_id}/revert"
    refused = await daemon.post(path, {"to": "start"})
    preview = (await daemon.post(path, {"to": "start", "preview": True})).json()

    assert (refused.status, refused.code) == (409, "files_changed")
    assert "a.txt" in refused.json()["error"]["message"]
    assert preview["conflicts"] == [{"path": "a.txt", "reason": "changed_since"}]
    assert daemon.workspace.read("b.txt") == "1\n"
    assert (await daemon.post(path, {"to": "start", "force": ["a.txt"]})).status == 200
    assert daemon.workspace.read("a.txt") == "0\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"to": ""}, 422),
        ({"to": "start", "what": "everything"}, 422),
        ({"to": "start", "more": 1}, 422),
        ({"to": "start", "paths": ["nothing"]}, 422),
        ({"to": "start", "paths": [""]}, 422),
        ({"to": "turn_019a00000000700080000000000000aa"}, 404),
        ({"to": "../.."}, 404),
    ],
)
async def test_bad_requests_change_nothing(daemon: Daemon, body: dict[str, object], status: int) -> None:
    """Each is told what is wrong."""
    turn = await changed(daemon)
    reply = await daemon.post(f"/v1/sessions/{turn.session_id}/revert", body)

    assert reply.status == status
    assert daemon.workspace.read("a.txt") == "1\n"


async def test_a_session_that_is_not_there_has_nothing_to_show(daemon: Daemon) -> None:
    """404, for both."""
    nobody = "/v1/sessions/sess_019a00000000700080000000000000aa"
    assert (await daemon.get(f"{nobody}/diff")).status == 404
    assert (await daemon.post(f"{nobody}/revert", {"to": "start"})).status == 404


async def test_a_running_session_is_a_conflict(daemon: Daemon) -> None:
    """409 until it is canceled or done."""
    daemon.model.calls("shell", command="while [ ! -f go ]; do sleep 0.01; done").then_says("done")
    turn = await daemon.ask("go")
    reply = await daemon.post(f"/v1/sessions/{turn.session_id}/revert", {"to": "start"})
    (daemon.workspace.path / "go").touch()
    await turn.answer()

    assert (reply.status, reply.code) == (409, "session_running")


async def test_both_streams_tell_of_it(daemon: Daemon) -> None:
    """In their own words."""
    turn = await changed(daemon)
    await daemon.post(f"/v1/sessions/{turn.session_id}/revert", {"to": turn.id, "what": "both"})
    types = [event["type"] for event in await daemon.history(turn.session_id)]

    assert types[-3:] == ["checkpoint_created", "checkpoint_created", "conversation_reverted"]
    assert types.count("checkpoint_created") == 3
