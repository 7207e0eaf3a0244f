"""When a turn begins with a preflight: as its message says, else its agent, else the configuration."""

from __future__ import annotations

import json

import pytest

from agi.agents.builtin import BUILTIN
from agi.protocol.policies import ApprovalPolicy
from agi.protocol.tools import ToolKind
from agi.sessions.preparing import is_risky
from agi.tools.builtin import builtin_tools

TOOLS = tuple(tool.definition for tool in builtin_tools())
BY_NAME = {agent.name: agent for agent in BUILTIN}
PLAN = json.dumps({"steps": [{"description": "Say it."}]})


@pytest.mark.parametrize(
    ("mode", "agent", "asked", "begins"),
    [
        ("off", "build", None, False),
        ("off", "build", True, True),
        ("risky", "build", None, True),
        ("risky", "general", None, False),
        ("always", "general", None, True),
        ("always", "build", False, False),
    ],
)
async def test_who_decides_whether_the_plan_comes_first(place, mode, agent, asked, begins):
    """`risky`: where the agent has a tool that is asked about."""
    place.configure(json.dumps({"preflight": mode}))
    await place.start(agent=agent)
    place.model.says(PLAN if begins else "Done.")

    turn = await place.ask("go", preflight=asked, on_ask="deny")

    assert turn.status == ("canceled" if begins else "completed")
    assert ("preflight_requested" in place.types()) is begins


async def test_an_agent_of_the_project_may_ask_for_it(place):
    """Its own word comes before the configuration's."""
    (place.project / ".agi" / "agents.json").write_text('{"general": {"preflight": "always"}}')
    await place.start(agent="general")
    place.model.says(PLAN)

    await place.ask("go", on_ask="deny")

    assert "preflight_requested" in place.types()


async def test_a_message_that_waits_in_line_keeps_its_wish(place):
    """Also one that a later process begins to answer."""
    place.model.says(PLAN)
    first = await place.say("one", preflight=True)
    await place.heard("preflight_requested")
    second = await place.say("two", preflight=True, on_ask="deny")
    place.model.says(PLAN)

    await place.cancel(turn_id=first.turn_id)
    await place.ended(second)

    assert len(place.events("preflight_requested")) == 2


def test_risky_is_whoever_has_a_tool_that_is_asked_about():
    """By kind, by name, or because nobody knows the tool here."""
    lax = ApprovalPolicy(require_for_kinds=())
    named = ApprovalPolicy(require_for_kinds=(), require_for_tools=("fs.read",))
    build, general = BY_NAME["build"], BY_NAME["general"]
    unknown = type(general)(name="x", description="", prompt="", tools=("deploy",), max_steps=1, source="project")

    assert is_risky(build, ApprovalPolicy(), TOOLS)
    assert not is_risky(general, ApprovalPolicy(), TOOLS)
    assert is_risky(general, named, TOOLS)
    assert is_risky(unknown, lax, TOOLS)
    assert is_risky(general, ApprovalPolicy(require_for_kinds=(ToolKind.READ,)), TOOLS)
