"""What verification amounts to: a run is evidence for the files it ran on, and for no others.

Which failures are new, and what a turn may say of itself, follow from runs in the log; nobody's word counts. Pure.
May import: protocol.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agi.protocol.events import Verification


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command that was run to its end, and the files it speaks for."""

    command: str
    fingerprint: str
    """Of the files; empty if they changed while it ran, so that it speaks for none."""
    passed: bool
    exit_code: int | None = None
    failing: tuple[str, ...] | None = None
    """Marks of the tests that failed; None where the output does not tell."""
    like: str = ""
    """There, a mark of all it printed; empty if that cannot be compared."""
    pre_existing: bool = False
    """It failed, and no failure is new."""
    own: bool = True
    """Run by the harness, not by a call of the model."""
    baseline: bool = False
    """Run before the first change."""
    attempt: int = 0
    """In which round of a turn's verification it was run; 0 if it was in none."""
    turn_id: str = ""
    seq: int = 0
    """Where in the session's log the whole of it is."""

    @property
    def is_ours(self) -> bool:
        """Whether it shows a failure that was not there before."""
        return not (self.passed or self.pre_existing or self.baseline)


def mark(test: str) -> str:
    """A test's name, made short enough to be kept with a session."""
    from hashlib import blake2b  # late: it loads OpenSSL, and most sessions have no failing test

    return blake2b(test.encode(errors="surrogatepass"), digest_size=6).hexdigest()


def marks(tests: Sequence[str] | None) -> tuple[str, ...] | None:
    """All of them."""
    return None if tests is None else tuple(mark(test) for test in tests)


def is_pre_existing(before: Check | None, exit_code: int | None, failing: Sequence[str] | None, like: str = "") -> bool:
    """Tell whether a failure is known to be an old one: no other test fails, or all that was printed is the same."""
    if before is None or before.passed or exit_code is None or exit_code != before.exit_code:
        return False
    if failing is None or before.failing is None:
        return failing is None and before.failing is None and like != "" and like == before.like
    return not new_failures(before, failing)


def new_failures(before: Check | None, failing: Sequence[str] | None) -> tuple[str, ...]:
    """The failing tests that did not fail before; none if it failed then, and nobody knows by which."""
    if before is not None and not before.passed and before.failing is None:
        return ()
    known = set(before.failing or ()) if before is not None and not before.passed else set()
    return tuple(test for test in failing or () if mark(test) not in known)


def still_failing(before: Check, now: Check) -> Check:
    """What remains of earlier failures once the command has run again: what was mended is no old failure any more."""
    if before.passed:
        return before
    if now.passed:
        return replace(before, passed=True, exit_code=now.exit_code, failing=None, like="")
    if before.failing is None or now.failing is None:
        return before
    return replace(before, failing=tuple(one for one in before.failing if one in now.failing))


def outlasting(checks: Sequence[Check], seq: int) -> list[Check]:
    """The runs after a call that may have changed what no fingerprint covers; those before it speak for no files."""
    return [check if check.seq > seq else replace(check, fingerprint="") for check in checks]


def verdict(
    commands: Sequence[str], checks: Sequence[Check], *, present: str, turn_id: str, edited: bool
) -> Verification:
    """Say what is known of the files as they are now; `edited`: the turn may have changed them."""
    ran = [check for check in checks if check.turn_id == turn_id and not check.baseline]
    if not commands or not (edited or ran):
        return "not_run"
    here = {check.command: check for check in checks if check.fingerprint == present}
    if any(here[command].is_ours for command in commands if command in here):
        return "failing"
    missing = [command for command in commands if command not in here]
    if missing:
        return "stale" if any(check.command in missing for check in ran) else "not_run"
    return "verified" if all(here[command].passed for command in commands) else "pre_existing"
