"""`agi tools`: what agents can use here, the project's own tools among them; with a daemon or without."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator

import pytest


@pytest.fixture(params=["in this process", "by a daemon"])
async def way(cli, request) -> AsyncIterator[str]:
    """Reached both ways, with two tools of the project's own of which one is broken."""
    assert (await cli("tools", "new", "line-count")).code == 0
    cli.write(".agi/tools/broken/tool.py", "def (:\n")
    if request.param == "in this process":
        yield request.param
        return
    async with cli.daemon():
        yield request.param


async def test_a_projects_tools_are_told_before_it_is_trusted(cli, way):
    """They are not loaded, and how to change that is said."""
    shown = await cli("tools")

    assert shown.code == 0
    assert any(row.split()[:3] == ["shell", "exec", "builtin"] for row in shown.out.splitlines())
    assert "line-count" not in shown.out
    assert "line-count: Not loaded: the workspace is not trusted. `agi trust`" in shown.err


async def test_once_trusted_they_are_listed_with_what_is_wrong(cli, way):
    """The one that works, and why the other does not."""
    assert (await cli("trust", "--yes")).code == 0
    shown = await cli("tools")

    assert any(row.split()[:3] == ["line-count", "exec", "project"] for row in shown.out.splitlines())
    assert "broken: It is no valid Python" in shown.err


async def test_programs_get_it_as_json(cli, way):
    """With schemas, and problems beside."""
    await cli("trust", "--yes")
    told = json.loads((await cli("tools", "--json")).out)
    tools = {tool["name"]: tool for tool in told["tools"]}

    assert told["project"] == ["line-count"]
    assert [problem["name"] for problem in told["problems"]] == ["broken"]
    assert list(tools["line-count"]["input_schema"]["properties"]) == ["path", "empty"]
    assert tools["line-count"]["description"] == "Count the lines of a text file of the project."


async def test_a_new_tool_is_written_once(cli):
    """What is there stays; a name that cannot be one is refused; looking makes no data folder."""
    await cli("tools")
    assert not (cli.project / ".agi").exists()
    assert (await cli("tools", "new", "mine")).code == 0
    assert stat.S_IMODE((cli.project / ".agi").stat().st_mode) == 0o700
    before = (cli.project / ".agi/tools/mine/tool.py").read_text()

    again = await cli("tools", "new", "mine")
    assert again.code != 0
    assert "there already" in again.err
    assert (cli.project / ".agi/tools/mine/tool.py").read_text() == before
    for name in ("../out", "9", "a b", ""):
        assert (await cli("tools", "new", name)).code == 2
    assert (await cli("tools", "mew")).code == 2
    assert (await cli("tools", "new")).code == 2
    (cli.project / "linked").mkdir()
    (cli.project / "linked/.agi").symlink_to(cli.project)
    assert (await cli("tools", "new", "x", "--project", "linked")).code == 2
