"""One turn, from the user's message to its outcome: seed 000's eight steps as a loop over the history.

Each round looks at where the conversation stands and does what comes next, so a turn that was cut off goes on from its
last event. May import: errors, protocol, policy, models.base, loop.
"""

from __future__ import annotations

import time

from agi.errors import AgiError, StorageError
from agi.loop.base import Outcome, Plan, Ports
from agi.loop.calling import answer_calls
from agi.loop.history import attached, calls_of, normalise, unanswered
from agi.loop.patience import ask_patiently
from agi.loop.verifying import verify_changes
from agi.models.base import ModelRequest
from agi.policy.budget import exceeded
from agi.protocol.events import MessageAdded
from agi.protocol.ids import MESSAGE, PART, new_id
from agi.protocol.messages import Message, StopReason
from agi.protocol.parts import Text
from agi.protocol.sessions import ErrorInfo
from agi.protocol.times import to_rfc3339


async def run_turn(plan: Plan, ports: Ports) -> Outcome:
    """Answer the turn's message. Canceling the task stops it; whoever canceled closes what is open."""
    history = list(plan.history)
    began = time.monotonic()
    try:
        while True:
            # What somebody says meanwhile, without asking for an answer, does not change what this turn has to do.
            own = [message for message in history if message.turn_id == plan.turn_id]
            calls = unanswered(own)
            if calls:
                history += await answer_calls(plan, ports, calls)
                continue
            if own and _is_final(own[-1]):
                complaint = await verify_changes(plan, ports)
                if not complaint:
                    return Outcome(stop_reason=own[-1].stop_reason or "end_turn")
                history.append(await _tell(plan, ports, complaint))
            limit = _limit(plan, ports, time.monotonic() - began - ports.people.waited)
            if limit:
                return Outcome(stop_reason=limit)
            history.append(await ask_patiently(plan, ports.journal, _request(plan, ports, history)))
            if calls_of(history[-1]):
                continue
            if not _is_final(history[-1]):  # nothing said and nothing asked for: there is nothing to go on with
                return Outcome(stop_reason=history[-1].stop_reason or "end_turn")
    except StorageError:
        raise  # nothing can be said about the turn any more; it stays as the log has it
    except AgiError as error:
        return Outcome(stop_reason="error", error=ErrorInfo(code=error.code, message=error.message, hint=error.hint))


def _is_final(last: Message) -> bool:
    """The model has spoken and asks for nothing more."""
    spoke = last.role == "assistant" and last.status == "complete"
    return spoke and bool(last.parts) and not calls_of(last)


def _request(plan: Plan, ports: Ports, history: list[Message]) -> ModelRequest:
    messages = normalise(history)
    held = {ref: data for ref in attached(messages) if (data := plan.files(ref)) is not None}
    return ModelRequest(
        system=plan.system, messages=messages, tools=ports.toolbox.definitions(), options=plan.options, files=held
    )


def _limit(plan: Plan, ports: Ports, seconds: float) -> StopReason | None:
    """Why not one more request may leave; None if it may."""
    turn = ports.journal.turn()
    if turn.steps >= plan.max_steps:
        return "max_steps"
    spent = exceeded(plan.turn_budget, turn.usage, turn.steps, seconds)
    used = ports.journal.session_usage()
    spent = spent or exceeded(plan.session_budget, used, used.requests, plan.session_seconds + seconds)
    return "budget_exhausted" if spent else None


async def _tell(plan: Plan, ports: Ports, text: str) -> Message:
    """Say something to the model in the harness's own name."""
    message = Message(
        id=new_id(MESSAGE),
        role="user",
        parts=(Text(text=text, id=new_id(PART)),),
        created_at=to_rfc3339(time.time()),
        session_id=plan.session_id,
        turn_id=plan.turn_id,
        status="complete",
        origin="verification",
    )
    await ports.journal.emit(MessageAdded(message=message, run=False))
    return message
