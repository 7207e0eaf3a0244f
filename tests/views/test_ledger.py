"""What verification has shown, folded from its events."""

from __future__ import annotations

from agi.policy.evidence import marks
from agi.protocol import events as ev
from agi.protocol.messages import Usage
from agi.views.ledger import KEPT, MOST, Ledger

SEQ = 7


def take(ledger: Ledger, command: str = "test", status: str = "passed", turn: str = "t", **kept: object) -> None:
    told = ev.VerificationCompleted(verification_id="v", command=command, attempt=1, status=status, **kept)  # type: ignore[arg-type]
    ledger.take(ev.Event.of(SEQ, "", "sess_1", turn, told), told)


def end(ledger: Ledger, fingerprint: str, verification: ev.Verification = "verified") -> None:
    ledger.end(
        ev.TurnCompleted(
            message_id=None,
            stop_reason="end_turn",
            steps=1,
            usage=Usage(),
            fingerprint=fingerprint,
            verification=verification,
        )
    )


def test_a_run_is_found_by_its_command_and_the_files():
    """With where the whole of it is."""
    ledger = Ledger()
    take(ledger, status="failed", exit_code=1, failing=("a",), fingerprint="x", tool_call_id="c")

    found = ledger.find("test", "x")

    assert found is not None
    assert (found.passed, found.exit_code, found.failing, found.own, found.seq) == (False, 1, marks(("a",)), False, SEQ)
    assert ledger.find("test", "y") is None
    assert ledger.find("other", "x") is None


def test_a_run_that_speaks_for_no_files_is_not_found():
    """Also not by no fingerprint."""
    ledger = Ledger()
    take(ledger, fingerprint="")

    assert ledger.find("test", "") is None


def test_what_was_not_run_shows_nothing():
    """But a baseline that failed to be taken puts the earlier one out of force."""
    ledger = Ledger()
    take(ledger, baseline=True, fingerprint="x")
    take(ledger, status="not_run", fingerprint="y")
    assert ledger.before("test") is not None
    take(ledger, status="not_run", baseline=True)

    assert ledger.before("test") is None
    assert ledger.find("test", "y") is None


def test_a_command_that_writes_files_carries_on_what_the_others_found():
    """They ran just before, on the same files but for what this one wrote."""
    ledger = Ledger()
    take(ledger, "lint", fingerprint="x", fingerprint_before="x")
    take(ledger, "test", fingerprint="y", fingerprint_before="x")

    assert ledger.find("lint", "y") is not None
    take(ledger, "test", fingerprint="", fingerprint_before="y")
    assert ledger.find("lint", "y") is not None


def test_the_last_run_on_the_same_files_counts():
    """A test that is only sometimes right is right or wrong as it was last."""
    ledger = Ledger()
    take(ledger, status="failed", fingerprint="x")
    take(ledger, status="passed", fingerprint="x")

    assert [check.passed for check in ledger.checks] == [True]


def test_little_is_kept():
    """The last runs of each command, and not more than so many in all."""
    ledger = Ledger()
    for n in range(10):
        take(ledger, fingerprint=f"{n}")
    assert [check.fingerprint for check in ledger.checks] == ["7", "8", "9"][-KEPT:]
    for n in range(2 * MOST):
        take(ledger, f"c{n}", fingerprint="x", seconds=1.0)
    assert len(ledger.checks) == len(ledger.took) == MOST


def test_how_long_a_command_took_is_known_also_if_it_was_given_up():
    """What is only repeated from an earlier run took no time."""
    ledger = Ledger()
    take(ledger, seconds=2.0, fingerprint="x")
    take(ledger, seconds=9.0, fingerprint="x", known=True)
    assert ledger.took == {"test": 2.0}
    take(ledger, status="not_run", seconds=3.0, baseline=True)
    assert ledger.took == {"test": 3.0}


def test_a_turns_end_takes_what_was_mended_off_the_old_failures():
    """And keeps the files it left."""
    ledger = Ledger()
    take(ledger, status="failed", exit_code=1, failing=("a", "b"), baseline=True, fingerprint="x")
    take(ledger, status="failed", exit_code=1, failing=("b", "c"), fingerprint="y")
    end(ledger, "y")

    before = ledger.before("test")
    assert before is not None
    assert (before.failing, ledger.left) == (marks(("b",)), "y")
    end(ledger, "")
    assert ledger.left == "y"


def test_a_failure_that_names_no_test_is_known_by_what_it_printed():
    """Only there: names are the better mark."""
    ledger = Ledger()
    take(ledger, status="failed", exit_code=1, output="no\n", fingerprint="x")
    take(ledger, "named", status="failed", exit_code=1, output="no\n", failing=("a",), fingerprint="x")

    assert [bool(check.like) for check in ledger.checks] == [True, False]


def test_a_turn_that_ended_stale_leaves_nothing_known_of_its_files():
    """What it changed last may be what no fingerprint covers."""
    ledger = Ledger()
    take(ledger, fingerprint="x")
    end(ledger, "x", "stale")

    assert ledger.find("test", "x") is None
