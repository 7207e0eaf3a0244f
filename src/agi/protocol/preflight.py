"""A preflight's words: the steps an agent proposes before it begins, what they are estimated to cost, and the answer.

Values only. How steps are judged is policy's business, and who waits for the answer is sessions'.
May import: nothing of ours.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PreflightMode = Literal["off", "risky", "always"]
"""When a turn begins with one by itself: never, where something could be asked about, or always; loosest first."""
PREFLIGHT_MODES: tuple[PreflightMode, ...] = ("off", "risky", "always")
PreflightCause = Literal["user", "expired", "canceled", "policy"]
"""Whose answer it is: a person's, that of time, of a cancel, or of a rule."""


class PreflightStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is going to be done. Approved, it lets one call of its tool run without a question."""

    id: str
    description: str
    tool_name: str = ""
    """The tool it takes; empty if none, or none that there is."""
    target: str = ""
    """What it is about, exactly: a command, a file or an address; empty if that is not said."""
    risk: Literal["low", "medium", "high"]
    """How much harm it could do, as for a call."""
    needs_approval: bool
    """Whether such a call is asked about under the policy in force."""


class EstimatedCost(Struct, frozen=True, kw_only=True):
    """What the steps are expected to take. Money is null where the price is not known, never 0."""

    input_tokens: int
    output_tokens: int
    estimated_usd: float | None
    low_usd: float | None
    high_usd: float | None


class PendingPreflight(Struct, frozen=True, kw_only=True):
    """A checklist nobody has answered yet."""

    turn_id: str
    requested_at: str
    steps: tuple[PreflightStep, ...]
    estimated_cost: EstimatedCost
    required_permissions: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


class PreflightAnswer(Struct, frozen=True, kw_only=True):
    """How a checklist was answered."""

    approved: bool
    cause: PreflightCause
    reason: str = ""
