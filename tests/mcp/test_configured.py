"""Which servers count: the user's first, a project's once it is trusted, each entry on its own."""

from __future__ import annotations

import json
import os

import pytest

from agi.config.servers import ServerEntry, add_server, remove_server, user_servers
from agi.errors import ConfigError, Conflict, NotFound

from .conftest import World, raw, until


@pytest.mark.threat("T24")
async def test_an_untrusted_projects_servers_are_told_and_not_started(world: World) -> None:
    """Both files of it; and how to change that is said."""
    world.trusted = False
    world.name_in_project(".agi/mcp.json", one=raw("plain"))
    world.name_in_project(".mcp.json", two=raw("plain"))
    loaded = await world.load()

    assert loaded.tools == ()
    assert [(one.server, one.code) for one in loaded.problems] == [("one", "untrusted"), ("two", "untrusted")]
    assert all("agi trust" in one.hint for one in loaded.problems)
    assert world.processes() == set()


async def test_the_users_own_wins_and_the_other_is_told(world: World) -> None:
    """A project cannot put something else under a name its user knows."""
    world.name(same=raw("plain"))
    world.name_in_project(same=raw("exits"), other=raw("plain"))
    loaded = await world.load()

    assert sorted(tool.definition.name for tool in loaded.tools) == ["mcp__other__echo", "mcp__same__echo"]
    assert [(one.server, one.code) for one in loaded.problems] == [("same", "shadowed")]


async def test_names_that_read_the_same_count_as_one(world: World) -> None:
    """Their tools could not be told apart."""
    world.name(**{"a.b": raw("plain"), "a b": raw("plain")})

    assert [one.code for one in (await world.load()).problems] == ["shadowed"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "either a `command` or a `url`"),
        ({"command": "x", "url": "https://x"}, "either a `command` or a `url`"),
        ({"url": "ftp://x"}, "must begin with https://"),
        ({"url": "https://x", "type": "sse"}, "not supported"),
        ({"command": 5}, "expected a string"),
        ({"command": "x", "args": "y"}, "mcpServers.wrong.args"),
        ({"command": "x", "env": {"A B": "c"}}, "mcpServers.wrong"),
        ({"command": "x", "timeoutMs": 0}, "timeoutMs"),
        ({"url": "https://x", "headers": {"X": "a\nb"}}, "header"),
        ({"command": "x\0y"}, "zero byte"),
    ],
)
async def test_an_entry_that_is_wrong_costs_itself(world: World, entry: dict[str, object], said: str) -> None:
    """Told with its name; its neighbour works."""
    world.name(wrong=entry, good=raw("plain"))
    loaded = await world.load()

    assert [tool.definition.name for tool in loaded.tools] == ["mcp__good__echo"]
    assert [one.server for one in loaded.problems] == ["wrong"]
    assert said in loaded.problems[0].message


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": []}', "\xff"])
async def test_a_file_that_is_wrong_costs_itself(world: World, content: str) -> None:
    """The other file counts."""
    world.name(good=raw("plain"))
    (world.root / ".mcp.json").write_bytes(content.encode("latin-1"))
    loaded = await world.load()

    assert len(loaded.tools) == 1
    assert len(loaded.problems) == 1
    assert ".mcp.json" in loaded.problems[0].message


async def test_a_link_is_not_followed_out_of_a_project(world: World, tmp_path) -> None:
    """What trust has hashed is what is read."""
    (tmp_path / "elsewhere.json").write_text(json.dumps({"mcpServers": {"evil": raw("plain")}}))
    (world.root / ".mcp.json").symlink_to(tmp_path / "elsewhere.json")
    loaded = await world.load()

    assert loaded.tools == ()
    assert "symlink" in loaded.problems[0].message


async def test_a_name_the_sandbox_holds_for_a_command_is_no_file(world: World) -> None:
    """While a command runs, an empty folder stands where a file must not be made."""
    held = world.root / ".mcp.json"
    held.mkdir()
    os.utime(held, ns=(1_000_000_000, 1_000_000_000))
    world.name(good=raw("plain"))

    assert (await world.load()).problems == ()


async def test_a_variable_that_is_missing_is_named(world: World) -> None:
    """Nothing is started with half its settings."""
    world.name(one={**raw("plain"), "env": {"TOKEN": "${NOT_SET_ANYWHERE}"}})
    (problem,) = (await world.load()).problems

    assert problem.code == "variable_missing"
    assert "${NOT_SET_ANYWHERE}, which is not set" in problem.message


@pytest.mark.threat("T33")
async def test_the_key_of_a_provider_goes_to_no_server(world: World) -> None:
    """Whoever asks for it, and however."""
    world.env["ANTHROPIC_API_KEY"] = "sk-very-secret"
    world.name(one={**raw("plain"), "args": ["${ANTHROPIC_API_KEY}"]})
    (problem,) = (await world.load()).problems

    assert "the key of a model provider" in problem.message
    assert "sk-very" not in problem.message


async def test_where_a_sandbox_is_required_it_must_be_said(world: World) -> None:
    """`sandbox.mode: require` is not walked around by a server; its user may say `false` knowingly."""
    world.must_confine = True
    world.name(silent=raw("plain"), knowingly={**raw("plain"), "sandbox": False})
    loaded = await world.load()

    assert [tool.definition.name for tool in loaded.tools] == ["mcp__knowingly__echo"]
    assert [(one.server, one.code) for one in loaded.problems] == [("silent", "sandbox_required")]


async def test_only_the_tools_that_are_listed_count(world: World) -> None:
    """And a server that is switched off is not started."""
    world.name(some={**raw("twice"), "tools": ["other"]}, off={**raw("plain"), "enabled": False})
    loaded = await world.load()

    assert loaded.tools == ()
    assert (await world.status("off")).state == "off"


async def test_a_server_that_is_no_longer_named_ends(world: World) -> None:
    """At the next turn; whoever changed the file need not restart anything."""
    world.name(one=raw("plain"), two=raw("plain"))
    await world.load()
    assert len(world.processes()) == 4
    world.name(two=raw("plain"))
    await world.load()

    await until(lambda: len(world.processes()) == 2)


def test_servers_are_added_and_removed_without_touching_others(world_folder) -> None:
    """What another program wrote there stays, and a name in use is not overwritten unasked."""
    file = world_folder / "mcp.json"
    file.write_text('{"other": 1, "mcpServers": {"old": {"command": "x", "alwaysAllow": ["a"]}}}')
    add_server(world_folder, "new", ServerEntry(url="https://example.com/mcp"), project=None, replace=False)
    with pytest.raises(Conflict):
        add_server(world_folder, "new", ServerEntry(command="y"), project=None, replace=False)
    with pytest.raises(ConfigError):
        add_server(world_folder, "bad", ServerEntry(), project=None, replace=False)
    told = json.loads(file.read_text())

    assert told["other"] == 1
    assert told["mcpServers"]["old"] == {"command": "x", "alwaysAllow": ["a"]}
    assert told["mcpServers"]["new"] == {"url": "https://example.com/mcp"}
    assert file.stat().st_mode & 0o777 == 0o600
    remove_server(world_folder, "old", project=None)
    assert list(user_servers(world_folder).servers) == ["new"]
    with pytest.raises(NotFound):
        remove_server(world_folder, "old", project=None)


@pytest.fixture
def world_folder(tmp_path):
    """A user's settings."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"
