"""How many of something, in words: `1 session`, `2 sessions`. May import: nothing of ours."""

from __future__ import annotations


def counted(count: int, noun: str, several: str = "") -> str:
    """A number and what it counts; `several` is the word for more than one, where that is not the noun and an s."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
