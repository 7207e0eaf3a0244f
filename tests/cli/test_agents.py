"""`agi agents`: who is alive, as a tree."""

from __future__ import annotations

from agi.cli.agents import tree
from agi.protocol.drafts import PooledAgent


def one(name: str, parent: str = "") -> PooledAgent:
    return PooledAgent(
        agent_id=name,
        role="dev",
        kind="worker",
        status="running",
        session_id=name,
        task_slug="",
        project="p",
        parent_id=parent,
    )


def test_everyone_stands_below_whom_it_works_for() -> None:
    """Also where that one came later in the list; one whose parent is not alive stands at the top."""
    found = [one("c", "b"), one("a"), one("b", "a"), one("d", "gone"), one("e", "a")]

    placed = [(depth, agent.agent_id) for depth, agent in tree(found)]
    assert placed == [
        (0, "a"),
        (1, "b"),
        (2, "c"),
        (1, "e"),
        (0, "d"),
    ]


def test_nobody_works_for_itself_for_ever() -> None:
    """A log that says so ends the tree there."""
    assert [agent.agent_id for _, agent in tree([one("a", "a")])] == ["a"]
