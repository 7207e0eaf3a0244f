"""Scripts: given a request, they decide the reply. By what was asked, or simply in order.

A script that keeps nothing serves any number of conversations at once. Sending is the server's business.
May import: nothing of ours but its sibling `replies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import msgspec
from msgspec import Struct

from agi.testing.replies import Arguments, Reply, calls, fails, says

_decode_anything = msgspec.json.decode


class Turn(Struct, frozen=True):
    """One message of a request, as far as scripts decide by it."""

    role: str = ""


class Question(Struct, frozen=True):
    """A request's body, as far as scripts decide by it."""

    model: str = ""
    stream: bool = False
    messages: tuple[Turn, ...] = ()


_decode_question = msgspec.json.Decoder(Question).decode


class Asked(Struct, frozen=True, dict=True):
    """One request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @cached_property
    def json(self) -> dict[str, object]:
        """The whole body."""
        decoded = _decode_anything(self.body)
        return decoded if isinstance(decoded, dict) else {}

    @cached_property
    def question(self) -> Question:
        """The body, as far as scripts decide by it."""
        return _decode_question(self.body)


Script = Iterable[Reply] | Callable[[Asked], Reply]


def loop_script(
    steps: int, *, tool: str = "shell", arguments: Arguments | None = None, text: str = "Done.", chunks: int = 1
) -> Callable[[Asked], Reply]:
    """A script for many conversations at once: so many tool calls after each user message, then text.

    It keeps nothing: how far a conversation is stands in the request, as the number of tool results.
    """
    wanted = {"command": "true"} if arguments is None else arguments
    asking = [calls((tool, wanted, f"call_loop_{step}")) for step in range(steps)]
    ending = says(text, chunks=chunks)

    def decide(asked: Asked) -> Reply:
        results = 0
        for message in reversed(asked.question.messages):
            if message.role == "user":
                break
            results += message.role == "tool"
        return asking[results] if results < steps else ending

    return decide


def in_order(replies: Iterable[Reply]) -> Callable[[Asked], Reply]:
    """One reply a request, until none is left."""
    rest = iter(replies)
    return lambda _asked: next(rest, None) or fails(500, "The script is over: no reply is left.")
