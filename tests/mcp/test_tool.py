"""Tools of servers that behave, over both transports: called, limited, shown, canceled."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.protocol.parts import Image
from agi.protocol.tools import ToolKind

from .conftest import GOOD, HERE, INSIDE, World, http_server, text, until


@pytest.fixture(params=["stdio", "http"])
async def good(world: World, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """The same server, reached both ways."""
    if request.param == "stdio":
        world.name(good=GOOD)
        yield world
        return
    async with http_server() as url:
        world.name(good={"url": url})
        yield world
        await world.servers.close()


async def test_a_tool_is_called_and_its_answer_shown(good: World) -> None:
    """With what it says for programs beside."""
    result = await good.use("mcp__good__add", a=2, b=3)

    assert (result.ok, text(result), result.result) == (True, "5", {"result": 5})


async def test_a_failure_of_the_tool_is_a_failed_call(good: World) -> None:
    """The model reads why."""
    result = await good.use("mcp__good__fail")

    assert not result.ok
    assert result.error == "Error executing tool fail"


@pytest.mark.threat("T34")
async def test_text_comes_without_what_acts_or_hides(good: World) -> None:
    """Escape sequences and characters nobody sees are taken out."""
    assert text(await good.use("mcp__good__look", what="it")) == "it is here"


async def test_a_picture_is_kept_and_shown(good: World) -> None:
    """As a file of the turn; what it is, is told by its bytes."""
    result = await good.use("mcp__good__draw")
    (picture,) = [part for part in result.parts if isinstance(part, Image)]

    assert picture.mime_type == "image/png"
    assert (good.folder / picture.ref).read_bytes().startswith(b"\x89PNG")
    assert result.artifacts == (picture.ref,)


async def test_a_long_answer_goes_through_the_limiter(good: World) -> None:
    """Both ends are shown; the whole is a file."""
    result = await good.use("mcp__good__much", size=500_000)

    assert len(text(result)) < 70_000
    assert (good.folder / result.artifacts[0]).stat().st_size == 500_000


async def test_progress_is_told_and_canceling_reaches_the_server(good: World, tmp_path: Path) -> None:
    """A call that is given up is not worked on any longer."""
    loaded = await good.load()
    marker = tmp_path / "canceled"
    calling = asyncio.create_task(good.call(loaded, "mcp__good__work", marker=str(marker)))
    await until(lambda: good.heard)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await until(marker.exists)

    assert good.heard == [("stdout", "[1/3] halfway\n")]


async def test_resources_and_prompts_are_listed_and_shown(good: World) -> None:
    """Only where a server has some are there tools for them."""
    assert "- notes://today: today" in text(await good.use("mcp_read", server="good"))
    assert "buy bread" in text(await good.use("mcp_read", server="good", uri="notes://today"))
    assert "- review {name}: Ask for a review." in text(await good.use("mcp_prompt", server="good"))
    said = await good.use("mcp_prompt", server="good", name="review", arguments={"name": "x.py"})
    assert text(said) == "Review x.py, please."
    assert "There is no such server" in (await good.use("mcp_read", server="other")).error
    assert not (await good.use("mcp_read", server="good", uri="notes://tomorrow")).ok


async def test_only_a_closed_reader_of_the_users_own_is_free(good: World) -> None:
    """Hints of a server are believed where the user named it, and only if it says that it reaches nothing else."""
    kinds = {tool.definition.name: tool.definition.kind for tool in (await good.load()).tools}

    assert kinds["mcp__good__look"] is ToolKind.READ
    assert kinds["mcp__good__add"] is ToolKind.NET
    assert kinds["mcp_read"] is ToolKind.NET


async def test_a_projects_server_is_not_believed(world: World) -> None:
    """Unless the file that was trusted says so of a tool."""
    world.name_in_project(good=GOOD)
    kinds = {tool.definition.name: tool.definition.kind for tool in (await world.load()).tools}
    assert kinds["mcp__good__look"] is ToolKind.NET

    world.name_in_project(good={**GOOD, "kinds": {"add": "read"}})
    kinds = {tool.definition.name: tool.definition.kind for tool in (await world.load()).tools}
    assert (kinds["mcp__good__add"], kinds["mcp__good__look"]) == (ToolKind.READ, ToolKind.NET)


@pytest.mark.threat("T33")
async def test_a_server_gets_its_own_variables_and_no_others(world: World) -> None:
    """What looks like a secret is learned by who keeps secrets out of the log."""
    world.env.update(MY_TOKEN="a-token-of-mine", SECRET_SAUCE="not-for-it")
    world.name(good={**GOOD, "env": {"SERVICE_TOKEN": "${MY_TOKEN}", "MODE": "${MODE:-quiet}"}})

    assert text(await world.use("mcp__good__variable", name="SERVICE_TOKEN")) == "a-token-of-mine"
    assert text(await world.use("mcp__good__variable", name="MODE")) == "quiet"
    assert text(await world.use("mcp__good__variable", name="SECRET_SAUCE")) == "<unset>"
    assert set(world.learned) == {"a-token-of-mine"}


async def test_a_server_in_the_sandbox_cannot_write_elsewhere(world: World, tmp_path: Path) -> None:
    """`sandbox: true` puts it where commands run; without, it can do what its user can."""
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if python is None or not INSIDE.rung.confines:
        pytest.skip("there is no Python of the system's, or no sandbox")
    shutil.copy(HERE / "raw.py", world.root / "raw.py")
    entry = {"command": python, "args": ["-S", "raw.py", "writes"]}
    world.name(free=entry, held={**entry, "sandbox": True})
    outside = tmp_path / "outside"

    assert (await world.use("mcp__held__echo", text=str(outside))).ok
    assert not outside.exists()
    assert text(await world.use("mcp__free__echo", text=str(outside))) == "written"
    assert outside.exists()
    assert (await world.status("held")).sandboxed


async def test_a_workspace_that_is_no_longer_trusted_is_not_worked_for(world: World) -> None:
    """Asked at each call, as with tools of a project."""
    world.name_in_project(good=GOOD)
    loaded = await world.load()
    world.trusted = False

    assert "no longer trusted" in (await world.call(loaded, "mcp__good__add", a=1, b=1)).error
