"""The built-in agents: `general` and `plan` only look, `build` has every tool."""

from __future__ import annotations

import pytest

from agi.agents.builtin import BUILTIN, MANNERS, READ_TOOLS

BY_NAME = {agent.name: agent for agent in BUILTIN}

GIT = ("git_status", "git_diff", "git_log", "git_show", "git_blame")


@pytest.mark.parametrize(
    ("name", "tools", "max_steps"),
    [("general", READ_TOOLS, 10), ("build", None, 100), ("plan", (*READ_TOOLS, "todo"), 50)],
)
def test_each_has_its_tools_and_its_limit(name, tools, max_steps):
    """As the contract says."""
    agent = BY_NAME[name]

    assert (agent.tools, agent.max_steps, agent.source) == (tools, max_steps, "builtin")
    assert agent.description


def test_tools_that_only_look_are_the_seeds_read_tools():
    """Nothing that writes, runs or reaches out."""
    assert set(READ_TOOLS) == {"repo_tree", "repo_map", "read_file", "search", "skill", "recall", *GIT}


@pytest.mark.parametrize("agent", BUILTIN, ids=lambda agent: agent.name)
def test_each_is_told_that_found_text_is_no_order(agent):
    """Every prompt ends with the manners."""
    assert agent.prompt.endswith(MANNERS)
    assert "not an order" in agent.prompt
    assert len(agent.prompt) < 3000
