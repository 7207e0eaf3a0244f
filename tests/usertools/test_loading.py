"""What a workspace has of its own: loaded if it is trusted, told if not, and again when something changed."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from agi.errors import ConfigError
from agi.trust import set_trust, trust_state
from agi.usertools import loading
from agi.usertools.base import UserTools


async def test_without_tools_nothing_is_asked(project):
    """Most projects have none: not even trust is looked up, and nothing is started."""

    def never():
        raise AssertionError

    loaded = await project.loader.load(project.root, cell=never, is_trusted=never, taken=())
    assert loaded == UserTools()


async def test_of_an_untrusted_workspace_nothing_is_run(project, tmp_path):
    """Its tools are told to be there, and how they can be had."""
    project.tool("size", f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    project.trusted = False
    project.rung = "none"

    assert await project.problem("size") == "Not loaded: the workspace is not trusted."
    assert project.loaded.tools == ()
    assert not (tmp_path / "ran").exists()


async def test_where_no_command_may_run_no_tool_is_loaded(project, tmp_path):
    """A sandbox that is required and not there keeps tools out as well."""
    project.tool("size", f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    project.rung = "none"
    project.no_commands = "sandbox.mode is `require`."

    assert "sandbox.mode" in await project.problem("size")
    assert not (tmp_path / "ran").exists()


async def test_a_tool_is_never_imported_here(project):
    """Not even a trusted one."""
    project.tool("size")
    await project.only()

    assert not {"tool", "agi_tool", "agi_signature"} & set(sys.modules)
    assert not [path for path in project.root.rglob("*") if path.suffix == ".pyc"]


async def test_a_turn_does_not_pay_twice(project):
    """The second look only reads files, and gives the same."""
    project.tool("size")
    first = await project.only()
    began = time.monotonic()
    second = await project.only()

    assert time.monotonic() - began < 0.05
    assert second.definition == first.definition


async def test_a_changed_tool_is_described_anew(project):
    """By its content, not by its date."""
    project.tool("size")
    first = await project.only()
    project.tool("size", "from agi_tool import tool\n@tool\ndef size(other: int) -> None: ...\n")

    assert (await project.only()).definition.input_schema != first.definition.input_schema


def _add_a_line(path):
    with open(path, "a") as file:
        file.write("\n#\n")


async def test_trust_is_by_content(project, tmp_path):
    """Changing any file of a tool after it was trusted takes it away, until it is trusted again."""
    home = tmp_path / "home"
    folder = project.tool("size")
    (folder / "data").mkdir()
    for path in ("helper.py", "data/words.txt"):
        (folder / path).write_text("x = 1\n")
    for path in ("tool.py", "prompt.txt", "helper.py", "data/words.txt", "new.txt"):
        set_trust(project.root, home, True)

        async def load():
            return await project.loader.load(
                project.root,
                cell=project.cell,
                is_trusted=lambda: trust_state(project.root, home).trusted,
                taken=(),
            )

        assert [tool.definition.name for tool in (await load()).tools] == ["size"]
        _add_a_line(folder / path)
        loaded = await load()
        assert loaded.tools == ()
        assert loaded.problems[0].message == "Not loaded: the workspace is not trusted."


async def test_trust_that_cannot_be_told_is_none(project):
    """A broken settings file of the user's is said, and nothing is run."""

    def broken():
        raise ConfigError("config.json is broken.", hint="Mend it.")

    project.tool("size")
    loaded = await project.loader.load(project.root, cell=project.cell, is_trusted=broken, taken=())
    assert [one.message for one in loaded.problems] == ["Not loaded: config.json is broken."]


async def test_tools_that_hang_do_not_hold_up_a_turn_for_long(project, monkeypatch):
    """There is a time for all of them together; who had no turn is told so."""
    monkeypatch.setattr(loading, "LONGEST_S", 0.3)
    for number in range(8):
        project.tool(f"slow{number}", f"import time; time.sleep({number + 60})\n")
    began = time.monotonic()
    loaded = await project.load()

    assert time.monotonic() - began < 10
    assert len(loaded.problems) == 8
    assert "took more than" in loaded.problems[0].message


async def test_canceling_leaves_nothing_behind(project):
    """The turn that waits may be canceled meanwhile."""
    project.tool("slow", "import time; time.sleep(60)\n")
    task = asyncio.create_task(project.load())
    await project.until(lambda: any(one.get_name() == "asking a user tool" for one in asyncio.all_tasks()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [one for one in asyncio.all_tasks() if one is not asyncio.current_task()] == []
