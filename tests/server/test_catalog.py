"""What clients may choose from."""

from __future__ import annotations

from pathlib import Path

from agi.testing.box import Daemon, daemon_in_a_box


async def test_agents_are_listed_with_the_tools_they_may_use(daemon: Daemon) -> None:
    """Read-only agents have no tool that writes; the default is said."""
    listed = (await daemon.get("/v1/agents")).json()
    agents = {agent["name"]: agent for agent in listed["agents"]}
    assert set(agents) >= {"build", "general", "plan"}
    assert set(agents["build"]) == {"name", "description", "tools", "max_steps", "source"}
    assert "shell" in agents["build"]["tools"]
    assert "shell" not in agents["general"]["tools"]
    assert agents["general"]["max_steps"] == 10
    assert listed["default"] == "build"


async def test_a_projects_own_agents_are_listed_too(daemon: Daemon) -> None:
    """And said to be the project's."""
    daemon.workspace.write(".agi/agents.json", '{"reviewer": {"tools": ["fs.read"], "maxSteps": 5}}')
    agents = {agent["name"]: agent for agent in (await daemon.get("/v1/agents")).json()["agents"]}
    assert agents["reviewer"]["tools"] == ["read_file"]
    assert (agents["reviewer"]["source"], agents["reviewer"]["max_steps"]) == ("project", 5)


async def test_tools_are_listed_with_kind_and_schema(daemon: Daemon) -> None:
    """As the model and the policy see them."""
    tools = {tool["name"]: tool for tool in (await daemon.get("/v1/tools")).json()["tools"]}
    assert set(tools["shell"]) == {"name", "description", "kind", "requires_approval", "input_schema", "aliases"}
    assert tools["shell"]["kind"] == "exec"
    assert "fs.read" in tools["read_file"]["aliases"]
    assert tools["read_file"]["input_schema"]["type"] == "object"


async def test_models_are_listed_with_the_default_and_why(daemon: Daemon) -> None:
    """Without a provider, the scripted one answers and says so."""
    listed = (await daemon.get("/v1/models")).json()
    assert [(model["provider"], model["id"]) for model in listed["models"]] == [("scripted", "script")]
    assert listed["default"]["reason"] == "nothing_configured"
    assert listed["problem"] == ""


async def test_a_default_that_cannot_answer_is_a_problem_not_a_failure(tmp_path: Path) -> None:
    """The list is still there, to choose another."""
    async with daemon_in_a_box(tmp_path, config={"defaultProvider": "openai"}) as daemon:
        reply = await daemon.get("/v1/models")
        assert reply.status == 200
        assert reply.json()["default"] is None
        assert "OPENAI_API_KEY" in reply.json()["problem"]


async def test_settings_that_cannot_be_read_are_a_clear_error(daemon: Daemon) -> None:
    """422 that names the file."""
    daemon.workspace.write(".agi/config.json", "{")
    reply = await daemon.get("/v1/agents")
    assert (reply.status, reply.code) == (422, "config_invalid")
    assert "config.json" in reply.json()["error"]["message"]
