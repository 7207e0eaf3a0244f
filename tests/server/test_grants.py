"""What was allowed for longer than one call, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from agi.testing.box import Daemon, daemon_in_a_box


async def granted(daemon: Daemon, command: str = "ls", remember: str = "session") -> str:
    """Let an agent run a command and remember the answer; gives the session."""
    daemon.model.calls("shell", command=command).then_says("Done.")
    turn = await daemon.ask("do it")
    await turn.approve(remember=remember)
    await turn.ended()
    return turn.session_id


async def test_an_answer_says_what_is_remembered_of_it(daemon: Daemon) -> None:
    """The rule, its words and its id; the question offered just that."""
    daemon.model.calls("shell", command="git status").then_says("Done.")
    turn = await daemon.ask("do it")
    question = await turn.question()
    reply = (await turn.approve(remember="session", digest=question["digest"])).json()

    (grant,) = reply["remembered"]
    assert (
        question["remember"]["rules"]
        == [grant["rule"]]
        == [{"tool": "shell", "verdict": "allow", "command": "git status"}]
    )
    assert grant["text"] == question["remember"]["text"] == "commands that begin with `git status`"
    assert grant["id"].startswith("grant_")


async def test_grants_are_listed_and_revoked(daemon: Daemon) -> None:
    """Of one session, and of all."""
    session = await granted(daemon)
    (grant,) = (await daemon.get(f"/v1/sessions/{session}/grants")).json()["grants"]

    assert (await daemon.get("/v1/grants")).json()["grants"] == [grant]
    assert (grant["scope"], grant["session_id"]) == ("session", session)
    gone = await daemon.call("DELETE", f"/v1/sessions/{session}/grants/{grant['id']}")
    assert gone.status == 204
    assert (await daemon.get(f"/v1/sessions/{session}/grants")).json() == {"grants": []}
    again = await daemon.call("DELETE", f"/v1/grants/{grant['id']}")
    assert (again.status, again.code) == (404, "grant_not_found")


async def test_any_grant_can_be_revoked_by_its_id_alone(daemon: Daemon) -> None:
    """Wherever it is kept."""
    session = await granted(daemon)
    (grant,) = (await daemon.get("/v1/grants")).json()["grants"]

    assert (await daemon.call("DELETE", f"/v1/grants/{grant['id']}")).status == 204
    assert (await daemon.get(f"/v1/sessions/{session}/grants")).json() == {"grants": []}


@pytest.mark.parametrize("grant_id", ["nonsense", "grant_" + "0" * 32, "sess_" + "0" * 32])
async def test_what_was_never_granted_cannot_be_revoked(daemon: Daemon, grant_id: str) -> None:
    """Whatever the id looks like."""
    reply = await daemon.call("DELETE", f"/v1/grants/{grant_id}")

    assert (reply.status, reply.code) == (404, "grant_not_found")


async def test_an_answer_to_something_else_is_a_conflict(daemon: Daemon) -> None:
    """A client that looked at other arguments is told to look again."""
    daemon.model.calls("shell", command="touch made").then_says("Done.")
    turn = await daemon.ask("do it")
    await turn.question()
    reply = await turn.approve(digest="sha256:other")

    assert (reply.status, reply.code) == (409, "approval_changed")
    assert not daemon.workspace.was_touched()


@pytest.mark.parametrize("trusted", [True, False])
async def test_only_a_trusted_workspace_remembers(tmp_path: Path, trusted: bool) -> None:
    """Elsewhere such an answer is refused, and the question stays."""
    async with daemon_in_a_box(tmp_path, trusted=trusted) as daemon:
        daemon.model.calls("shell", command="ls").then_says("Done.")
        turn = await daemon.ask("do it")
        question = await turn.question()
        reply = await turn.approve(remember="workspace")

        assert ("workspace" in question["remember"]["scopes"]) is trusted
        if trusted:
            assert reply.json()["remembered"][0]["scope"] == "workspace"
            assert (await daemon.get("/v1/grants")).json()["grants"] == reply.json()["remembered"]
        else:
            assert (reply.status, reply.code) == (422, "cannot_be_remembered")
            assert (await daemon.get("/v1/grants")).json() == {"grants": []}
