"""Step seven: if the workspace changed, run the verification commands and tell what they found.

The verdict comes from exit codes in the log and from the files as they are; the model cannot set it. May import:
errors, protocol, policy, loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from agi.errors import Conflict
from agi.loop.base import Plan, Ports
from agi.loop.checking import UNCLEAR, Asked, run_check
from agi.loop.watching import Watch
from agi.policy.detecting import Checks
from agi.policy.evidence import Check, outlasting, verdict
from agi.policy.verify import may_try_again
from agi.protocol.events import Verification, VerificationCompleted
from agi.protocol.ids import CALL, new_id
from agi.protocol.tools import EMPTY_INPUT, ToolCall, ToolKind

if TYPE_CHECKING:
    from agi.workspace.fingerprint import Tree

_LISTED = 20
_CHANGING = (ToolKind.WRITE, ToolKind.EXEC)


async def refuse_dirty(plan: Plan, ports: Ports) -> None:
    """Where the policy requires it, do not begin a turn that may change files while git has changes to lose."""
    turn = ports.journal.turn()
    can_change = any(tool.kind in _CHANGING for tool in ports.toolbox.definitions())
    if not plan.verify.require_clean or not can_change or turn.steps or turn.changed:
        return
    found = await ports.toolbox.use(ToolCall(new_id(CALL), "git_status", EMPTY_INPUT))
    if not found.ok and "not a git repository" in found.error:
        return
    files = found.result.get("files") if found.ok and found.result is not UNSET else None
    if not isinstance(files, list):
        raise Conflict(f"Whether the working tree is clean is not known: {found.error}", code="workspace_dirty")
    dirty = [one["path"] for one in files if not one["path"].startswith(".agi/")]
    if dirty:
        named = ", ".join(dirty[:5]) + (f" and {len(dirty) - 5} more" if len(dirty) > 5 else "")
        raise Conflict(
            f"The working tree has uncommitted changes, and verify.requireClean is on: {named}.",
            hint="Commit or stash them, then ask again.",
            code="workspace_dirty",
        )


async def verify_changes(plan: Plan, ports: Ports, watch: Watch) -> str:
    """Verify if it is due; returns what to tell the model about a failure it should mend, or nothing."""
    if not watch.edited or not plan.verify.auto_verify:
        return ""
    checks = watch.checks()
    if not checks.commands:
        await ports.journal.emit(
            VerificationCompleted(
                verification_id=new_id(CALL), command="", attempt=0, status="not_run", reason=checks.note
            )
        )
        return ""
    turn, tree = ports.journal.turn(), await ports.toolbox.tree()
    ledger = ports.journal.ledger()
    due = [command for command in checks.commands if not _is_settled(ledger.find(command, tree.digest), watch.touched)]
    if not due or not may_try_again(plan.verify, attempts=turn.attempts):
        return ""
    await watch.announce()
    return await _run_all(plan, ports, [_asked(checks, command, turn.attempts + 1, tree) for command in due])


def _asked(checks: Checks, command: str, attempt: int, tree: Tree) -> Asked:
    index = checks.commands.index(command) + 1
    before = tree if index == 1 else None  # those that run after another one look for themselves
    return Asked(command=command, index=index, of=len(checks.commands), attempt=attempt, before=before)


async def _run_all(plan: Plan, ports: Ports, due: list[Asked]) -> str:
    """Run the commands up to the first new failure; returns what to tell the model, or nothing."""
    again = may_try_again(plan.verify, attempts=due[0].attempt)
    old: list[VerificationCompleted] = []
    for asked in due:
        done = await run_check(plan, ports, asked)
        if done.status == "failed" and not done.pre_existing and again:
            ports.journal.defer(done)  # logged together with what the model is told of it
            return complaint(done)
        await ports.journal.emit(done)
        if done.status == "failed" and done.pre_existing:
            old.append(done)
        elif done.status != "passed":
            return ""
    return reminder(old) if old and again else ""


def _is_settled(check: Check | None, touched: int) -> bool:
    """Nothing more is to be learned by running it; a failure that only the model saw is run again, and told it.

    After a call that may have changed something there is, also where the fingerprint is the same: that covers not all.
    """
    return check is not None and check.seq > touched and (not check.is_ours or check.own)


async def verification_of(plan: Plan, ports: Ports, watch: Watch) -> tuple[Verification, str]:
    """What the log knows about the files as they are now, and their fingerprint."""
    checks = ports.journal.ledger().checks
    ran = any(check.turn_id == plan.turn_id and not check.baseline for check in checks)
    if not ran and not (watch.edited and plan.verify.auto_verify):
        return "not_run", ""
    commands = watch.checks().commands
    if not commands:
        return "not_run", ""
    present = (await ports.toolbox.tree()).digest
    lasting = outlasting(checks, watch.touched)
    return verdict(commands, lasting, present=present, turn_id=plan.turn_id, edited=watch.edited), present


def complaint(done: VerificationCompleted) -> str:
    """What the model is told of a failure: what is new, and what is not its to mend."""
    code = f" with exit code {done.exit_code}" if done.exit_code is not None else ""
    said = [f"Verification failed: `{done.command}` ended{code}."]
    if done.reason:
        said.append(done.reason)
    old = [test for test in done.failing or () if test not in done.new]
    if done.new and old:
        said.append(f"These tests did not fail before your changes:\n{_list(done.new)}")
        said.append(f"These failed before as well, and are not to be mended unless you were asked to:\n{_list(old)}")
    said.append(f"Its output:\n\n{done.output}\n")
    if done.reason == UNCLEAR:
        said.append(
            "Find out whether your changes broke something, and mend that; verification runs again when you are done. "
            "What failed before is not to be mended unless you were asked to."
        )
    else:
        said.append("Find the cause and mend it; verification runs again when you are done.")
    return "\n".join(said)


def reminder(old: list[VerificationCompleted]) -> str:
    """What the model is told of old failures: only who asked it knows whether they are its task."""
    said = ["Verification failed as it did before your changes."]
    for done in old:
        said.append(f"`{done.command}` ended with exit code {done.exit_code}. {_seen(done)}")
    said.append(
        "If you were asked to mend this, go on; verification runs again when you are done. "
        "If you were not, leave it alone and give your answer again."
    )
    return "\n".join(said)


def _seen(done: VerificationCompleted) -> str:
    """What shows that a failure is an old one; no more is claimed than that."""
    if done.failing:
        return f"Each test that fails now failed before as well:\n{_list(done.failing)}"
    return (
        "It ended and printed the same before. Its output names no tests, so what a new failure behind the old one "
        f"would change is not known:\n\n{done.output}\n"
    )


def _list(tests: tuple[str, ...] | list[str]) -> str:
    more = [f"… and {len(tests) - _LISTED} more"] if len(tests) > _LISTED else []
    return "\n".join([f"- {test}" for test in tests[:_LISTED]] + more)
