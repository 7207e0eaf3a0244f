"""Text of models, tools, files and other people, made safe to draw: nothing in it moves the cursor, colours or hides.

Only for eyes. What is copied, sent or run stays as it is. May import: protocol.
"""

from __future__ import annotations

from agi.protocol.showing import exact, settled, unhidden

TAB = 4
_ENOUGH = 4
"""How many times the limit of a line is looked at: what is beyond would be cut off anyway."""


def shown(text: str) -> str:
    """Text of several lines: breaks and tabs work, sequences for terminals are left out, the rest of it is visible."""
    text = settled(text)
    if "\t" in text:
        text = "\n".join(line.expandtabs(TAB) for line in text.split("\n"))
    return unhidden(text)


def one_line(text: str, limit: int = 100) -> str:
    """Text on one line of at most so many characters, each of them visible."""
    text = exact(" ".join(text[: _ENOUGH * limit].split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"
