"""The tools of a drafted agent: which there are goes by permissions, and what they give is JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import Raw

from agi.errors import NotFound
from agi.protocol.tools import ToolCall, ToolKind
from agi.tools.base import Registry, ToolContext
from agi.tools.team import NAMES, READ_ONLY, team_tools
from agi.workspace.handle import Workspace


class Harness:
    """A harness that notes what it is asked."""

    def __init__(self, *permissions: str) -> None:
        self.permissions = permissions
        self.asked: list[object] = []

    async def draft_agent(self, call_id, asked):
        self.asked.append((call_id, asked.role, asked.prompt))
        return {"agent_id": "sess_1"}

    async def await_agent(self, asked):
        raise NotFound(f"You have no worker {asked.agent_id!r}.", hint="Draft one.")

    async def kill_agent(self, agent_id):
        return {"killed": True}

    async def look(self, what):
        return [what]

    async def create_project(self, name, path):
        return {"name": name, "path": path}


@pytest.fixture
def context(tmp_path: Path):
    with Workspace.open(tmp_path) as workspace:
        yield ToolContext(
            workspace=workspace,
            artifacts=tmp_path / "artifacts",
            artifact_ref="artifacts/turn_1",
            output=lambda channel, text: None,
        )


def names(*permissions: str, may_draft: bool = True) -> set[str]:
    return {tool.definition.name for tool in team_tools(Harness(*permissions), may_draft=may_draft)}


def call(name: str, /, **given: object) -> ToolCall:
    return ToolCall("call_1", name, Raw(json.dumps(given).encode()))


def test_permissions_decide_which_tools_there_are():
    """Without any, those that look; a worker drafts nobody, whatever its role."""
    assert names() == set(READ_ONLY)
    assert names("agent-draft") == {*READ_ONLY, "draft_agent", "await_agent", "kill_agent", "merge_agent"}
    assert names("agent-draft", may_draft=False) == set(READ_ONLY)
    assert names("agent-draft", "projects-list", "projects-create") == set(NAMES)


def test_what_changes_something_is_no_reading_tool_and_a_new_project_always_asks():
    """A merge is asked about as any change of files is; the others can be repeated after a crash."""
    tools = {tool.definition.name: tool.definition for tool in team_tools(_all(), may_draft=True)}

    asking = {name for name, one in tools.items() if one.requires_approval}
    assert asking == {"create_project"}
    assert {name for name, one in tools.items() if one.kind is not ToolKind.READ} == {"create_project", "merge_agent"}
    assert tools["await_agent"].polling


async def test_what_comes_back_is_json(context):
    """For the model as text, for programs as a value; the call is named, so that it is known again."""
    harness = _all()
    registry = Registry(team_tools(harness, may_draft=True))

    result = await registry.invoke(context, call("draft_agent", role="dev", prompt="build it"))

    assert json.loads(result.parts[0].text) == result.result == {"agent_id": "sess_1"}
    assert harness.asked == [("call_1", "dev", "build it")]


@pytest.mark.parametrize("name", ["list_agents", "list_roles", "list_tasks", "list_projects"])
async def test_a_list_is_an_object_with_its_name(context, name):
    """What a tool gives programs is an object everywhere, so a list stands below a name."""
    result = await Registry(team_tools(_all(), may_draft=True)).invoke(context, call(name))

    what = name.removeprefix("list_")
    assert json.loads(result.parts[0].text) == result.result == {what: [what]}


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("draft_agent", {"role": "dev"}, "prompt"),
        ("draft_agent", {"role": "dev", "prompt": "x", "why": 1}, "why"),
        ("await_agent", {"agent_id": "x", "timeout_s": -1}, "timeout_s"),
        ("await_agent", {"agent_id": "x"}, "You have no worker 'x'. Draft one."),
        ("create_project", {"name": "x"}, "path"),
    ],
)
async def test_a_wrong_call_is_told_to_the_model(context, name, given, said):
    """A failure is a result that says what is wrong."""
    result = await Registry(team_tools(_all(), may_draft=True)).invoke(context, call(name, **given))

    assert not result.ok
    assert said in result.error


def _all() -> Harness:
    return Harness("agent-draft", "projects-list", "projects-create")
