"""Step seven: if the workspace changed, run the verification commands and tell what they found.

The verdict comes from exit codes in the log; the model cannot set it. May import: protocol, loop.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw

from agi.loop.base import Plan, Ports
from agi.policy.verify import may_try_again
from agi.protocol.events import ApprovalDenied, ApprovalRequested, VerificationCompleted, VerificationStarted
from agi.protocol.ids import CALL, new_id
from agi.protocol.parts import plain_text
from agi.protocol.tools import EMPTY_INPUT, ToolCall, ToolResult

SHOWN = 16_000


async def verify_changes(plan: Plan, ports: Ports) -> str:
    """Verify if it is due; returns what to tell the model about a failure it should mend, or nothing."""
    turn = ports.journal.turn()
    if not turn.changed or not plan.verify.auto_verify:
        return ""
    nothing = plan.verify_note()
    if nothing:
        await _skip(ports, nothing)
        return ""
    if not may_try_again(plan.verify, attempts=turn.attempts):
        return ""
    attempt = turn.attempts + 1
    for command in plan.verify.commands:
        done = await _run(plan, ports, command, attempt)
        if done.status == "not_run":
            return ""
        if done.status == "failed":
            return _complaint(done) if may_try_again(plan.verify, attempts=attempt) else ""
    return ""


async def _run(plan: Plan, ports: Ports, command: str, attempt: int) -> VerificationCompleted:
    call = ToolCall(new_id(CALL), "shell", Raw(msgspec.json.encode({"command": command, "timeout_s": 1800})))
    refused = await _refused(plan, ports, call)
    if refused:
        return await _skip(ports, refused, call.id, command, attempt)
    await ports.journal.emit(VerificationStarted(verification_id=call.id, command=command, attempt=attempt))
    before = await _tree(plan, ports)
    result = await ports.toolbox.use(call)
    untouched = await _tree(plan, ports) == before
    done = _verdict(call.id, command, attempt, result, untouched)
    await ports.journal.emit(done)
    return done


async def _refused(plan: Plan, ports: Ports, call: ToolCall) -> str:
    """Ask where any other command would be asked about; returns why it may not run, or nothing."""
    if not plan.verify_asks:
        return ""
    decision = ports.toolbox.judge(call)
    if decision.verdict == "allow":
        return ""
    if decision.verdict == "deny":
        return decision.reason
    request = ApprovalRequested(
        tool_call_id=call.id,
        name="verify",
        input=call.input,
        risk=decision.risk,
        rule="untrusted_verification",
        reason="The workspace is not trusted, so its verification command is asked about.",
    )
    if ports.journal.turn().on_ask == "deny":
        reason = "Nobody is there to be asked."
        denial = ApprovalDenied(tool_call_id=call.id, name="verify", cause="policy", reason=reason)
        await ports.journal.emit(request, denial)
        return "Verification needs approval and nobody is there to give it. `agi trust` lets it run by itself."
    await ports.journal.emit(request)
    answer = await ports.people.answer(call.id)
    return "" if answer.granted else f"Verification was not approved ({answer.cause})."


async def _tree(plan: Plan, ports: Ports) -> str:
    """The state of the working tree, where verification must leave it as it was."""
    if not plan.verify.require_clean:
        return ""
    result = await ports.toolbox.use(ToolCall(new_id(CALL), "git_status", EMPTY_INPUT))
    return plain_text(list(result.parts))


def _verdict(call_id: str, command: str, attempt: int, result: ToolResult, untouched: bool) -> VerificationCompleted:
    exit_code = result.result.get("exit_code") if result.result is not UNSET else None
    passed = result.ok and untouched
    return VerificationCompleted(
        verification_id=call_id,
        command=command,
        attempt=attempt,
        status="passed" if passed else "failed",
        exit_code=exit_code if isinstance(exit_code, int) else None,
        output=plain_text(list(result.parts))[-SHOWN:],
        reason=""
        if untouched
        else "The command changed files in the working tree, and the policy requires a clean run.",
        artifacts=result.artifacts,
    )


async def _skip(
    ports: Ports, reason: str, call_id: str = "", command: str = "", attempt: int = 0
) -> VerificationCompleted:
    done = VerificationCompleted(
        verification_id=call_id or new_id(CALL), command=command, attempt=attempt, status="not_run", reason=reason
    )
    await ports.journal.emit(done)
    return done


def _complaint(done: VerificationCompleted) -> str:
    code = f" with exit code {done.exit_code}" if done.exit_code is not None else ""
    extra = f"\n{done.reason}" if done.reason else ""
    return (
        f"Verification failed: `{done.command}` ended{code}.{extra}\nIts output:\n\n{done.output}\n\n"
        "Find the cause and mend it; verification runs again when you are done."
    )
