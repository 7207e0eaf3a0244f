"""`agi mcp`: servers added, tried, listed, approved and removed; with a daemon or without."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

RAW = Path(__file__).parent.parent / "mcp" / "servers" / "raw.py"


@pytest.fixture(params=["in this process", "by a daemon"])
async def way(cli, request) -> AsyncIterator[str]:
    """Reached both ways."""
    if request.param == "in this process":
        yield request.param
        return
    async with cli.daemon():
        yield request.param


def server(*more: str) -> list[str]:
    return ["--", sys.executable, "-S", str(RAW), *more]


async def test_a_server_is_added_tried_listed_and_removed(cli, way):
    """The whole life of one; listing starts nothing, trying does."""
    assert "No MCP servers are configured" in (await cli("mcp")).err
    assert (await cli("mcp", "add", "mine", "--env", "A=1", "--env", "B=2=3", *server("plain"))).code == 0
    written = json.loads((cli.home / "mcp.json").read_text())["mcpServers"]["mine"]
    assert (written["command"], written["env"]) == (sys.executable, {"A": "1", "B": "2=3"})

    assert "Not started yet" in (await cli("mcp")).err
    tried = await cli("mcp", "test", "mine")
    assert tried.code == 0
    assert "mine: ready in" in tried.out
    assert "mcp__mine__echo  network  Does echo." in tried.out
    listed = await cli("mcp", "list")
    assert listed.out.split()[:2] == ["mine", "user"]
    assert "1 tool" in listed.out
    assert any(
        row.split()[:3] == ["mcp__mine__echo", "network", "mcp"] for row in (await cli("tools")).out.splitlines()
    )

    assert (await cli("mcp", "rm", "mine")).code == 0
    assert json.loads((await cli("mcp", "--json")).out)["servers"] == []


async def test_a_server_that_fails_says_why_and_exits_with_1(cli, way):
    """With the last it said."""
    await cli("mcp", "add", "bad", *server("exits"))
    tried = await cli("mcp", "test", "bad")

    assert tried.code == 1
    assert "bad: failed" in tried.out
    assert "exit code 7" in tried.err
    assert "cannot find my settings" in tried.err
    assert (await cli("mcp", "test", "nobody")).code != 0


async def test_a_change_is_shown_and_approved(cli, way, tmp_path):
    """Nothing is approved unseen: without a person, only by --yes."""
    news = tmp_path / "news"
    await cli("mcp", "add", "one", *server("changing", str(news)))
    assert (await cli("mcp", "test", "one")).code == 0
    assert "Nothing waits" in (await cli("mcp", "approve", "one")).err
    news.write_text("Does echo, and more.")
    if way == "by a daemon":
        # A daemon has the server running; it looks again when the server is started anew.
        await cli("mcp", "add", "one", "--replace", "--env", "X=1", *server("changing", str(news)))
        assert "2 tools" in (await cli("mcp", "test", "one")).out
        return
    assert "Not what was approved" in (await cli("mcp", "test", "one")).err

    refused = await cli("mcp", "approve", "one")
    assert refused.code == 1
    assert "-Does echo.\n    +Does echo, and more." in refused.err
    assert (await cli("mcp", "approve", "one", "--yes")).code == 0
    assert "2 tools" in (await cli("mcp", "list")).out


async def test_a_projects_server_waits_for_trust(cli, way):
    """Written into .agi/mcp.json, it is refused until the folder is trusted as it is."""
    assert (await cli("mcp", "add", "ours", "--to-project", *server("plain"))).code == 0
    assert json.loads((cli.project / ".agi/mcp.json").read_text())["mcpServers"].keys() == {"ours"}
    assert (await cli("mcp", "test", "ours")).code == 1
    assert "not trusted" in (await cli("mcp")).err
    assert (await cli("trust", "--yes")).code == 0
    assert (await cli("mcp", "test", "ours")).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["ad"],
        ["add"],
        ["add", "x"],
        ["add", "x", "--url", "https://x", "--", "y"],
        ["add", "x", "--url", "ftp://x"],
        ["add", "x", "--env", "NOVALUE", "--", "y"],
        ["list", "x"],
        ["list", "--", "x"],
        ["rm"],
        ["test"],
        ["approve"],
    ],
)
async def test_a_command_line_that_is_wrong_changes_nothing(cli, words):
    """It says so, and writes no file."""
    assert (await cli("mcp", *words)).code == 2
    assert not (cli.home / "mcp.json").exists()
