"""Proposed steps become a checklist: each judged by the policy in force, with what it takes and what to know before.

The proposal is a model's text and nothing more: a tool that does not exist is no tool, and what is not said binds
nothing. May import: protocol, policy, loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Struct

from agi.loop.base import Plan, Ports, Toolbox
from agi.loop.estimating import estimate
from agi.policy.preflight import asks_again, example_call
from agi.policy.review import waits_for_a_person
from agi.protocol.events import PreflightRequested
from agi.protocol.ids import CALL, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.policies import Budget, PatchReviewPolicy
from agi.protocol.preflight import EstimatedCost, PreflightStep
from agi.protocol.showing import exact
from agi.protocol.tools import EMPTY_INPUT, ToolCall, ToolKind

PERMISSIONS = {
    ToolKind.READ: "read files",
    ToolKind.WRITE: "write files",
    ToolKind.EXEC: "run commands",
    ToolKind.NET: "reach the network",
}
LONGEST = 2_000
"""Characters of a description."""
LONGEST_TARGET = 10_000
_NAMED = 5


class Proposed(Struct, frozen=True, rename="camel"):
    """A step as somebody wrote it: the model, or a person who changed it."""

    description: str
    tool_name: str = ""
    target: str = ""


class Judged(Struct, frozen=True):
    """A step with what the policy says of it."""

    step: PreflightStep
    kind: ToolKind | None = None
    warning: str = ""


def judged_step(toolbox: Toolbox, review: PatchReviewPolicy, proposed: Proposed, step_id: str) -> Judged:
    """Judge a step as its call would be; a tool that does not exist is left out of it, with a warning."""
    description, target = proposed.description.strip()[:LONGEST], proposed.target.strip()[:LONGEST_TARGET]
    definition = toolbox.find(proposed.tool_name) if proposed.tool_name else None
    if definition is None:
        step = PreflightStep(id=step_id, description=description, risk="low", needs_approval=False)
        unknown = f"{step_id} names a tool that does not exist: {exact(proposed.tool_name[:80])}."
        return Judged(step, warning=unknown if proposed.tool_name else "")
    decision = toolbox.judge(example_call(definition, target))
    reviewed = waits_for_a_person(review, definition)
    step = PreflightStep(
        id=step_id,
        description=description,
        tool_name=definition.name,
        target=target,
        risk=decision.risk,
        needs_approval=decision.verdict == "ask" or (reviewed and decision.verdict == "allow"),
    )
    again = "changes files, which are reviewed" if reviewed else asks_again(step, definition)
    warning = ""
    if decision.verdict == "deny":
        warning = f"{step_id} will be refused: {decision.reason}"
    elif step.needs_approval and again:
        warning = f"{step_id} {again}, so it is asked about again when it comes."
    return Judged(step, definition.kind, warning)


async def make_checklist(
    plan: Plan, ports: Ports, proposed: Sequence[Proposed], problem: str, history: Sequence[Message], asked: Usage
) -> PreflightRequested:
    """Put together all that a person should see; `problem` says why there are no steps, if there are none."""
    judged = [
        judged_step(ports.toolbox, plan.review, one, f"step_{place}") for place, one in enumerate(proposed, start=1)
    ]
    steps = tuple(one.step for one in judged)
    kinds = {one.kind for one in judged}
    cost = estimate(plan, history, steps, asked)
    warnings = [
        *([problem] if problem else []),
        *(one.warning for one in judged if one.warning),
        *await _surroundings(plan, ports, steps),
        *_about_money(plan, ports, cost, len(steps)),
    ]
    return PreflightRequested(
        steps=steps,
        estimated_cost=cost,
        required_permissions=tuple(words for kind, words in PERMISSIONS.items() if kind in kinds),
        warnings=tuple(warnings),
        digest=digest_of(plan.turn_id, steps),
    )


def digest_of(turn_id: str, steps: Sequence[PreflightStep]) -> str:
    """A hash of the steps, by which an answer can say what it is about."""
    return "sha256:" + hashlib.sha256(msgspec.json.encode([turn_id, *steps])).hexdigest()


async def _surroundings(plan: Plan, ports: Ports, steps: Sequence[PreflightStep]) -> list[str]:
    """What of the workspace a person should know."""
    found = [await _dirty(ports), *(plan.surroundings() if plan.surroundings is not None else ())]
    if plan.verify.auto_verify and not (checks := ports.toolbox.checks()).commands:
        found.append(f"Changes will not be verified. {checks.note}")
    elif not plan.verify.auto_verify:
        found.append("Changes will not be verified: verify.autoVerify is off.")
    return [one for one in found if one]


async def _dirty(ports: Ports) -> str:
    """Changes that are not committed can get mixed up with the agent's."""
    found = await ports.toolbox.use(ToolCall(new_id(CALL), "git_status", EMPTY_INPUT))
    files = found.result.get("files") if found.ok and found.result is not UNSET else None
    dirty = [one["path"] for one in files if not one["path"].startswith(".agi/")] if isinstance(files, list) else []
    if not dirty:
        return ""
    more = f" and {len(dirty) - _NAMED} more" if len(dirty) > _NAMED else ""
    return f"The working tree has uncommitted changes: {', '.join(map(exact, dirty[:_NAMED]))}{more}."


def _about_money(plan: Plan, ports: Ports, cost: EstimatedCost, steps: int) -> list[str]:
    turn, session = ports.journal.turn(), ports.journal.session_usage()
    found = []
    if cost.estimated_usd is None:
        found.append(f"What {plan.model.provider}/{plan.model.name} costs is not known.")
    for name, budget, used, calls in (
        ("turn", plan.turn_budget, turn.usage, turn.steps),
        ("session", plan.session_budget, session, session.requests),
    ):
        short = _short(budget, used, calls, cost, steps)
        if short:
            found.append(f"The budget of the {name} is likely too small: {short}.")
    return found


def _short(budget: Budget, used: Usage, calls: int, cost: EstimatedCost, steps: int) -> str:
    """What of a budget the plan is expected to use up; empty if it fits."""
    spent = used.cost_usd or 0.0
    if budget.usd is not None and cost.estimated_usd is not None and spent + cost.estimated_usd > budget.usd:
        return f"${cost.estimated_usd:.4f} is expected, and ${max(0.0, budget.usd - spent):.4f} is left"
    tokens, sum_used = cost.input_tokens + cost.output_tokens, used.input_tokens + used.output_tokens
    if budget.tokens is not None and sum_used + tokens > budget.tokens:
        return f"{tokens} tokens are expected, and {max(0, budget.tokens - sum_used)} are left"
    if budget.steps is not None and calls + steps + 1 > budget.steps:
        return f"{steps + 1} model calls are expected, and {max(0, budget.steps - calls)} are left"
    return ""
