"""The calls of one step: gate each by policy, ask where it must be asked, run what may run, answer all.

Reads run side by side; whatever has an effect runs alone and in order. May import: protocol, policy, loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from agi.loop.base import Plan, Ports
from agi.loop.covering import Judge
from agi.loop.proposing import Gated, put_forward
from agi.policy.review import is_proposed, waits_for_a_person
from agi.protocol.events import ToolCallCompleted, ToolCallStarted
from agi.protocol.ids import MESSAGE, new_id
from agi.protocol.messages import Message
from agi.protocol.parts import ToolResultContent, ToolResultPart
from agi.protocol.times import to_rfc3339
from agi.protocol.tools import ToolCall, ToolKind, ToolResult, failed

CUT = (
    "Your answer reached the limit of its length in the middle of the arguments of {}. Nothing was run; make the call "
    "again with less in it, such as a file in several pieces."
)


async def answer_calls(
    plan: Plan, ports: Ports, calls: Sequence[ToolCall], *, worked: float = 0.0, cut: bool = False
) -> list[Message]:
    """Give every call its result; returns the tool messages in the calls' order.

    `worked`: seconds the turn has taken; `cut`: the answer was cut off by the limit of its length.
    """
    judge = Judge(ports)
    gated = await put_forward(plan, ports, [_gate(plan, ports, judge, call, cut) for call in calls], worked)
    results: list[Message] = []
    for batch in _batches(gated):
        results += await _run_batch(plan, ports, batch)
    return results


def _gate(plan: Plan, ports: Ports, judge: Judge, call: ToolCall, cut: bool) -> Gated:
    definition = ports.toolbox.find(call.name)
    decision, step = judge.judge(call)
    if definition is None:
        names = ", ".join(tool.name for tool in ports.toolbox.definitions())
        return Gated(call, ToolKind.READ, decision, f"There is no tool named {call.name!r}. Your tools: {names}.")
    problem = _input_problem(call)
    if problem:
        return Gated(call, definition.kind, decision, CUT.format(call.name) if cut else problem)
    if decision.verdict == "deny":
        return Gated(call, definition.kind, decision, decision.reason)
    if decision.verdict == "allow" and waits_for_a_person(plan.review, definition):
        decision = msgspec.structs.replace(decision, verdict="ask", rule="patch_review", reason="Patches are reviewed.")
    return Gated(call, definition.kind, decision, proposed=is_proposed(plan.review, definition), step=step)


def _input_problem(call: ToolCall) -> str:
    """Tell what is wrong with a call's arguments before anything is asked or run; empty if nothing is."""
    try:
        value = msgspec.json.decode(call.input)
    except msgspec.DecodeError as error:
        from agi.explain import where  # late: only a malformed call needs it

        found = where(bytes(call.input), error)
        return f"The arguments of {call.name} are not valid JSON: {found}. Nothing was run."
    except RecursionError:
        return f"The arguments of {call.name} are nested too deeply. Nothing was run."
    if not isinstance(value, dict):
        return f"The arguments of {call.name} must be one JSON object. Nothing was run; write the call again."
    return ""


def _batches(gated: Sequence[Gated]) -> list[list[Gated]]:
    """Neighbouring reads that nobody needs to be asked about go together; everything else goes alone."""
    batches: list[list[Gated]] = []
    together = False
    for one in gated:
        free = one.kind == ToolKind.READ and one.decision.verdict == "allow" and not one.refusal
        if free and together:
            batches[-1].append(one)
        else:
            batches.append([one])
        together = free
    return batches


async def _run_batch(plan: Plan, ports: Ports, batch: Sequence[Gated]) -> list[Message]:
    refusals = [await _refusal(ports, one) for one in batch]
    running = [one for one, refusal in zip(batch, refusals, strict=True) if not refusal]
    if len(batch) == 1 and refusals[0]:
        return [await _close(plan, ports, batch[0], failed(batch[0].call, refusals[0]), blocked=True)]
    begun = ports.journal.turn().open_calls
    fresh = [
        ToolCallStarted(tool_call=one.call, kind=one.kind, preflight_step=one.step or UNSET)
        for one in running
        if one.call.id not in begun
    ]
    await ports.journal.emit(*fresh)
    if len(running) == 1:
        return [await _run(plan, ports, running[0])]
    return await _together([asyncio.create_task(_run(plan, ports, one)) for one in running])


async def _together(tasks: list[asyncio.Task[Message]]) -> list[Message]:
    """Wait for all; if one fails or the turn is canceled, the others are stopped before that is told."""
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _refusal(ports: Ports, one: Gated) -> str:
    """Wait for a person where one must be asked; empty if the call may run."""
    if one.refusal or one.decision.verdict != "ask":
        return one.refusal
    answer = await ports.people.answer(one.call.id)
    if answer.granted:
        return ""
    why = {
        "user": "The user refused this call, so it was not run.",
        "expired": "Nobody answered the request for approval in time, so this call was not run.",
        "policy": "This call needs approval and nobody is there to give it, so it was not run.",
    }.get(answer.cause, "This call was not approved, so it was not run.")
    return f"{why} The reason given: {answer.reason}" if answer.reason and answer.cause == "user" else why


async def _run(plan: Plan, ports: Ports, one: Gated) -> Message:
    began = time.monotonic()
    result = await ports.toolbox.use(one.call)
    return await _close(plan, ports, one, result, duration_ms=int((time.monotonic() - began) * 1000))


async def _close(
    plan: Plan, ports: Ports, one: Gated, result: ToolResult, *, blocked: bool = False, duration_ms: int = 0
) -> Message:
    message_id = new_id(MESSAGE)
    await ports.journal.emit(
        ToolCallCompleted(
            tool_call_id=one.call.id,
            name=one.call.name,
            tool_result=result,
            message_id=message_id,
            duration_ms=duration_ms,
            blocked=blocked,
        )
    )
    return tool_message(plan, one.call, result, message_id)


def tool_message(plan: Plan, call: ToolCall, result: ToolResult, message_id: str) -> Message:
    """The message the model is shown for a result."""
    content = ToolResultContent(
        id=call.id, name=call.name, ok=result.ok, parts=result.parts, result=result.result, error=result.error
    )
    return Message(
        id=message_id,
        role="tool",
        parts=(ToolResultPart(content=content),),
        created_at=to_rfc3339(time.time()),
        turn_id=plan.turn_id,
        status="complete" if result.ok else "error",
    )
