"""What fails already: the verification commands, run before the first change; or known from an earlier run.

A result is never asked for twice on the same files: it is looked up in the log, this session's and others'. A command
that takes too long is given up, and not tried again while it is known to. May import: protocol, policy, loop.
"""

from __future__ import annotations

from agi.loop.base import Plan, Ports
from agi.loop.checking import Asked, not_run, run_check, takes_baseline
from agi.protocol.events import VerificationCompleted
from agi.protocol.ids import CALL, new_id

KNOWN = "Known from an earlier run on the same files."
LATE = "It failed at the end of an earlier turn, so what failed before that turn cannot be found out any more."


async def take_baseline(plan: Plan, ports: Ports, commands: tuple[str, ...]) -> None:
    """Find out what each command says of the files as they are, and put it into the log."""
    if not takes_baseline(plan) or not commands or ports.journal.turn().baselined:
        return
    tree = await ports.toolbox.tree()
    present, ledger = tree.digest, ports.journal.ledger()
    if present == ledger.left:  # nobody touched the files since this session's last turn
        commands = tuple(command for command in commands if not ledger.before(command))  # what was before still counts
    left = plan.verify.baseline_seconds
    for index, command in enumerate(commands, 1):
        before = tree if index == 1 else None
        asked = Asked(command=command, index=index, of=len(commands), baseline=True, seconds=left, before=before)
        done = _late(ports, asked, present) or _known(ports, asked, present) or _too_slow(plan, ports, asked)
        done = done or await run_check(plan, ports, asked)
        await ports.journal.emit(done)
        present = done.fingerprint or present
        left -= 0.0 if done.known else done.seconds


def _late(ports: Ports, asked: Asked, present: str) -> VerificationCompleted | None:
    """Why it is too late to find it out: a failure of this session's own making is not one from before."""
    ledger = ports.journal.ledger()
    found = ledger.find(asked.command, present) if present == ledger.left else None
    return not_run(asked, LATE, verification_id=new_id(CALL)) if found and found.is_ours else None


def _known(ports: Ports, asked: Asked, present: str) -> VerificationCompleted | None:
    """The result of an earlier run on the same files, as a baseline."""
    found = ports.journal.known(asked.command, present)
    if found is None:
        return None
    return VerificationCompleted(
        verification_id=new_id(CALL),
        command=asked.command,
        attempt=0,
        index=asked.index,
        of=asked.of,
        baseline=True,
        known=True,
        status=found.status,
        exit_code=found.exit_code,
        output=found.output if found.failing is None else "",  # by it a later failure is known to be the same
        failing=found.failing,
        fingerprint=present,
        reason=KNOWN,
        seconds=found.seconds,
    )


def _too_slow(plan: Plan, ports: Ports, asked: Asked) -> VerificationCompleted | None:
    """Why there is no time for it; None if there is."""
    took = ports.journal.took(asked.command)
    if asked.seconds > 0 and took < asked.seconds:
        return None
    limit = f"what runs before the first change may take {plan.verify.baseline_seconds:g} s"
    why = f"It took {took:g} s the last time, and {limit}." if took else f"No time is left for it: {limit}."
    return not_run(asked, why, verification_id=new_id(CALL))
