"""The colours can be read: computed, not believed."""

from __future__ import annotations

import pytest

from agi.tui.tokens import DARK, LIGHT, TERMINAL, fitting

TEXTS = ("text", "muted", "faint", "accent", "wait", "ok", "bad", "agent")
GROUNDS = ("bg", "surface", "raised", "code")


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda one: one.name)
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXTS)
def test_every_text_can_be_read_on_every_ground(palette, text, ground):
    """At 4.5 to 1, as the guidelines for accessible content ask."""
    assert contrast(getattr(palette, text), getattr(palette, ground)) >= 4.5


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda one: one.name)
def test_diffs_and_marked_text_can_be_read(palette):
    """The text on the grounds that mean added, removed and marked."""
    assert min(contrast(palette.text, ground) for ground in (palette.add, palette.remove, palette.sel)) >= 4.5


def test_a_light_terminal_gets_the_light_palette():
    """Where it says so; else dark."""
    assert fitting({"COLORFGBG": "0;15"}) is LIGHT
    assert fitting({"COLORFGBG": "15;0"}) is DARK
    assert fitting({}) is DARK


def test_where_no_colours_are_wanted_the_terminals_own_are_left_alone():
    """NO_COLOR, with whatever value."""
    assert fitting({"NO_COLOR": ""}) is TERMINAL
