"""All sessions at a glance, what waits for a person in any of them, and what they used: as clients see it.

Values only. May import: protocol.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from agi.protocol.messages import Usage
from agi.protocol.preflight import PendingPreflight
from agi.protocol.resources import ResourceTag
from agi.protocol.sessions import Activity, PendingApproval, SessionStatus

RowKind = Literal["session", "draft", "worker"]


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session in a list of all: how it stands, without what was said in it."""

    id: str
    title: str | None
    agent: str
    provider: str | None
    model: str | None
    """Who answered last, or would answer."""
    project_path: str
    workspace_path: str
    created_at: str
    updated_at: str
    status: SessionStatus
    activity: Activity
    last_seq: int
    epoch: int
    last_turn_id: str | None
    running_turn_id: str | None
    turn_started_at: str | None
    retry_at: str | None
    """While it backs off: when the provider is asked again."""
    queued: int
    waiting: int
    """Questions of its own that wait for a person."""
    waiting_below: int
    """Those of its workers, however deep."""
    jobs: int
    usage: Usage
    context_tokens: int
    """How much the model was told and said last; 0 is unknown."""
    context_window: int | None
    context_percent: float | None
    kind: RowKind
    role: str
    task_slug: str
    is_open: bool
    """Whether a draft or worker is alive."""
    parent_id: str
    root_id: str
    forked_from: str
    resource: ResourceTag | None


class Snapshot(Struct, frozen=True, kw_only=True):
    """`snapshot`: forget what you had. The sessions touched last, the latest first, and how many there are in all."""

    sessions: list[SessionRow]
    total: int


class Removed(Struct, frozen=True):
    """`removed`: a session is gone for good."""

    id: str


class InboxItem(Struct, frozen=True, kw_only=True):
    """A question that waits for a person, and who asks."""

    id: str
    kind: Literal["approval", "patch_review", "preflight"]
    session_id: str
    """Whose question it is, and where it is answered."""
    root_id: str
    """The session at the top of those it works for; its own where it works for nobody."""
    title: str | None
    """That one's title."""
    role: str
    path: tuple[str, ...]
    """The roles from the root's worker down to the one that asks."""
    agent: str
    project_path: str
    workspace_path: str
    asked_at: str
    turn_id: str
    approval: PendingApproval | None = None
    preflight: PendingPreflight | None = None
    html: str | UnsetType = UNSET
    """The change that is asked about, rendered, if that was wanted and there is one."""


class Inbox(Struct, frozen=True, kw_only=True):
    """Everything that waits for a person, the oldest first."""

    items: list[InboxItem]
    total: int


class UsageSum(Struct, frozen=True, kw_only=True):
    """What some model calls used. Money is null where the price of any of them is not known, never 0."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    priced_usd: float = 0.0
    """The part of it that is known."""
    unpriced: int = 0
    """How many of the requests have no known price."""


class DayUsage(UsageSum, frozen=True, kw_only=True):
    """What was used on one day."""

    day: str


class ModelUsage(UsageSum, frozen=True, kw_only=True):
    """What one model was used for."""

    provider: str
    model: str


class SessionUsage(UsageSum, frozen=True, kw_only=True):
    """What one session used."""

    session_id: str
    title: str | None


class UsageReport(Struct, frozen=True, kw_only=True):
    """What the sessions that are there used in a time: by day, by model, and by session, the most first."""

    since: str
    until: str
    total: UsageSum
    days: list[DayUsage]
    models: list[ModelUsage]
    sessions: list[SessionUsage]
