"""Approval rules: given a tool call, answer allow, ask or deny.

Pure functions over values; deny beats ask beats allow. Waiting for the user's answer is sessions' business, and keeping
a command from doing harm is the sandbox's. May import: errors, protocol, policy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import UNSET, Struct

from agi.policy.ground import Ground
from agi.protocol.events import ApprovalRequested
from agi.protocol.grants import Grant, Remember
from agi.protocol.policies import ApprovalPolicy, Rule, Verdict
from agi.protocol.sessions import Risk
from agi.protocol.showing import exact_lines, hides_something
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind

__all__ = ["ApprovalPolicy", "Decision", "Ground", "Verdict", "digest_of", "is_listed", "judge", "request_for"]

NOWHERE = Ground()
"""A place nothing is known of."""


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
    by: tuple[Rule, ...] = ()
    """The rules of a file or of an earlier answer that decided."""
    digest: str = ""
    """A hash of what was judged: an answer counts for nothing else."""
    remember: Remember | None = None
    """What an answer to the question could be remembered as."""


def judge(
    policy: ApprovalPolicy,
    definition: ToolDefinition,
    call: ToolCall,
    *,
    allowed_tools: Collection[str] | None,
    granted: Sequence[Grant] = (),
    ground: Ground = NOWHERE,
) -> Decision:
    """Decide a call. `allowed_tools` is the agent's list (None: all), `granted` what earlier answers allow."""
    reads = definition.kind is ToolKind.READ
    if not is_listed(definition, allowed_tools):
        reason = f"{definition.name} is not among this agent's tools."
        return Decision(verdict="deny", rule="agent_tools", reason=reason, risk="low" if reads else "medium")
    asks = _why_ask(policy, definition)
    if reads and not asks[0] and not any(is_listed(definition, (rule.tool,)) for rule in policy.rules):
        return Decision(verdict="allow", rule="not_required", reason="No rule asks for approval.", risk="low")
    from agi.policy.deciding import decide  # late: who only reads needs no reader of commands

    return decide(policy, definition, call, asks=asks, granted=granted, ground=ground)


def is_listed(definition: ToolDefinition, names: Collection[str] | None) -> bool:
    """Tell whether a tool is named in a list by its name or an alias; None lists every tool."""
    return names is None or any(name in names for name in (definition.name, *definition.aliases))


def digest_of(definition: ToolDefinition, call: ToolCall, ground: Ground = NOWHERE) -> str:
    """A hash of a call's tool and arguments, in whatever order they stand, and of what would hold it in."""
    import hashlib  # late: only what is asked about needs it

    try:
        given: object = msgspec.json.decode(call.input)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        given = bytes(call.input).hex()
    network = ground.network or not ground.boundary
    told: dict[str, object] = {"tool": definition.name, "input": given, "boundary": ground.boundary, "network": network}
    if ground.runs:
        told["runs"] = ground.runs
    return "sha256:" + hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()


def request_for(call: ToolCall, decision: Decision, preview: str = "") -> ApprovalRequested:
    """The question to a person, with all that is needed to answer it."""
    text = _text(call)
    return ApprovalRequested(
        tool_call_id=call.id,
        name=call.name,
        input=call.input,
        risk=decision.risk,
        rule=decision.rule,
        reason=decision.reason,
        preview=preview,
        digest=decision.digest,
        shown="\n".join(exact_lines(text)) if hides_something(text) else "",
        remember=UNSET if decision.remember is None else decision.remember,
    )


def _text(call: ToolCall) -> str:
    """A call's arguments as text, one an entry."""
    try:
        given = msgspec.json.decode(call.input, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return bytes(call.input).decode(errors="replace")
    return "\n".join(
        f"{key}: {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for key, value in given.items()
    )


def _why_ask(policy: ApprovalPolicy, definition: ToolDefinition) -> tuple[str, str]:
    """Give the rule that asks, the most particular first, and its words; two empty texts if none does."""
    if definition.requires_approval:
        return "tool_requires_approval", f"{definition.name} always asks for approval."
    if is_listed(definition, policy.require_for_tools):
        return f"tool:{definition.name}", f"Calls of {definition.name} need approval."
    if definition.kind in policy.require_for_kinds:
        return f"kind:{definition.kind.value}", f"Tools of kind {definition.kind.value} need approval."
    return "", ""
