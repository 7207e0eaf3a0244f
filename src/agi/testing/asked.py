"""What the scripted provider was asked: the request as it arrived, and what a script decides by.

Reading a body is a format's business. May import: nothing of ours.
"""

from __future__ import annotations

from functools import cached_property

import msgspec
from msgspec import Struct


class Question(Struct, frozen=True):
    """A request as far as scripts decide by it, whatever format it came in."""

    stream: bool = False
    """Whether the answer is wanted as a stream."""
    results: int = 0
    """How many tool results came since the user's last message."""


class Asked(Struct, frozen=True, dict=True):
    """One request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    question: Question = Question()

    @cached_property
    def json(self) -> dict[str, object]:
        """The whole body."""
        decoded = msgspec.json.decode(self.body)
        return decoded if isinstance(decoded, dict) else {}
