"""A decision with everything it was made from: each command as it was read, and why it came out as it did.

Runs nothing. May import: protocol, policy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agi.policy.approval import judge
from agi.policy.bash.seen import Part
from agi.policy.bash.values import UNKNOWN
from agi.policy.covering import problem_of
from agi.policy.ground import Ground
from agi.policy.rules import about, problem_in
from agi.policy.subjects import subject_of
from agi.protocol.explanations import Explanation, SeenCommand
from agi.protocol.grants import Grant
from agi.protocol.policies import ApprovalPolicy
from agi.protocol.showing import exact_lines
from agi.protocol.tools import ToolCall, ToolDefinition


def explain(
    policy: ApprovalPolicy,
    definition: ToolDefinition,
    call: ToolCall,
    *,
    allowed_tools: Collection[str] | None,
    granted: Sequence[Grant],
    ground: Ground,
) -> Explanation:
    """Judge a call and tell how."""
    decision = judge(policy, definition, call, allowed_tools=allowed_tools, granted=granted, ground=ground)
    subject = subject_of(definition, call, ground)
    seen = subject.seen
    asked = subject.text if subject.text is not None else bytes(call.input).decode(errors="replace")
    return Explanation(
        tool=definition.name,
        input="\n".join(exact_lines(asked)),
        verdict=decision.verdict,
        rule=decision.rule,
        reason=decision.reason,
        risk=decision.risk,
        by=decision.by,
        commands=tuple(map(_told, seen.parts)) if seen else (),
        unreadable=(seen.unreadable if seen else "") or subject.unclear,
        unsure=tuple(dict.fromkeys(seen.unsure)) if seen else (),
        remember=decision.remember,
        idle=tuple(problem for rule in about(policy.rules, definition) if (problem := problem_in(rule))),
    )


def _told(part: Part) -> SeenCommand:
    command = part.command
    return SeenCommand(
        words=tuple(_shown(word) for word in part.words),
        via=part.via,
        guessed=part.guessed,
        overwrites=tuple(map(_shown, command.overwrites)) if command else (),
        appends=tuple(map(_shown, command.appends)) if command else (),
        reads=tuple(map(_shown, command.reads)) if command else (),
        note=problem_of(command) if command else "",
    )


def _shown(word: str) -> str:
    return word.replace(UNKNOWN, "…")
