"""Agents are found by name, and a mistake is answered with the nearest names."""

from __future__ import annotations

import pytest

from agi.agents.base import Agents
from agi.agents.builtin import BUILTIN
from agi.config import Config
from agi.errors import Invalid

AGENTS = Agents(BUILTIN)


def test_agents_are_listed_by_name():
    """Always in the same order."""
    assert [agent.name for agent in AGENTS.all()] == ["build", "general", "plan"]


def test_an_agent_is_found_by_its_name():
    """Exactly."""
    assert AGENTS.find("plan").name == "plan"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("biuld", "Did you mean build?"),
        ("planner", "Did you mean plan?"),
        ("zzz", "Agents: build, general, plan."),
        ("", "Agents: build, general, plan."),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name, hint):
    """Or with all there are."""
    with pytest.raises(Invalid) as raised:
        AGENTS.find(name)

    assert (raised.value.code, raised.value.hint) == ("unknown_agent", hint)


def test_the_default_is_the_configured_one_else_build():
    """`build` has tools of every kind, gated by approvals."""
    assert AGENTS.default(Config()).name == "build"
    assert AGENTS.default(Config(default_agent="general")).name == "general"
    with pytest.raises(Invalid, match="'nobody'"):
        AGENTS.default(Config(default_agent="nobody"))
