"""Codes and passes of browsers: once, soon, both halves, and gone when they are."""

from __future__ import annotations

import pytest

from agi.server.passes import CODE_S, MOST_CODES, PASS_S, Passes


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.advisory("Jupyter model")
def test_a_code_gets_one_pass() -> None:
    """The second use of a code gets nothing."""
    passes = Passes()
    code = passes.new_code()
    given = passes.redeem(code)

    assert given is not None
    assert passes.holds(given.cookie, given.key)
    assert passes.redeem(code) is None


@pytest.mark.advisory("Jupyter model")
def test_a_code_runs_out_after_a_minute() -> None:
    """What lies about is worth nothing."""
    clock = Clock()
    passes = Passes(clock)
    code = passes.new_code()
    clock.now = CODE_S

    assert passes.redeem(code) is None


def test_half_a_pass_is_none() -> None:
    """A cookie that another port was sent, or a key that a script read, opens nothing; nor do halves of two passes."""
    passes = Passes()
    one, two = passes.redeem(passes.new_code()), passes.redeem(passes.new_code())
    assert one is not None
    assert two is not None

    assert not passes.holds(one.cookie, "")
    assert not passes.holds("", one.key)
    assert not passes.holds(one.cookie, two.key)


def test_a_pass_ends_when_it_is_revoked_or_runs_out() -> None:
    """Signing out holds, for one browser or for all."""
    clock = Clock()
    passes = Passes(clock)
    made = [passes.redeem(passes.new_code()) for _ in range(3)]
    one, two, three = (given for given in made if given is not None)
    passes.revoke(one.cookie, one.key)
    assert [passes.holds(given.cookie, given.key) for given in (one, two, three)] == [False, True, True]

    clock.now = PASS_S
    assert not passes.holds(two.cookie, two.key)
    assert passes.revoke_all() == 1
    assert not passes.holds(three.cookie, three.key)


def test_codes_that_nobody_uses_do_not_pile_up() -> None:
    """The oldest makes room."""
    passes = Passes()
    codes = [passes.new_code() for _ in range(MOST_CODES + 1)]

    assert passes.redeem(codes[0]) is None
    assert passes.redeem(codes[1]) is not None
