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
        skipped = VerificationCompleted(
            verification_id=new_id(CALL), command="", attempt=0, status="not_run", reason=nothing
        )
        await ports.journal.emit(skipped)
        return ""
    if not turn.verified and not may_try_again(plan.verify, attempts=turn.attempts):
        return ""
    attempt = turn.attempts if turn.verified else turn.attempts + 1
    for index in range(turn.verified + 1, len(plan.verify.commands) + 1):
        done = await _run(plan, ports, attempt, index)
        complaint = _complaint(done) if done.status == "failed" and may_try_again(plan.verify, attempts=attempt) else ""
        if complaint:
            ports.journal.defer(done)  # logged together with what the model is told of it
        else:
            await ports.journal.emit(done)
        if done.status != "passed":
            return complaint
    return ""


async def _run(plan: Plan, ports: Ports, attempt: int, index: int) -> VerificationCompleted:
    command, of = plan.verify.commands[index - 1], len(plan.verify.commands)
    call = _call(plan.turn_id, attempt, index, command)
    refused = await _refused(plan, ports, call)
    if refused:
        return VerificationCompleted(
            verification_id=call.id,
            command=command,
            attempt=attempt,
            index=index,
            of=of,
            status="not_run",
            reason=refused,
        )
    await ports.journal.emit(
        VerificationStarted(verification_id=call.id, command=command, attempt=attempt, index=index, of=of)
    )
    before = await _tree(plan, ports)
    result = await ports.toolbox.use(call)
    untouched = await _tree(plan, ports) == before
    return msgspec.structs.replace(_verdict(call.id, command, attempt, result, untouched), index=index, of=of)


def _call(turn_id: str, attempt: int, index: int, command: str) -> ToolCall:
    """The command as a call. Its id follows from its place, so that a question about it survives a restart."""
    call_id = f"{CALL}_{turn_id.partition('_')[2][:-6]}{attempt % 4096:03x}{index % 4096:03x}"
    return ToolCall(call_id, "shell", Raw(msgspec.json.encode({"command": command, "timeout_s": 1800})))


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
    turn = ports.journal.turn()
    if call.id in turn.answers or any(pending.tool_call_id == call.id for pending in turn.pending):
        return await _answer(ports, call)
    if turn.on_ask == "deny":
        reason = "Nobody is there to be asked."
        denial = ApprovalDenied(tool_call_id=call.id, name="verify", cause="policy", reason=reason)
        await ports.journal.emit(request, denial)
        return "Verification needs approval and nobody is there to give it. `agi trust` lets it run by itself."
    await ports.journal.emit(request)
    return await _answer(ports, call)


async def _answer(ports: Ports, call: ToolCall) -> str:
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


def _complaint(done: VerificationCompleted) -> str:
    code = f" with exit code {done.exit_code}" if done.exit_code is not None else ""
    extra = f"\n{done.reason}" if done.reason else ""
    return (
        f"Verification failed: `{done.command}` ended{code}.{extra}\nIts output:\n\n{done.output}\n\n"
        "Find the cause and mend it; verification runs again when you are done."
    )
