"""Text of others as a model may read it: without what a person could not see. May import: nothing of ours."""

from __future__ import annotations

_HIDDEN = dict.fromkeys(
    (0x200B, 0xFEFF, *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080))
)
"""Characters nobody sees but a model reads: tags, zero-width spaces, and those that turn the direction of writing."""


def visible(text: str) -> str:
    """Leave out what a reader could not see."""
    return text.translate(_HIDDEN)
