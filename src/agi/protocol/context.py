"""Words for what a model is shown: sections with their provenance and cost, why a head was made, the report of it.

Values only. May import: protocol.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SectionStatus = Literal["in", "cut", "left_out"]
SectionPlace = Literal["prefix", "tools", "conversation"]
"""At the head of every request, in its list of tools, or said once in the conversation."""
AssemblyCause = Literal["first_turn", "agent_changed", "model_changed", "tools_changed", "compacted"]
"""Why the head of the requests was made, or made anew: there is no other reason for it to change."""
WindowSource = Literal["config", "server", "catalog", ""]

ORIGIN = "context"
"""The origin of messages by which the harness tells of sections."""


class ContextSection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One named piece of what a model is shown."""

    name: str
    """`agent`, `workspace`, `rules`, `skills`, `tools`, `session`, `notes`, `repo_map`, `selected_files`, `todo`, …"""
    source: str
    """Where it came from: a file's path, `agent build`, `harness`, `user`, `log`."""
    place: SectionPlace = "prefix"
    status: SectionStatus = "in"
    tokens: int = 0
    """What it costs, estimated."""
    budget: int | None = None
    """What all sections of this name may cost together; None is no limit."""
    digest: str = ""
    """Of the whole source; by it a change is noticed."""
    why: str = ""
    """Why it is cut or left out."""
    text: str = ""
    """What the model is told. Empty in a list, and for tools, which are told in a field of their own."""

    @property
    def key(self) -> str:
        """Which section it is, in whatever state."""
        return f"{self.name} {self.source}"


class ContextReport(Struct, frozen=True, kw_only=True):
    """What the model is shown in a session, or would be shown in the next turn of one."""

    session_id: str
    """Empty for a session that is not begun."""
    agent: str
    provider: str
    model: str
    recorded: bool
    """Whether this is what was told; else it is what the next turn would be told."""
    cause: AssemblyCause
    """Why the head was made as it is."""
    sections: tuple[ContextSection, ...]
    """In the order in which they are told."""
    messages: int
    """How many messages the conversation has."""
    conversation_tokens: int
    """What they cost, with the sections told among them."""
    total_tokens: int
    """What the next request takes in at least: head, tools and conversation."""
    window: int | None
    """What the model takes in and gives out together; None is unknown."""
    window_source: WindowSource
    """Who said so; empty if nobody did."""
    reserve: int
    """Of the window, what is kept free for the answer."""
    percent: float | None
    """How much of the window, without the reserve, is used."""
    withheld: int
    """How many parts are no longer told."""
    compacted: int = 0
    """How often earlier messages were replaced by a summary."""
