"""A palette in the words of the terminal library. May import: tui."""

from __future__ import annotations

from textual.theme import Theme

from agi.tui.tokens import Palette


def theme_of(palette: Palette) -> Theme:
    """The theme that wears a palette."""
    return Theme(
        name=f"agi-{palette.name}",
        primary=palette.accent,
        secondary=palette.agent,
        accent=palette.accent,
        warning=palette.wait,
        error=palette.bad,
        success=palette.ok,
        foreground=palette.text,
        background=palette.bg,
        surface=palette.surface,
        panel=palette.raised,
        dark=palette.dark,
        ansi=palette.native,
        variables={**_variables(palette), **(_NATIVE if palette.native else {})},
    )


_NATIVE = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "input-cursor-background": "ansi_default",
    "input-cursor-foreground": "ansi_default",
    "input-cursor-text-style": "reverse",
    "input-selection-foreground": "ansi_default",
}
"""What the terminal library wants to know where colours are the terminal's own: the cursor is seen without any."""


def _variables(palette: Palette) -> dict[str, str]:
    return {"edge": palette.edge, "line": palette.line, "input-selection-background": palette.sel}
