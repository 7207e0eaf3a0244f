"""A session's verification, folded: which commands were run on which files, and what failed before the first change.

Kept small, since it is written with the session each time; names of tests are kept as marks. Pure.
May import: protocol, policy.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from agi.policy.evidence import Check, marks, still_failing
from agi.protocol.events import Event, TurnCompleted, VerificationCompleted

KEPT = 3
"""How many runs of one command are remembered."""
MOST = 60
"""How many runs are remembered in all."""


class Ledger(Struct, kw_only=True, omit_defaults=True):
    """What is known about the files of a session's workspace."""

    checks: list[Check] = field(default_factory=list)
    """Runs, the latest last."""
    base: list[Check] = field(default_factory=list)
    """What the commands found before the first change."""
    took: dict[str, float] = field(default_factory=dict)
    """How long each command took last, or was given before it was stopped; in seconds."""
    left: str = ""
    """The files as the last turn that changed any left them."""

    def find(self, command: str, fingerprint: str) -> Check | None:
        """The last run of a command on these files."""
        found = [check for check in self.checks if check.command == command and check.fingerprint == fingerprint]
        return found[-1] if found and fingerprint else None

    def before(self, command: str) -> Check | None:
        """What a command found before the first change."""
        return next((check for check in self.base if check.command == command), None)

    def take(self, event: Event, data: VerificationCompleted) -> None:
        """Take one more result into account."""
        if data.baseline and data.command:
            self.base = [check for check in self.base if check.command != data.command]
        if data.seconds and not data.known:
            self.took = {**self.took, data.command: data.seconds}
        if data.status == "not_run":
            return
        check = _check(event, data)
        self._carry(data.fingerprint_before, data.fingerprint)
        self._add(check)
        if data.baseline:
            self.base.append(check)

    def end(self, data: TurnCompleted) -> None:
        """A turn is over: what it mended fails no longer, and these are the files it left."""
        if not data.fingerprint:
            return
        self.left = data.fingerprint
        if data.verification == "stale":
            self._forget(data.fingerprint)
        for at, before in enumerate(self.base):
            now = self.find(before.command, data.fingerprint)
            self.base[at] = still_failing(before, now) if now else before

    def _carry(self, before: str, after: str) -> None:
        """A command that wrote files of its own takes nothing from what the others found just before."""
        if before and after and before != after:
            self.checks = [
                replace(check, fingerprint=after) if check.fingerprint == before else check for check in self.checks
            ]

    def _forget(self, fingerprint: str) -> None:
        """What ran on these files was followed by something that may have changed more than a fingerprint shows."""
        self.checks = [
            replace(check, fingerprint="") if check.fingerprint == fingerprint else check for check in self.checks
        ]

    def _add(self, check: Check) -> None:
        same = [one for one in self.checks if one.command == check.command and one.fingerprint != check.fingerprint]
        others = [one for one in self.checks if one.command != check.command]
        self.checks = [*others, *same[1 - KEPT :], check][-MOST:]
        self.took = dict([*self.took.items()][-MOST:])


def _check(event: Event, data: VerificationCompleted) -> Check:
    return Check(
        command=data.command,
        fingerprint=data.fingerprint,
        passed=data.status == "passed",
        exit_code=data.exit_code,
        failing=marks(data.failing),
        like=_like(data) if data.status == "failed" and data.failing is None else "",
        pre_existing=data.pre_existing,
        own=not data.tool_call_id,
        baseline=data.baseline,
        attempt=data.attempt,
        turn_id=event.turn_id or "",
        seq=event.seq,
    )


def _like(data: VerificationCompleted) -> str:
    from agi.policy.likeness import likeness  # late: only a failure needs it, and its patterns take time to make

    return likeness(data.command, data.output)
