"""Drafts, workers and tasks as files and clients have them; fields are camelCase, as seed 001 spells them.

Values only: what stands in `draft.json` and `task.json`, what the pool lists, what a worker gives back. May import:
protocol.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from agi.protocol.sessions import Activity

PERMISSIONS = ("agent-draft", "projects-list", "projects-create")
"""What a role may be permitted to do with the harness itself."""
DraftStatus = Literal["active", "closed"]
AgentKind = Literal["draft", "worker"]
WorkStatus = Literal["active", "running", "completed", "failed", "canceled", "closed"]


class Draft(Struct, frozen=True, kw_only=True, rename="camel"):
    """Seed 001's DraftSession: an agent that was drafted, and what it has used up. An unknown number is null."""

    session_id: str
    role: str
    project: str
    task_slug: str
    task_dir: str
    channel_id: str
    started_at: str
    last_activity_at: str
    turn_count: int
    status: DraftStatus
    cumulative_cost_usd: float | None
    last_input_tokens: int
    last_output_tokens: int
    context_window: int | None
    max_output_tokens: int | None
    context_pct: float | None
    """How full the model's window was at the last call, in per cent."""
    activity: Activity = "idle"
    closed_reason: str = ""
    """Why the harness closed it; empty if a person did, or it is active."""


class DraftSummary(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a closed draft amounts to."""

    session_id: str
    task_slug: str
    turns: int
    cost: float | None
    seconds: float
    """From the beginning to the end, as a clock shows it."""


class PooledAgent(Struct, frozen=True, kw_only=True, rename="camel"):
    """One that is alive: a draft, or a worker that has not come to its end."""

    agent_id: str
    role: str
    kind: AgentKind
    status: Activity
    session_id: str
    task_slug: str
    project: str
    parent_id: str = ""
    """The session whose agent started it; empty if a person did."""
    started_at: str = ""


class Work(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who worked on a task, and what came of it."""

    session_id: str
    role: str
    kind: AgentKind
    status: str
    started_at: str
    ended_at: str = ""
    turns: int = 0
    cost_usd: float | None = None
    summary: str = ""
    artifacts: tuple[str, ...] = ()


class Task(Struct, frozen=True, kw_only=True, rename="camel"):
    """`task.json`: what is to be done, and the record of who worked on it."""

    title: str
    slug: str
    created_at: str
    work: tuple[Work, ...] = ()


class ListedTask(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A task as clients see it."""

    task_slug: str
    title: str
    task_dir: str
    created_at: str
    work: tuple[Work, ...] = ()
    problem: str = ""
    """What is wrong with its file."""


class Role(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent that can be drafted."""

    name: str
    description: str
    permissions: tuple[str, ...]
    source: str
    model: str | UnsetType = UNSET


class RoleProblem(Struct, frozen=True, kw_only=True):
    """A file of a role that does not count, or of which something does not, and why."""

    path: str
    message: str
    hint: str = ""


class Roles(Struct, frozen=True, kw_only=True):
    """Who can be drafted, and which files do not count."""

    roles: tuple[Role, ...]
    problems: tuple[RoleProblem, ...] = ()
