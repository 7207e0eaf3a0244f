"""A session uses the tools of MCP servers: offered, asked about, called; whatever is wrong with one is told once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from agi.extras import how_to_add
from agi.sandbox.survivors import CHILD_MARKER, descendants, marked
from agi.testing.box import daemon_in_a_box, eventually
from agi.trust import set_trust

RAW = Path(__file__).parent.parent / "mcp" / "servers" / "raw.py"


def raw(*more: str, **fields: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", str(RAW), *more], **fields}


def name(folder: Path, **servers: Any) -> None:
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


def started_by(pid: int) -> set[int]:
    """Every process that was started by one, who watches over it, and who forks those: they are nobody's children."""
    found = descendants(pid) | marked(CHILD_MARKER, [str(pid)])
    edge = set(found)
    while edge:
        edge = {above for above in map(_parent, edge) if _mentions(above, b".nursery")} - found
        found |= edge
    return found


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _mentions(pid: int, word: bytes) -> bool:
    try:
        return word in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def servers() -> set[int]:
    found = set()
    for pid in started_by(os.getpid()):
        try:
            if str(RAW).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
        except OSError:
            pass
    return found


def notices(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == "notice" and event["data"]["code"].startswith("mcp")]


async def test_a_tool_of_a_server_is_offered_asked_about_and_called(tmp_path: Path) -> None:
    """A person is asked, since it reaches out; two sessions share one process; the end leaves none."""
    name(tmp_path, mine=raw("plain"))
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.calls("mcp__mine__echo", text="hello").then_says("It echoes.")
        turn = await daemon.ask("Say hello")
        question = await turn.question()
        await turn.approve()
        assert await turn.answer() == "It echoes."
        assert (question["name"], question["rule"]) == ("mcp__mine__echo", "kind:network")
        offered = {tool.name: tool for tool in daemon.model.requests[0].tools}
        assert offered["mcp__mine__echo"].description == "[MCP server mine] Does echo."
        assert "echo hello" in str(await daemon.history(turn.session_id))

        before = servers()
        daemon.model.calls("mcp__mine__echo", text="again").then_says("Again.")
        other = await daemon.ask("Again")
        await other.approve()
        assert await other.answer() == "Again."
        assert servers() == before
    await eventually(lambda: not servers())


async def test_a_server_that_fails_is_told_once_and_the_turn_goes_on(tmp_path: Path) -> None:
    """In the session's log, and to whoever lists tools."""
    name(tmp_path, bad=raw("exits"))
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.says("Fine without.").says("Still fine.")
        turn = await daemon.ask("Hello")
        assert await turn.answer() == "Fine without."
        again = await daemon.ask("And now?", session_id=turn.session_id)
        assert await again.answer() == "Still fine."

        (told,) = notices(await daemon.history(turn.session_id))
        assert told["code"] == "mcp_failed:bad"
        assert "exit code 7" in told["message"]
        problems = (await daemon.get("/v1/tools")).json()["problems"]
        assert [one["name"] for one in problems] == ["mcp bad"]


async def test_a_turn_is_canceled_at_once_while_a_server_starts(tmp_path: Path) -> None:
    """Nobody has to wait for a server that does not come."""
    name(tmp_path, slow=raw("never", startTimeoutMs=60_000))
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.says("Never said.")
        turn = await daemon.ask("Hello")
        await eventually(servers)
        began = time.monotonic()
        await daemon.post(f"/v1/sessions/{turn.session_id}/cancel", {})

        assert (await turn.ended())["type"] == "turn_canceled"
        assert time.monotonic() - began < 1
    await eventually(lambda: not servers())


async def test_an_untrusted_projects_server_is_not_run(tmp_path: Path) -> None:
    """Once it is trusted it is, and once it changes it is not."""
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    file = tmp_path / "project" / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"ours": raw("plain")}}))
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.says("One.").says("Two.").says("Three.")
        turn = await daemon.ask("1")
        await turn.ended()
        assert "mcp__ours__echo" not in {tool.name for tool in daemon.model.requests[0].tools}
        assert [one["code"] for one in notices(await daemon.history(turn.session_id))] == ["mcp_untrusted:ours"]
        assert not servers()

        set_trust(tmp_path / "project", tmp_path / "home", True)
        await (await daemon.ask("2")).ended()
        assert "mcp__ours__echo" in {tool.name for tool in daemon.model.requests[1].tools}

        file.write_text(json.dumps({"mcpServers": {"ours": raw("plain", "--more")}}))
        await (await daemon.ask("3")).ended()
        assert "mcp__ours__echo" not in {tool.name for tool in daemon.model.requests[2].tools}
        await eventually(lambda: not servers())


async def test_what_there_is_no_room_for_is_found_and_then_offered(tmp_path: Path) -> None:
    """The search is free; what it found can be called in the same turn."""
    name(tmp_path, many=raw("many"))
    async with daemon_in_a_box(tmp_path, config={"mcp": {"maxTools": 10}}) as daemon:
        daemon.model.calls("mcp_find_tool", query="subject321").then_calls("mcp__many__tool_321", text="x")
        daemon.model.then_says("Found.")
        turn = await daemon.ask("Use subject321")
        assert (await turn.question())["name"] == "mcp__many__tool_321"
        await turn.approve()
        assert await turn.answer() == "Found."

        first, second = ({tool.name for tool in request.tools} for request in daemon.model.requests[:2])
        assert len([one for one in first if one.startswith("mcp__")]) == 10
        assert second - first == {"mcp__many__tool_321"}
        assert len((await daemon.get("/v1/tools")).json()["held_back"]) == 490


@pytest.mark.threat("T37")
async def test_secrets_of_a_server_do_not_enter_the_log(tmp_path: Path) -> None:
    """What it was given under the name of a token, and says again, is stars."""
    name(tmp_path, mine=raw("plain", env={"SERVICE_TOKEN": "${MY_TOKEN}"}))
    async with daemon_in_a_box(tmp_path, env={**os.environ, "MY_TOKEN": "tok-123456789"}) as daemon:
        daemon.model.calls("mcp__mine__echo", text="tok-123456789").then_says("Done.")
        turn = await daemon.ask("Say it")
        await turn.approve()
        await turn.ended()

        assert "tok-123456789" not in str(await daemon.history(turn.session_id))


def test_a_killed_daemon_leaves_no_server(tmp_path: Path) -> None:
    """Not even one that ignores the end of its input, nor what it started."""
    name(tmp_path, deaf=raw("deaf"), family=raw("family"))
    script = f"""
        import asyncio, sys
        from pathlib import Path
        from agi.testing.box import daemon_in_a_box

        async def main():
            async with daemon_in_a_box(Path({str(tmp_path)!r})) as daemon:
                daemon.model.says("Here.")
                await (await daemon.ask("hello")).ended()
                print("ready", flush=True)
                await asyncio.sleep(3600)

        asyncio.run(main())
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    family = started_by(process.pid)
    assert len(family) >= 5  # two servers, who watches over each, and a child
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    until = time.monotonic() + 15
    while (left := [pid for pid in family if _runs(pid)]) and time.monotonic() < until:
        time.sleep(0.02)
    assert left == []


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_without_servers_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    """A one-shot pays nothing for what it does not use; one whose servers were seen does not load the SDK either."""
    script = """
        import asyncio, sys
        from pathlib import Path
        from agi.testing.box import daemon_in_a_box

        async def main():
            async with daemon_in_a_box(Path(sys.argv[1])) as daemon:
                daemon.model.says("Here.")
                await (await daemon.ask("hello")).ended()
            print([name for name in ("agi.mcp", "mcp", "mcp_types", "pydantic") if name in sys.modules])

        asyncio.run(main())
    """

    def loaded() -> str:
        command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert loaded() == "[]"
    name(tmp_path, mine=raw("plain"))
    assert "'mcp'" in loaded()
    assert loaded() == "['agi.mcp']"


async def test_without_the_sdk_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: Any) -> None:
    """A server is then a problem, and the turn goes on."""
    monkeypatch.setitem(sys.modules, "mcp.client.session", None)
    name(tmp_path, mine=raw("plain"))
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.says("Fine without.")
        turn = await daemon.ask("Hello")
        assert await turn.answer() == "Fine without."
        (told,) = notices(await daemon.history(turn.session_id))

        assert how_to_add("mcp") in told["message"]
    await asyncio.sleep(0)
