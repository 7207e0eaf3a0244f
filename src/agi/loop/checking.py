"""One verification command: asked about where it must be, run as a call, and its result bound to the files it ran on.

The result is an event that is not in the log yet; who asked for it says what becomes of it. May import: protocol,
policy, loop.base.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from agi.loop.base import Plan, Ports
from agi.policy.evidence import Check, is_pre_existing, new_failures
from agi.protocol.events import ApprovalDenied, ApprovalRequested, VerificationCompleted, VerificationStarted
from agi.protocol.ids import CALL
from agi.protocol.parts import Json, plain_text
from agi.protocol.tools import ToolCall, ToolResult

if TYPE_CHECKING:
    from agi.workspace.fingerprint import Tree

SHOWN = 16_000
TIMEOUT_S = 1800.0
UNCLEAR = "It failed before the first change as well; whether anything fails now that did not fail then is not known."
_NAMED = 5
_SECOND_RUN = 2048
"""Added to the number of a command that is run again, so that the two runs have different ids."""


class Asked(Struct, frozen=True, kw_only=True):
    """Which command is to be run, and as what."""

    command: str
    index: int = 1
    of: int = 1
    attempt: int = 0
    baseline: bool = False
    again: bool = False
    seconds: float = TIMEOUT_S
    before: Tree | None = None
    """The files as they are, where somebody has just looked."""


class Ran(Struct, frozen=True, kw_only=True):
    """A command that was run: how it ended, and the files before and after."""

    command: str
    how: Json
    """Its exit code, whether it was stopped, and perhaps which tests failed, as the tool tells it."""
    text: str
    before: Tree
    after: Tree
    seconds: float = 0.0
    artifacts: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int | None:
        """A command that was stopped has none that means anything."""
        code = self.how.get("exit_code")
        return code if isinstance(code, int) and not self.how.get("timed_out") else None

    @property
    def altered(self) -> tuple[str, ...]:
        """The files that were there before and changed meanwhile."""
        return self.after.altered_since(self.before)


async def run_check(plan: Plan, ports: Ports, asked: Asked) -> VerificationCompleted:
    """Run a command. If files were changed while it passed, it speaks for none of them, so it is run once more."""
    done, altered = await _run(plan, ports, asked)
    if done.status != "passed" or not altered or asked.baseline:
        return done
    await ports.journal.emit(replace(done, fingerprint="", reason=f"{changed(altered)} It is run again."))
    again, more = await _run(plan, ports, replace(asked, again=True, before=None))
    if again.status == "passed" and not set(more) <= set(altered):  # what it changes each time is its own
        return replace(again, fingerprint="", reason=changed(more))
    return again


async def _run(plan: Plan, ports: Ports, asked: Asked) -> tuple[VerificationCompleted, tuple[str, ...]]:
    """Run it once; gives the result, and the files that were there before and changed meanwhile."""
    call = _call(plan.turn_id, asked)
    refused = await _refused(plan, ports, call)
    if refused:
        return not_run(asked, refused, verification_id=call.id), ()
    before = asked.before or await ports.toolbox.tree()
    await ports.journal.emit(
        VerificationStarted(
            verification_id=call.id,
            command=asked.command,
            attempt=asked.attempt,
            index=asked.index,
            of=asked.of,
            baseline=asked.baseline,
        )
    )
    began = time.monotonic()
    result = await ports.toolbox.use(call)
    seconds = round(time.monotonic() - began, 3)
    how = outcome_of(result)
    if how is None or (asked.baseline and how.get("timed_out")):
        reason = (
            f"It took longer than {asked.seconds:g} s." if how else result.error or "It was moved to the background."
        )
        return replace(not_run(asked, reason, verification_id=call.id), seconds=seconds), ()
    ran = Ran(
        command=asked.command,
        how=how,
        text=plain_text(list(result.parts)),
        before=before,
        after=await ports.toolbox.tree(),
        seconds=seconds,
        artifacts=result.artifacts,
    )
    base = None if asked.baseline else base_of(plan, ports, asked.command)
    return _placed(judged(plan, ran, base), asked, call.id), ran.altered


def _placed(done: VerificationCompleted, asked: Asked, verification_id: str) -> VerificationCompleted:
    return replace(
        done,
        verification_id=verification_id,
        attempt=asked.attempt,
        index=asked.index,
        of=asked.of,
        baseline=asked.baseline,
        new=() if asked.baseline else done.new,
    )


def not_run(asked: Asked, reason: str, *, verification_id: str) -> VerificationCompleted:
    """The event that says why a command was not run."""
    said = VerificationCompleted(verification_id="", command=asked.command, attempt=0, status="not_run", reason=reason)
    return _placed(said, asked, verification_id)


def base_of(plan: Plan, ports: Ports, command: str) -> Check | None:
    """What the command found before the first change, where that is asked for."""
    return ports.journal.ledger().before(command) if takes_baseline(plan) else None


def takes_baseline(plan: Plan) -> bool:
    """Whether the commands are run before the first change; never where they would have to be asked about."""
    return plan.verify.auto_verify and plan.verify.baseline and not plan.verify_asks


def judged(plan: Plan, ran: Ran, base: Check | None) -> VerificationCompleted:
    """What a run amounts to: by its exit code, the tests it names, and what failed before."""
    meddled = ""
    if plan.verify.require_clean and (files := ran.altered + ran.after.added_since(ran.before)):
        meddled = f"{changed(files)} The policy requires that it leaves them alone."
    code, passed = ran.exit_code, ran.exit_code == 0 and not meddled
    failing = None if code == 0 else _failing(ran)
    old = not passed and not meddled and is_pre_existing(base, code, failing, _like(ran, failing))
    new = new_failures(base, failing)
    unclear = base is not None and not (base.passed or passed or meddled or old or new)
    return VerificationCompleted(
        verification_id="",
        command=ran.command,
        attempt=0,
        status="passed" if passed else "failed",
        exit_code=code,
        output=ran.text[-SHOWN:],
        reason=UNCLEAR if unclear else meddled,
        artifacts=ran.artifacts,
        fingerprint=ran.after.digest,
        fingerprint_before=ran.before.digest,
        failing=failing,
        new=new,
        pre_existing=old,
        seconds=ran.seconds,
    )


def _failing(ran: Ran) -> tuple[str, ...] | None:
    from agi.policy.failing import failing_tests  # late: only a failure needs it, and its patterns take time to make
    from agi.policy.stopping import may_have_stopped

    if may_have_stopped(ran.command, ran.text):
        return None
    if "failing" not in ran.how:
        return failing_tests(ran.text)
    told = ran.how["failing"]
    return tuple(str(one) for one in told) if isinstance(told, list | tuple) else None


def _like(ran: Ran, failing: tuple[str, ...] | None) -> str:
    """What the run printed, as the ledger will know it."""
    from agi.policy.likeness import likeness  # late, likewise

    return likeness(ran.command, ran.text[-SHOWN:]) if failing is None else ""


def outcome_of(result: ToolResult) -> Json | None:
    """How a command ended, for programs; None if it was not run, or runs on in the background."""
    how = result.result
    return how if how is not UNSET and "exit_code" in how and "job_id" not in how else None


def changed(files: tuple[str, ...]) -> str:
    """Name the files that changed while a command ran."""
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f"Files changed while it ran: {', '.join(files[:_NAMED])}{more}."


def _call(turn_id: str, asked: Asked) -> ToolCall:
    """The command as a call. Its id follows from its place, so that a question about it survives a restart."""
    number = asked.index + (_SECOND_RUN if asked.again else 0)
    call_id = f"{CALL}_{turn_id.partition('_')[2][:-6]}{asked.attempt % 4096:03x}{number % 4096:03x}"
    return ToolCall(call_id, "shell", Raw(msgspec.json.encode({"command": asked.command, "timeout_s": asked.seconds})))


async def _refused(plan: Plan, ports: Ports, call: ToolCall) -> str:
    """Ask where any other command would be asked about; returns why it may not run, or nothing. Denied is denied."""
    decision = ports.toolbox.judge(call)
    if decision.verdict == "deny" and (plan.verify_asks or decision.rule == "rule:deny"):
        return decision.reason
    if decision.verdict == "allow" or not plan.verify_asks:
        return ""
    request = ApprovalRequested(
        tool_call_id=call.id,
        name="verify",
        input=call.input,
        risk=decision.risk,
        rule="untrusted_verification",
        reason="The workspace is not trusted, so its verification command is asked about.",
        digest=decision.digest,
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
