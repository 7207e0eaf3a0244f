"""The title as people know it, and the line under the box: what is said where there is little room."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from agi.testing.samples import session
from agi.tui.bars import Status, Title, status_line, title_line
from agi.tui.drafts import Draft
from agi.tui.standing import Standing

ANALYST = Draft(session_id="sess_1", role="product-analyst", turns=5, cost_usd=0.23, context_pct=34.2)


def test_the_title_of_a_draft_is_as_the_seed_draws_it():
    """Exactly, to the blank."""
    line = title_line(Title(draft=ANALYST), 80)

    assert line.rstrip() == "agi ● Connected | Draft: product-analyst | Context: 34% | Turns: 5 | $0.23"


def test_the_title_without_a_draft_is_as_the_seed_draws_it():
    """Exactly, to the blank."""
    assert title_line(Title(), 80).rstrip() == "agi ● Connected | No draft | Agents: 0"


def test_what_nobody_knows_is_a_question_mark_and_never_a_zero():
    """A model without a known window or price."""
    draft = Draft(session_id="sess_1", role="r", turns=2)

    assert title_line(Title(draft=draft), 80).rstrip() == "agi ● Connected | Draft: r | Context: ?% | Turns: 2 | $?"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (70, "agi ● Connected | Draft: product-analyst | Context: 34% | Turns: 5"),
        (60, "agi ● Connected | Draft: product-analyst | Context: 34%"),
        (45, "agi ● Connected | Draft: product-analyst"),
        (20, "agi ● Connected"),
    ],
)
def test_fields_are_dropped_from_the_right_and_never_the_state(width, shown):
    """However narrow the window is."""
    line = title_line(Title(draft=ANALYST, place="~/shop"), width)

    assert line.rstrip().startswith(shown)
    assert cell_len(line) == width


def test_a_lost_connection_is_said_first():
    """With the time it broke."""
    assert title_line(Title(connected=False, lost_at=1.0), 80).startswith("agi ✗ Disconnected ")


@pytest.mark.parametrize(
    ("activity", "shown"),
    [
        ("idle", "○ idle"),
        ("running", "● running 12 s"),
        ("waiting_approval", "◆ waiting for you"),
        ("backing_off", "↻ backing off until 14:03:10"),
        ("verifying", "● verifying make test 12 s"),
        ("compacting", "● compacting 12 s"),
    ],
)
def test_each_activity_has_its_shape_and_its_word(activity, shown):
    """Never colour alone."""
    standing = Standing(session(activity=activity))
    standing.detail = {"backing_off": "until 14:03:10", "verifying": "make test"}.get(activity, "")

    assert status_line(Status(standing=standing, working_s=12.4, context=34.0), 100)[1].startswith(shown)


@pytest.mark.parametrize("width", [1, 5, 18, 20, 40, 79, 200])
def test_the_line_never_takes_more_than_there_is(width):
    """And the state comes before the hints."""
    standing = Standing(session(activity="waiting_approval"))
    left, right = status_line(Status(standing=standing, context=None), width)

    assert cell_len(left) + cell_len(right) <= width
    if width >= 18:
        assert "waiting for" in right
