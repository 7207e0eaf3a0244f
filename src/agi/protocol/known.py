"""What was found out about values, kept by which value it is: a conversation that grows is looked at where it is new.

Each value is kept beside what was made of it, so that no other can have its identity. It holds for frozen values only.
May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Value = TypeVar("Value")
Made = TypeVar("Made")


class Known(Generic[Value, Made]):
    """Keeps what the last list came to, and of earlier ones up to `spare` values; the rest is let go."""

    def __init__(self, spare: int = 0) -> None:
        self._spare = spare
        self._about: object = None
        self._kept: dict[int, tuple[Value, Made]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, values: Sequence[Value], make: Callable[[Value], Made], about: object = None) -> list[Made]:
        """What is made of each; `about` is what else it depends on: where that is another, all is made anew."""
        if about != self._about:
            self._about, self._kept = about, {}
        kept = self._kept
        for value in values:
            if id(value) not in kept:
                kept[id(value)] = (value, make(value))
        made = [kept[id(value)][1] for value in values]
        if len(kept) > len(values) + self._spare:
            self._kept = {id(value): kept[id(value)] for value in values}
        return made
