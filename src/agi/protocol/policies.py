"""What a user allows, as values: approvals, verification, patch review, budgets, step limits.

Only the values and their defaults, so that settings files can be turned into them; the rules that apply them live in
the room `policy`. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.protocol.tools import ToolKind

ReviewMode = Literal["off", "request", "auto"]
ReviewVerdict = Literal["accept", "reject", "ask"]
"""What a reviewing agent says of a change: it may be made, it may not, or a person should decide."""
Verdict = Literal["allow", "ask", "deny"]
TitleMode = Literal["first-message", "model"]

STEP_LIMITS: Mapping[str, int] = MappingProxyType({"general": 10, "build": 100, "plan": 50})
"""How many model calls one turn of a built-in agent may make."""
OTHER_STEP_LIMIT = 50
"""The same for agents a project adds."""


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What becomes of certain calls of a tool; of several rules, deny beats ask beats allow. All it says must hold."""

    tool: Annotated[str, Meta(min_length=1, max_length=200)]
    """Its name or an alias."""
    verdict: Verdict
    """Run it, ask a person, or refuse it."""
    command: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    """The first words of a command, such as `git status`; the last may end in `*`."""
    exactly: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None
    """The whole command, character by character."""
    path: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    """Which files, as a pattern from the workspace's root, such as `docs/**`."""


class ApprovalPolicy(Struct, frozen=True, kw_only=True):
    """Which calls a person is asked about before they run."""

    require_for_kinds: tuple[ToolKind, ...] = (ToolKind.WRITE, ToolKind.EXEC, ToolKind.NET)
    """Tools of these kinds ask."""
    require_for_tools: tuple[str, ...] = ()
    """These tools ask too, whatever their kind; aliases count."""
    rules: tuple[Rule, ...] = ()
    """What is allowed, asked about or denied in particular."""
    allow_in_sandbox: bool = False
    """Commands that destroy nothing run unasked where a sandbox without network holds them."""


class VerifyPolicy(Struct, frozen=True, kw_only=True):
    """How a change of the workspace is checked before a turn may end."""

    auto_verify: bool = True
    """Run the commands by themselves after a turn that changed files."""
    commands: tuple[str, ...] = ("make test",)
    """What is run, one after the other, until one fails."""
    require_clean: bool = False
    """A turn begins only where git has nothing uncommitted, and a command passes only if it leaves the files alone."""
    max_attempts: int = 3
    """How often a failing verification sends the agent back to work."""
    baseline: bool = True
    """Run the commands before the first change too, to know what fails already."""
    baseline_seconds: float = 120.0
    """How long that may take, all commands together."""


class PatchReviewPolicy(Struct, frozen=True, kw_only=True):
    """Whether a change of files is looked at before it is made."""

    mode: ReviewMode = "off"
    """`off`: made at once; `auto`: a reviewing agent judges it first; `request`: a person does."""
    model: str | None = None
    """Who reviews, as `provider/model`; the turn's own model if nobody is named."""


class TitlePolicy(Struct, frozen=True, kw_only=True):
    """How a session gets a title that nobody gave it."""

    mode: TitleMode = "first-message"
    """`first-message`: its first words; `model`: a model is asked after the first turn, which costs a little."""
    model: str | None = None
    """Who is asked, as `provider/model`; the turn's own model if nobody is named."""


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a turn or a session may use up; None is no limit."""

    usd: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    """Money, as far as the price is known."""
    tokens: Annotated[int, Meta(ge=0, le=10**12)] | None = None
    """Tokens in and out."""
    steps: Annotated[int, Meta(ge=0, le=10**12)] | None = None
    """Model calls."""
    seconds: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    """Time spent working; waiting for a person does not count."""


class Budgets(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Limits of one session's own; those that are absent are the configured ones."""

    per_turn: Budget | None = None
    """What one turn may use up."""
    per_session: Budget | None = None
    """What all turns together may use up."""


def step_limit(agent: str) -> int:
    """Tell how many model calls a turn of this agent may make unless something else is configured."""
    return STEP_LIMITS.get(agent, OTHER_STEP_LIMIT)
