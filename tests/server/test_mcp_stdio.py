"""`agi mcp serve` as a client starts it: a process of its own, spoken to over pipes by the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import agi
from agi.server.daemon import Berth
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box
from agi.testing.provider import ProviderServer
from agi.testing.replies import says

SOURCE = str(Path(agi.__file__).parent.parent)


def environment(root: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "PYTHONPATH": SOURCE, "PYTHONUTF8": "1"}


def served(root: Path, *, env: dict[str, str] | None = None, **fields: Any) -> Client:
    """A client that starts `agi mcp serve` in the project."""
    command = ["-m", "agi.cli.main", "mcp", "serve", "--project", str(root / "project")]
    told = {**environment(root), **(env or {})}
    return Client(StdioServerParameters(command=sys.executable, args=command, env=told), **fields)


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """One that other processes find, as they find any."""
    async with daemon_in_a_box(tmp_path, auth="token", trusted=True) as box:
        berth = Berth(tmp_path / "project" / ".agi")
        berth.announce(box.url, TOKEN)
        try:
            yield box
        finally:
            berth.leave()


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_running_daemon_does_the_work(daemon: Daemon, tmp_path: Path, era: str) -> None:
    """Answers, progress and questions to the person all go through; the session is the daemon's."""
    told, asked = list[str | None](), list[str]()
    daemon.model.calls("write_file", path="new.txt", content="new\n").then_says("Written.")

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "yes"})

    async with served(tmp_path, mode=era, elicitation_callback=answer) as mcp:
        first = await mcp.call_tool("prompt_session", {"prompt": "write"}, progress_callback=hear)
        found = first.structured_content
        call = {"tool_call_id": found["pending"][0]["tool_call_id"], "action": "approve"}
        await mcp.call_tool("approve", call)
        turn = await daemon.harness.wait_turn(found["session_id"], found["turn_id"])

    assert "waits for approval of write_file" in told
    assert len(asked) == 1
    assert turn.status == "completed"
    assert daemon.workspace.read("new.txt") == "new\n"


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_command_of_an_agent_asks_nobody(daemon: Daemon, tmp_path: Path, era: str) -> None:
    """It would be its own person: whatever it says to a question does not count, asked or unasked."""
    daemon.model.calls("write_file", path="new.txt", content="new\n")
    turn = await daemon.ask("write")
    waits = await turn.question()
    call = {"tool_call_id": waits["tool_call_id"], "action": "approve"}
    yes = types.ElicitResult(action="accept", content={"answer": "yes"})

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return yes

    async with served(tmp_path, env={"AGI_PARENT": str(os.getpid())}, mode=era, elicitation_callback=answer) as mcp:
        asked = await mcp.call_tool("approve", call)
        state = f"{waits['tool_call_id']} {waits['digest']}"
        unasked = await mcp.call_tool("approve", call, input_responses={"question": yes}, request_state=state)

    assert ["(person_needed)" in str(one.content[0]) for one in (asked, unasked)] == [True, True]
    assert await turn.question() == waits


async def test_a_daemon_that_went_away_is_told_and_found_again(daemon: Daemon, tmp_path: Path) -> None:
    """Each call finds the daemon anew: one that comes back is used, without the client starting over."""
    record = tmp_path / "project" / ".agi" / "daemon.json"
    async with served(tmp_path) as mcp:
        there = await mcp.call_tool("list_agents", {})
        kept = record.read_bytes()
        record.unlink()
        gone = await mcp.call_tool("list_agents", {})
        record.write_bytes(kept)
        record.chmod(0o600)
        back = await mcp.call_tool("list_agents", {})

    assert (there.is_error, gone.is_error, back.is_error) == (False, True, False)
    assert "agi serve" in str(gone.content[0])


async def test_without_a_daemon_the_harness_runs_in_the_process(tmp_path: Path) -> None:
    """A scripted provider answers over the real wire; what was said is in the project's log."""
    (tmp_path / "project").mkdir()
    settings = tmp_path / "home" / ".config" / "agi" / "config.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"local": {"probe": False}, "defaultModel": "script"}))
    async with (
        ProviderServer([says("Hello.")]) as provider,
        served(tmp_path, env={"OPENAI_BASE_URL": provider.base_url}) as mcp,
    ):
        answered = await mcp.call_tool("prompt_session", {"prompt": "hi"})

    assert answered.structured_content["text"] == "Hello."
    assert (tmp_path / "project" / ".agi" / "agi.sqlite").exists()


async def test_stdout_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    """What is for people is on stderr; garbage is answered, not fatal; the end of input is the end."""
    (tmp_path / "project").mkdir()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agi.cli.main", "mcp", "serve"),
        cwd=tmp_path / "project",
        env=environment(tmp_path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": said}
    async with asyncio.timeout(20):
        out, err = await process.communicate(b"garbage\n" + json.dumps(hello).encode() + b"\n")

    answers = [json.loads(line) for line in out.splitlines()]
    assert [one["result"]["serverInfo"]["name"] for one in answers if one.get("id") == 1] == ["agi"]
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    assert b"Serving the agents of" in err
    assert process.returncode == 0


async def test_it_takes_no_name(tmp_path: Path) -> None:
    """A mistake on the command line is told before anything is read."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agi.cli.main", "mcp", "serve", "files"),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert b"takes no name" in err
