"""What holds a session's commands: the settings of its workspace, made into a cell, and told where nothing holds."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from agi.config import SandboxSettings
from agi.sandbox.ladder import Ladder
from agi.sessions.cells import network_of

FREE = {"approval": {"requireForKinds": []}, "verify": {"autoVerify": False}}


def data(event) -> dict:
    return json.loads(event.raw)


def shown(place) -> str:
    return data(place.events("tool_call_completed")[-1])["tool_result"]["parts"][0]["text"]


def raising(number: int):
    """Something that fails for this reason."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


async def run(place, command: str, **sandbox: object) -> str:
    """What a command says in a session whose workspace has these settings."""
    place.configure(json.dumps({**FREE, "sandbox": sandbox}))
    place.model.calls("shell", command=command).then_says("ok")
    await place.ask("go")
    return shown(place)


needs_a_sandbox = pytest.mark.skipif(not Ladder(os.environ).rung.confines, reason="no sandbox works on this machine")


@needs_a_sandbox
async def test_a_command_changes_the_workspace_and_nothing_beside_it(place):
    """The folder above is out of reach, whatever the command is allowed to be."""
    beside = place.project.parent / "beside.txt"

    await run(place, "echo 1 > inside.txt; echo 1 > ../beside.txt")

    assert (place.project / "inside.txt").read_text() == "1\n"
    assert not beside.exists()


@needs_a_sandbox
async def test_a_folder_can_be_opened_for_commands(place):
    """Such as a cache that builds share."""
    cache = place.project.parent / "cache"
    cache.mkdir()

    await run(place, f"echo 1 > {cache}/a", writable=[str(cache)])

    assert (cache / "a").read_text() == "1\n"


@needs_a_sandbox
async def test_the_users_settings_and_the_sessions_are_not_seen(place):
    """Keys lie in the one, and every conversation in the other."""
    place.home.mkdir(exist_ok=True)
    (place.home / "keys.txt").write_text("sk-canary-0123456789")

    said = await run(place, f"cat {place.home}/keys.txt .agi/agi.sqlite .agi/sessions/*/events.ndjson 2>&1; true")

    assert "canary" not in said
    assert "session_created" not in said


@needs_a_sandbox
async def test_verification_runs_in_it_too(place):
    """A Makefile is a command like any other."""
    place.configure('{"approval": {"requireForKinds": []}}')
    (place.project / "Makefile").write_text("test:\n\t@echo 1 > ../beside.txt\n")
    place.model.calls("write_file", path="a.txt", content="a").then_says("ok")

    await place.ask("go")

    assert not (place.project.parent / "beside.txt").exists()


@pytest.mark.threat("T36")
async def test_without_a_sandbox_it_is_said_once_a_session(place, no_sandbox):
    """Loudly, and not again and again."""
    for _ in range(2):
        await run(place, "echo 1; echo 2 > ../beside.txt")

    assert (place.project.parent / "beside.txt").exists()
    notices = [data(event) for event in place.events("notice") if data(event)["code"] == "no_sandbox"]
    assert len(notices) == 1
    assert "bubblewrap: not installed" in notices[0]["message"]


@pytest.mark.threat("T36")
async def test_without_a_sandbox_each_command_is_asked_about_and_it_is_said_before(place, no_sandbox):
    """Whoever lets commands run in a sandbox is asked without one, every time; a yes is for one command."""
    place.configure('{"approval": {"allowInSandbox": true}, "verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo 1 >> made").then_calls("shell", command="echo 1 >> made").then_says("ok")
    posted = await place.say("go")
    for number in (1, 2):
        await place.approve(data(await place.heard("approval_requested", number))["tool_call_id"])
    await place.ended(posted)

    told = [event.type for event in place.events("notice", "approval_requested", "tool_call_started")]
    assert told == ["notice", "approval_requested", "tool_call_started", "approval_requested", "tool_call_started"]
    assert data(place.events("notice")[0])["code"] == "no_sandbox"
    assert (place.project / "made").read_text() == "1\n1\n"


@pytest.mark.threat("T36")
@needs_a_sandbox
async def test_where_no_sandbox_can_be_tried_no_command_runs_until_it_can(place, monkeypatch):
    """The model is told why, nobody is asked, nothing is verified, and with room again commands run as before."""
    (place.project / "Makefile").write_text("test:\n\t@touch verified\n")
    place.configure('{"approval": {"requireForKinds": []}}')
    with monkeypatch.context() as full:
        full.setattr("agi.sandbox.trying.make_folder", raising(errno.ENOSPC))
        place.model.calls("shell", command="touch made").then_calls("write_file", path="a.txt", content="a")
        place.model.says("ok")
        await place.ask("go")
        refused = data(place.events("tool_call_completed")[0])["tool_result"]

    assert "No space left on device" in str(refused)
    assert not (place.project / "made").exists()
    assert not (place.project / "verified").exists()
    assert place.events("approval_requested") == []
    assert "done" in await run(place, "touch made && echo done")


@pytest.mark.threat("T36")
@needs_a_sandbox
async def test_what_fills_the_disk_takes_no_wall_away_from_the_next_turn(place, monkeypatch):
    """Nor does a folder that cannot be entered: nothing is tried anew for it, and without room nothing would run."""
    await run(place, "mkdir closed && chmod 000 closed")
    with monkeypatch.context() as full:
        full.setattr("agi.sandbox.trying.make_folder", raising(errno.ENOSPC))
        place.model.calls("shell", command="true", cwd="closed").then_says("ok")
        await place.ask("enter it")
        await run(place, "echo 1 > ../beside.txt")

    assert not (place.project.parent / "beside.txt").exists()


@pytest.mark.threat("T30")
@needs_a_sandbox
async def test_an_approval_does_not_hold_where_less_holds_the_command(place, monkeypatch):
    """It was said yes to in a sandbox; without one it would be another thing."""
    place.model.calls("shell", command="echo 1 > made").then_says("ok")
    posted = await place.say("go")
    asked = data(await place.heard("approval_requested"))
    await place.harness.close()
    monkeypatch.setattr("agi.sandbox.ladder.find_namespaces", lambda helper: None)
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda name, path: None)
    monkeypatch.setattr("agi.sandbox.ladder.landlock_version", lambda: 0)
    await place.open()
    await place.harness.recover()

    await place.approve(asked["tool_call_id"])
    await place.ended(posted)

    assert "not those that were approved" in shown(place)
    assert not (place.project / "made").exists()


@pytest.mark.parametrize(
    ("settings", "network"),
    [
        (SandboxSettings(), "off"),
        (SandboxSettings(hosts=("docs.example",)), "allow-list"),
        (SandboxSettings(network=True, hosts=("docs.example",)), "on"),
    ],
)
def test_how_far_commands_reach(settings, network):
    """Nowhere, unless settings name hosts or say everywhere."""
    assert network_of(settings) == network


async def test_limits_and_hosts_are_those_of_the_settings(place):
    """Each key has its place in the cell."""
    sandbox = {"memoryMb": 512, "processes": 64, "hosts": [".example"], "deniedHosts": ["bad.example"]}
    place.configure(json.dumps({"sandbox": {**sandbox, "writable": ["/var/tmp/x"]}}))

    confinement = place.harness.site().cell().confinement

    assert (confinement.limits.memory, confinement.limits.processes) == (512 << 20, 64)
    assert (confinement.hosts, confinement.denied_hosts) == ((".example",), ("bad.example",))
    assert confinement.writable == (Path("/var/tmp/x"),)
    assert place.home in confinement.hidden


async def test_a_question_about_verification_says_what_it_runs_and_counts_for_that(place):
    """Its call names nothing; what it stands for is in the question, and in what the answer is bound to."""
    place.configure('{"verify": {"commands": ["echo one"], "autoVerify": false}}')
    place.model.calls("verify").then_says("ok")
    posted = await place.say("go")
    asked = data(await place.heard("approval_requested"))
    await place.harness.close()
    place.configure('{"verify": {"commands": ["echo two > made"], "autoVerify": false}}')
    await place.open()
    await place.harness.recover()

    await place.approve(asked["tool_call_id"])
    await place.ended(posted)

    assert "echo one" in asked["reason"]
    assert "not those that were approved" in shown(place)
    assert not (place.project / "made").exists()


@pytest.mark.threat("T27")
async def test_in_a_run_that_was_trusted_for_once_rules_that_changed_name_no_commands(place):
    """An agent can write AGENTS.md; what it puts there is not run because a person trusted something else."""
    text = "## Verification\n\n```sh\n{}\n```\n"
    (place.project / "AGENTS.md").write_text(text.format("echo one"))
    await place.reopen()
    before = place.harness.site().config
    (place.project / "AGENTS.md").write_text(text.format("echo other > made"))
    after = place.harness.site().config

    assert before.verify.commands == ("echo one",)
    assert "echo other > made" not in after.verify.commands
    assert any("AGENTS.md names other" in warning for warning in after.warnings)


async def test_a_rule_that_denies_holds_for_verification_too(place):
    """Also in a workspace that is trusted."""
    rules = [{"tool": "shell", "command": "touch", "verdict": "deny"}]
    verify = {"commands": ["touch made"], "maxAttempts": 0}
    place.configure(json.dumps({"approval": {"requireForKinds": [], "rules": rules}, "verify": verify}))
    place.model.calls("write_file", path="a.txt", content="a").then_says("ok")

    await place.ask("go")

    assert not (place.project / "made").exists()
    assert "denies" in data(place.events("verification_completed")[-1])["reason"]
