"""Verification is evidence: what a run proves, for which files, and what follows for the turn."""

from __future__ import annotations

import pytest

from agi.policy.evidence import Check, is_pre_existing, marks, new_failures, outlasting, still_failing, verdict

NOW = "now"


def check(command: str = "test", *, at: str = NOW, passed: bool = True, turn: str = "t", **kept: object) -> Check:
    return Check(command=command, fingerprint=at, passed=passed, turn_id=turn, **kept)  # type: ignore[arg-type]


def failed(*tests: str, code: int = 1, **kept: object) -> Check:
    failing = marks(tests) if tests else None
    return check(passed=False, exit_code=code, failing=failing, **kept)  # type: ignore[arg-type]


CASES = [
    ("nothing was run", (), "not_run"),
    ("it passed on these files", (check(),), "verified"),
    ("it passed in an earlier turn, on these files", (check(turn="before"),), "verified"),
    ("it passed on other files", (check(at="then"),), "stale"),
    ("it passed on other files, before the turn", (check(at="then", turn="before"),), "not_run"),
    ("only the baseline passed", (check(at="then", baseline=True),), "not_run"),
    ("files changed while it passed", (check(at=""),), "stale"),
    ("it failed", (failed("a"),), "failing"),
    ("it failed on other files", (failed("a", at="then"),), "stale"),
    ("it failed as before", (failed("a", pre_existing=True),), "pre_existing"),
    ("nothing is different from the baseline, which failed", (failed("a", baseline=True),), "pre_existing"),
    ("it failed, then passed", (failed("a"), check()), "verified"),
    ("it passed, then failed", (check(), failed("a")), "failing"),
]


@pytest.mark.parametrize(("checks", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_turn_says_what_the_runs_show(checks, said):
    """The last run on the files as they are now decides."""
    assert verdict(["test"], checks, present=NOW, turn_id="t", edited=True) == said


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ((check("lint"), check("test")), "verified"),
        ((check("lint"),), "not_run"),
        ((check("lint"), check("test", at="then")), "stale"),
        ((failed("a"), check("lint", at="then")), "failing"),
        ((check("lint"), failed("a", pre_existing=True)), "pre_existing"),
    ],
)
def test_every_command_has_to_pass(checks, said):
    """One that failed is enough to fail; one that is missing is enough not to be verified."""
    assert verdict(["lint", "test"], checks, present=NOW, turn_id="t", edited=True) == said


def test_a_turn_that_changed_nothing_and_ran_nothing_says_nothing():
    """What an earlier turn proved is not this one's."""
    assert verdict(["test"], [check(turn="before")], present=NOW, turn_id="t", edited=False) == "not_run"
    assert verdict(["test"], [check()], present=NOW, turn_id="t", edited=False) == "verified"
    assert verdict([], [check()], present=NOW, turn_id="t", edited=True) == "not_run"


@pytest.mark.parametrize(
    ("before", "code", "tests", "like", "old"),
    [
        (None, 1, ("a",), "", False),
        (check(), 1, ("a",), "", False),
        (failed("a", "b"), 1, ("a",), "", True),
        (failed("a"), 1, ("a", "b"), "", False),
        (failed("a"), 2, ("a",), "", False),
        (failed(like="x"), 1, None, "x", True),
        (failed(like="x"), 1, None, "y", False),
        (failed(), 1, None, "", False),
        (failed(like="x"), 2, None, "x", False),
        (failed("a"), 1, None, "x", False),
        (failed(like="x"), 1, ("a",), "x", False),
        (failed(like="x"), None, None, "x", False),
    ],
    ids=[
        "unknown",
        "passed",
        "fewer",
        "more",
        "other code",
        "same output",
        "other output",
        "not comparable",
        "same output, other code",
        "untold",
        "told",
        "stopped",
    ],
)
def test_a_failure_is_old_if_nothing_about_it_is_new(before, code, tests, like, old):
    """Test by test where both runs name them, else by the exit code and all that was printed."""
    assert is_pre_existing(before, code, tests, like) is old


def test_new_failures_are_those_that_did_not_fail_before():
    """Without a baseline all of them are."""
    assert new_failures(failed("a"), ("a", "b")) == ("b",)
    assert new_failures(None, ("a", "b")) == ("a", "b")
    assert new_failures(failed("a"), None) == ()


def test_which_failures_are_new_is_not_said_where_those_of_before_are_not_known():
    """It failed before, and nobody knows by which tests."""
    assert new_failures(failed(), ("a", "b")) == ()


def test_what_was_found_before_the_last_call_with_an_effect_speaks_for_no_files():
    """It may have changed what no fingerprint covers."""
    checks = [check(seq=3), check("lint", seq=7)]

    assert outlasting(checks, 5) == [check(seq=3, at=""), check("lint", seq=7)]
    assert verdict(["test"], outlasting(checks, 5), present=NOW, turn_id="t", edited=True) == "stale"


def test_what_was_mended_is_no_old_failure_any_more():
    """Broken again, it is a new one."""
    assert still_failing(failed("a", "b"), failed("b", "c")).failing == marks(("b",))
    assert still_failing(failed("a"), check()).passed
    assert still_failing(failed(), failed("a")) == failed()
    assert still_failing(check(), failed("a")) == check()
