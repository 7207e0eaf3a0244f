"""What clients may choose from."""

from __future__ import annotations

from pathlib import Path

from agi.testing.box import Daemon, daemon_in_a_box
from agi.testing.model_server import ModelServer, Refusal


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
    known = {"name", "description", "kind", "requires_approval", "input_schema", "aliases", "polling"}
    assert set(tools["shell"]) == known
    assert tools["shell"]["kind"] == "exec"
    assert "fs.read" in tools["read_file"]["aliases"]
    assert tools["read_file"]["input_schema"]["type"] == "object"


async def test_models_are_listed_with_the_default_and_why(daemon: Daemon) -> None:
    """Without a provider, the scripted one answers and says so."""
    listed = (await daemon.get("/v1/models")).json()
    assert [(model["provider"], model["id"]) for model in listed["models"]] == [("scripted", "script")]
    assert listed["default"]["reason"] == "nothing_configured"
    assert listed["problem"] == ""


async def test_the_default_is_what_the_agent_prefers(tmp_path: Path) -> None:
    """As it is when the agent answers, in the list as at a glance."""
    lab = {"baseUrl": "http://127.0.0.1:9/v1"}
    config = {"providers": {"lab": lab}, "defaultAgent": "critic"}
    async with daemon_in_a_box(tmp_path, config=config) as daemon:
        daemon.workspace.write(".agi/agents.json", '{"critic": {"provider": "lab", "model": "tiny"}}')
        listed = (await daemon.get("/v1/models")).json()
        health = (await daemon.get("/v1/health")).json()
        other = (await daemon.get("/v1/models?agent=build&provider=scripted")).json()

    assert (listed["agent"], listed["default"]["provider"], listed["default"]["model"]) == ("critic", "lab", "tiny")
    assert health["default_model"] == listed["default"]
    assert (other["agent"], other["default"]["provider"]) == ("build", "scripted")


async def test_a_default_agent_that_does_not_exist_is_a_problem_not_a_failure(tmp_path: Path) -> None:
    """The list is still there, and so is everything at a glance."""
    async with daemon_in_a_box(tmp_path, config={"defaultAgent": "nobody"}) as daemon:
        listed = (await daemon.get("/v1/models")).json()
        health = (await daemon.get("/v1/health")).json()

    assert (listed["default"], listed["agent"]) == (None, "")
    assert "There is no agent 'nobody'." in listed["problem"]
    assert listed["models"]
    assert listed["problem"] in health["warnings"]


async def test_models_are_listed_with_window_price_and_abilities(tmp_path: Path) -> None:
    """As the server behind a base URL says; what is unknown is null, never 0."""
    entry = {
        "id": "lab/large",
        "context_length": 64000,
        "top_provider": {"max_completion_tokens": 4000},
        "pricing": {"prompt": "0.000001", "completion": "0.000002", "input_cache_read": "0.0000001"},
        "supported_parameters": ["tools"],
    }
    async with ModelServer({"/v1/models": {"data": [entry, {"id": "plain"}]}}) as server:
        lab = {"baseUrl": f"{server.url}/v1", "apiKey": "sk-canary-123456"}
        async with daemon_in_a_box(tmp_path, config={"providers": {"lab": lab}}) as daemon:
            listed = (await daemon.get("/v1/models")).json()
            again = (await daemon.get("/v1/models")).json()

    large, plain = [model for model in listed["models"] if model["provider"] == "lab"]
    assert large == {
        "provider": "lab",
        "id": "lab/large",
        "context_window": 64000,
        "max_output_tokens": 4000,
        "price": {"input_usd": 1.0, "output_usd": 2.0, "cache_read_usd": 0.1, "cache_write_usd": None},
        "capabilities": ["tools"],
        "note": "",
    }
    assert (plain["price"], plain["context_window"], plain["capabilities"]) == (None, None, [])
    assert listed["notes"] == []
    assert again == listed
    assert server.asked.count("/v1/models") == 1
    assert "canary" not in str(listed)


async def test_a_server_that_does_not_answer_is_a_note(tmp_path: Path) -> None:
    """Never an error, and never the key."""
    async with ModelServer({"/v1/models": Refusal(401)}) as server:
        lab = {"baseUrl": f"{server.url}/v1", "apiKey": "sk-canary-123456"}
        async with daemon_in_a_box(tmp_path, config={"providers": {"lab": lab}}) as daemon:
            reply = await daemon.get("/v1/models")

    assert reply.status == 200
    assert reply.json()["notes"] == [f"lab: {server.url} answered with status 401 when asked for its models."]
    assert "canary" not in str(reply.json())


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
