"""The prefix: what stands at the head of every request of a session, as pieces in their order.

No clock, id or random value is in it, so providers can reuse what they have cached. Two profiles: the full one, and a
short one for small models (see small). May import: protocol, agents, workspace, context.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from agi.agents.base import Agent
from agi.context.assembling import digest_of
from agi.context.base import AGENT, NOTES, SESSION, SKILLS, TOOLS, WORKSPACE, Piece
from agi.protocol.tools import ToolDefinition
from agi.protocol.visible import visible

_encode = msgspec.json.Encoder(order="deterministic").encode


def full_pieces(
    agent: Agent,
    workspace: Path,
    *,
    session_prompt: str | None,
    tools: Sequence[ToolDefinition],
    more: Sequence[Piece] = (),
) -> list[Piece]:
    """What most models are told; `more` are rules, skills and notes, wherever they come from."""
    place = f"You work in the folder {workspace}. Paths you give to tools are relative to it."
    return [
        agent_piece(agent),
        Piece(name=WORKSPACE, source="harness", text=place),
        *more,
        tools_piece(agent, tools),
        *session_pieces(session_prompt),
    ]


def agent_piece(agent: Agent) -> Piece:
    """The agent's own prompt."""
    return Piece(name=AGENT, source=f"agent {agent.name}", text=agent.prompt)


def session_pieces(prompt: str | None) -> list[Piece]:
    """What was asked for when the session was begun."""
    return [Piece(name=SESSION, source="user", text=prompt)] if prompt and prompt.strip() else []


def skills_piece(catalogue: str, left_out: int) -> Piece:
    """The list of skills; which of them are in it is for those to say who know skills."""
    longer = f"{left_out} skills are not listed" if left_out else ""
    return Piece(name=SKILLS, source="skills", text=catalogue, longer=longer, says_so=True)


def notes_piece(notes: Sequence[str]) -> Piece:
    """What the user pinned for the workspace."""
    text = "\n".join(f"- {visible(' '.join(note.split()))}" for note in notes)
    return Piece(name=NOTES, source="user", heading="Notes the user keeps about this workspace:", text=text)


def tools_piece(agent: Agent, tools: Sequence[ToolDefinition]) -> Piece:
    """The tools' cost; they are told in a field of their own."""
    raw = told_tools(tools)
    return Piece(
        name=TOOLS,
        source=f"agent {agent.name}",
        place="tools",
        size=len(raw) if tools else 0,
        digest=digest_of(raw.decode()),
    )


def told_tools(tools: Sequence[ToolDefinition]) -> bytes:
    """What a provider is told of tools, as one text."""
    return _encode([(tool.name, tool.description, tool.input_schema) for tool in tools])
