"""The official conformance suite, its server scenarios, against our MCP machinery on a real socket behind the guard.

`scripts/mcp-conformance` installs the suite, pinned; `make slow` calls it.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

import agi
from agi.testing.box import Daemon, daemon_in_a_box
from agi.testing.mcp_fixtures import WithToken, with_fixtures

BIN = Path(agi.__file__).parents[2] / ".venv" / "mcp-conformance" / "node_modules" / ".bin"
LONGEST_S = 120
REAL = ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"]
"""The scenarios that need nothing but what any server has."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BIN / "conformance").exists(),
        reason="the MCP conformance suite is not installed: scripts/mcp-conformance installs it",
    ),
]


async def suite(daemon: Daemon, folder: Path, *options: str) -> str:
    """What the suite says of the server."""
    process = await asyncio.create_subprocess_exec(
        BIN / "node",
        BIN / "conformance",
        "server",
        "--url",
        f"{daemon.url}/mcp",
        *options,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(LONGEST_S):
        said, _ = await process.communicate()
    return said.decode()


async def test_every_server_scenario_of_the_suite_passes_with_its_fixtures(tmp_path: Path) -> None:
    """32 scenarios, 44 checks, none failed: transport, sessions, progress, questions and guard are the product's."""
    async with daemon_in_a_box(tmp_path, around=with_fixtures, outside=WithToken) as daemon:
        said = await suite(daemon, tmp_path, "--suite", "all")

    scenarios = re.findall(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", said, re.MULTILINE)
    assert [name for mark, name, _, failed in scenarios if mark == "✗" or failed != "0"] == []
    assert (len(scenarios), sum(int(passed) for _, _, passed, _ in scenarios)) == (32, 44), said


async def test_the_product_itself_passes_what_needs_no_fixtures(tmp_path: Path) -> None:
    """The server as it ships: it greets, pings, lists its tools, serves streams side by side, stops rebinding."""
    async with daemon_in_a_box(tmp_path, outside=WithToken) as daemon:
        for scenario in REAL:
            said = await suite(daemon, tmp_path, "--scenario", scenario)
            assert re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", said), said
