"""Approval rules: given a tool call, answer allow, ask or deny.

Pure functions over values; deny beats ask beats allow. Waiting for the user's answer is sessions' business, and keeping
a command from doing harm is the sandbox's. May import: errors, protocol.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from agi.policy.risk import risk_of
from agi.protocol.policies import ApprovalPolicy
from agi.protocol.sessions import Risk
from agi.protocol.tools import ToolCall, ToolDefinition

__all__ = ["ApprovalPolicy", "Decision", "Verdict", "is_listed", "judge"]

Verdict = Literal["allow", "ask", "deny"]


class Decision(Struct, frozen=True, kw_only=True):
    """What is to become of a call."""

    verdict: Verdict
    """Run it, ask a person, or answer that it may not run."""
    rule: str
    """Which rule decided, for programs and logs."""
    reason: str
    """Why, for people and for the model."""
    risk: Risk
    """How much harm it could do."""


def judge(
    policy: ApprovalPolicy,
    definition: ToolDefinition,
    call: ToolCall,
    *,
    allowed_tools: Collection[str] | None,
    granted: Collection[str],
) -> Decision:
    """Decide a call. `allowed_tools` is the agent's list (None: all), `granted` the tools allowed for this session."""
    risk = risk_of(definition, call)
    if not is_listed(definition, allowed_tools):
        reason = f"{definition.name} is not among this agent's tools."
        return Decision(verdict="deny", rule="agent_tools", reason=reason, risk=risk)
    rule, reason = _why_ask(policy, definition)
    if not rule:
        return Decision(verdict="allow", rule="not_required", reason="No rule asks for approval.", risk=risk)
    if not is_listed(definition, granted):
        return Decision(verdict="ask", rule=rule, reason=reason, risk=risk)
    if risk == "high":
        reason = "It could destroy something that cannot be brought back, so it is asked about each time."
        return Decision(verdict="ask", rule="destructive", reason=reason, risk=risk)
    reason = f"{definition.name} was approved for this session."
    return Decision(verdict="allow", rule="session_grant", reason=reason, risk=risk)


def is_listed(definition: ToolDefinition, names: Collection[str] | None) -> bool:
    """Tell whether a tool is named in a list by its name or an alias; None lists every tool."""
    return names is None or any(name in names for name in (definition.name, *definition.aliases))


def _why_ask(policy: ApprovalPolicy, definition: ToolDefinition) -> tuple[str, str]:
    """Give the rule that asks, the most particular first, and its words; two empty texts if none does."""
    if definition.requires_approval:
        return "tool_requires_approval", f"{definition.name} always asks for approval."
    if is_listed(definition, policy.require_for_tools):
        return f"tool:{definition.name}", f"Calls of {definition.name} need approval."
    if definition.kind in policy.require_for_kinds:
        return f"kind:{definition.kind.value}", f"Tools of kind {definition.kind.value} need approval."
    return "", ""
