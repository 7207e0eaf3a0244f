"""What was allowed for longer than one call holds that long, is listed, and can be taken back."""

from __future__ import annotations

import asyncio
import json
import stat

import pytest

from agi.errors import Invalid, NotFound
from agi.protocol.events import Event

QUIET = '{"verify": {"autoVerify": false}}'


def data(event: Event) -> dict[str, object]:
    return json.loads(event.raw)


async def questions(place, *commands: str) -> int:
    """Let the agent run commands, one turn each, refusing what is asked; tells how many questions there were."""
    before = len(place.events("approval_requested"))
    for command in commands:
        place.model.calls("shell", command=command).then_says("ok")
        posted = await place.say(command)
        turn = asyncio.ensure_future(place.ended(posted))
        while not turn.done():
            await asyncio.wait([turn], timeout=0.02)
            for pending in place.harness.session(place.session_id).pending_approvals:
                await place.approve(pending.tool_call_id, "deny")
    return len(place.events("approval_requested")) - before


async def remembered(place, command: str, scope: str) -> None:
    """Let the agent run a command, and answer so that it is remembered."""
    place.configure(QUIET)
    count = len(place.events("approval_requested"))
    place.model.calls("shell", command=command).then_says("ok")
    posted = await place.say("run")
    question = data(await place.heard("approval_requested", count + 1))
    await place.approve(question["tool_call_id"], remember=scope)
    await place.ended(posted)


async def test_a_session_remembers_the_rule_that_was_shown(place):
    """Commands like it run unasked, others do not, also after a restart."""
    await remembered(place, "git status", "session")
    question = data(place.events("approval_requested")[0])

    assert question["remember"]["text"] == "commands that begin with `git status`"
    assert question["remember"]["scopes"] == ["session", "workspace"]
    assert await questions(place, "git status -s", "git log", "git status; id", "env git status") == 3
    await place.reopen()
    assert await questions(place, "git status") == 0


async def test_another_session_knows_nothing_of_it(place):
    """The session is as far as it goes."""
    await remembered(place, "ls", "session")
    await place.start()

    assert await questions(place, "ls") == 1


async def test_a_sessions_grants_are_listed_and_revoked(place):
    """From then on it is asked about again, and the log says so."""
    await remembered(place, "ls | head", "session")
    first, second = place.harness.grants(place.session_id)

    assert [(one.rule.command, one.scope, one.session_id) for one in (first, second)] == [
        ("ls", "session", place.session_id),
        ("head", "session", place.session_id),
    ]
    assert place.harness.grants() == [first, second]
    await place.harness.revoke_grant(second.id)
    assert data(place.events("grant_revoked")[0])["grant_id"] == second.id
    assert place.harness.grants(place.session_id) == [first]
    assert await questions(place, "ls", "ls | head") == 1


@pytest.mark.parametrize("grant_id", ["grant_x", "grant_" + "0" * 32, ""])
async def test_a_grant_that_is_not_there_cannot_be_revoked(place, grant_id):
    """In a session or anywhere."""
    await remembered(place, "ls", "session")

    for session in (place.session_id, None):
        with pytest.raises(NotFound) as refused:
            await place.harness.revoke_grant(grant_id, session)
        assert refused.value.code == "grant_not_found"
    assert len(place.harness.grants()) == 1


async def test_a_workspace_remembers_in_the_users_own_file(place):
    """Every session of it, until it is revoked; nothing of it is in the project."""
    await remembered(place, "ls", "workspace")
    config = place.home / "config.json"
    (grant,) = place.harness.grants()

    assert (grant.scope, grant.workspace_path, grant.rule.command) == ("workspace", str(place.project), "ls")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert "workspaceGrants" not in (place.project / ".agi" / "config.json").read_text()
    await place.reopen()
    await place.start()
    assert await questions(place, "ls") == 0
    assert data(place.events("tool_call_started")[0])["tool_call"]["input"] == {"command": "ls"}
    await place.harness.revoke_grant(grant.id)
    assert await questions(place, "ls") == 1
    assert place.harness.grants() == []


async def test_a_workspace_that_is_no_longer_trusted_remembers_nothing(place):
    """What was allowed there does not count while it is not trusted, and nothing can be added."""
    await remembered(place, "ls", "workspace")
    place.trusted = False
    await place.reopen()
    await place.start()

    assert await questions(place, "ls") == 1
    place.model.calls("shell", command="pwd").then_says("ok")
    await place.say("run")
    question = data(await place.heard("approval_requested", 2))
    assert question["remember"]["scopes"] == ["session"]
    with pytest.raises(Invalid) as refused:
        await place.approve(question["tool_call_id"], remember="workspace")
    assert refused.value.code == "cannot_be_remembered"
    place.trusted = True
    await place.reopen()
    assert await questions(place, "ls") == 0


async def test_another_workspace_knows_nothing_of_it(place, tmp_path):
    """It is kept by the folder's path."""
    other = tmp_path / "other"
    other.mkdir()
    await remembered(place, "ls", "workspace")
    await place.start(workspace_path=str(other))

    assert await questions(place, "ls") == 1


@pytest.mark.parametrize(
    "nonsense", ['{"workspaceGrants": {"/x": 7}}', '{"workspaceGrants": {"/x": [1, {"id": 2}], "/y": {}}}']
)
async def test_a_list_that_was_edited_to_nonsense_allows_nothing(place, nonsense):
    """And breaks nothing: the next answer is remembered as before."""
    place.home.mkdir(exist_ok=True)
    (place.home / "config.json").write_text(nonsense)

    assert await questions(place, "ls") == 1
    await remembered(place, "ls", "workspace")
    assert await questions(place, "ls") == 0


async def test_a_writing_tool_is_remembered_within_the_workspace(place):
    """But not for files that decide what runs."""
    place.configure(QUIET)
    place.model.calls("write_file", path="a.txt", content="1").then_says("ok")
    posted = await place.say("write")
    question = data(await place.heard("approval_requested"))
    await place.approve(question["tool_call_id"], remember="session")
    await place.ended(posted)
    place.model.calls("write_file", path="b.txt", content="2").then_says("ok")
    await place.ask("write more")
    place.model.calls("write_file", path=".git/config", content="3").then_says("ok")
    await place.say("write there")
    second = data(await place.heard("approval_requested", 2))

    assert question["remember"]["text"] == "every call of write_file"
    assert (place.project / "b.txt").read_text() == "2"
    assert second["input"]["path"] == ".git/config"
    assert "remember" not in second


async def test_a_redirection_is_remembered_only_where_writing_is(place):
    """`echo` may run, and still not write."""
    await remembered(place, "echo a", "session")
    assert await questions(place, "echo b", "echo b > c.txt") == 1
    place.model.calls("write_file", path="a.txt", content="1").then_says("ok")
    posted = await place.say("write")
    question = data(await place.heard("approval_requested", 3))
    await place.approve(question["tool_call_id"], remember="session")
    await place.ended(posted)

    assert await questions(place, "echo b > c.txt", "echo b > .git/x", "echo b > ../x") == 2
