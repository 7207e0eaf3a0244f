"""The colours: one palette a theme, each colour with one meaning. `wait` is used for nothing but waiting for the user.

Every colour of text stands at 4.5:1 or more on every ground; a test computes it. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Palette(Struct, frozen=True, kw_only=True):
    """The colours of one theme, as `#rrggbb` or names of the terminal's own."""

    name: str
    dark: bool
    bg: str
    surface: str
    raised: str
    code: str
    line: str
    edge: str
    text: str
    muted: str
    faint: str
    accent: str
    wait: str
    ok: str
    bad: str
    agent: str
    sel: str
    add: str
    remove: str
    native: bool = False
    """Whether the colours are the terminal's own."""


DARK = Palette(
    name="dark",
    dark=True,
    bg="#10141a",
    surface="#171c24",
    raised="#212934",
    code="#0b0f14",
    line="#323c49",
    edge="#708096",
    text="#e8edf4",
    muted="#aab6c6",
    faint="#8e9bad",
    accent="#8fdde0",
    wait="#f3c24a",
    ok="#5fd57e",
    bad="#ff8fa2",
    agent="#c9b2ff",
    sel="#1f3f49",
    add="#0c3330",
    remove="#3d1a26",
)
LIGHT = Palette(
    name="light",
    dark=False,
    bg="#fbfaf7",
    surface="#ffffff",
    raised="#f0eee8",
    code="#f5f3ee",
    line="#dcd8cf",
    edge="#817a6d",
    text="#1a1f26",
    muted="#4b5562",
    faint="#5c6673",
    accent="#12506a",
    wait="#8c5b00",
    ok="#22693f",
    bad="#931a22",
    agent="#673bb0",
    sel="#cde9e7",
    add="#d6f2ec",
    remove="#fbe0e4",
)
TERMINAL = Palette(
    name="terminal",
    dark=True,
    bg="ansi_default",
    surface="ansi_default",
    raised="ansi_default",
    code="ansi_default",
    line="ansi_bright_black",
    edge="ansi_bright_black",
    text="ansi_default",
    muted="ansi_default",
    faint="ansi_default",
    accent="ansi_cyan",
    wait="ansi_yellow",
    ok="ansi_green",
    bad="ansi_red",
    agent="ansi_magenta",
    sel="ansi_blue",
    add="ansi_default",
    remove="ansi_default",
    native=True,
)
PALETTES: Mapping[str, Palette] = {one.name: one for one in (DARK, LIGHT, TERMINAL)}
"""By the names that `/theme` and `--theme` take."""


def fitting(env: Mapping[str, str]) -> Palette:
    """The palette for a terminal: its own where no colours are wanted, light where it says that it is, else dark."""
    if "NO_COLOR" in env:
        return TERMINAL
    ground = env.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in ("7", "15") else DARK
