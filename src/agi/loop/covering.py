"""The calls of one answer against the plan that was approved: each step lets one of them run, and each only once.

Which step a call runs by is told when it is started, so that the log alone says what is left. May import: protocol,
policy, loop.base.
"""

from __future__ import annotations

from typing import NamedTuple

from agi.loop.base import Ports
from agi.policy.approval import Decision
from agi.protocol.tools import ToolCall


class Judged(NamedTuple):
    """What is to become of a call, and the step it runs by, if it does so by one."""

    decision: Decision
    step: str = ""


class Judge:
    """Judges the calls of one answer in their order."""

    def __init__(self, ports: Ports) -> None:
        turn = ports.journal.turn()
        self._toolbox = ports.toolbox
        self._steps = turn.approved_steps
        self._used = dict(turn.used_steps)
        self._asked = {*turn.answers, *(pending.tool_call_id for pending in turn.pending)}

    def judge(self, call: ToolCall) -> Judged:
        """Allow, ask or deny; what was asked about already waits for its answer, whatever was approved."""
        decision = self._toolbox.judge(call)
        if decision.verdict != "ask" or call.id in self._asked:
            return Judged(decision)
        free = [step for step in self._steps if self._used.get(step.id, call.id) == call.id]
        step = self._toolbox.covering(call, decision, free) if free else None
        if step is None:
            return Judged(decision)
        from agi.policy.preflight import allowed_by  # late: few turns have a plan

        self._used[step.id] = call.id
        return Judged(allowed_by(step, decision), step.id)
