"""Scripts: given a request, they decide the reply. By what was asked, or simply in order.

A script that keeps nothing serves any number of conversations at once. Sending is the server's business, and a script
knows no wire format. May import: its siblings `asked` and `replies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agi.testing.asked import Asked
from agi.testing.replies import Arguments, Reply, calls, fails, says

Script = Iterable[Reply] | Callable[[Asked], Reply]


def loop_script(
    steps: int, *, tool: str = "shell", arguments: Arguments | None = None, text: str = "Done.", chunks: int = 1
) -> Callable[[Asked], Reply]:
    """A script for many conversations at once: so many tool calls after each user message, then text.

    It keeps nothing: how far a conversation is stands in the request, as the number of tool results. Without
    `arguments` no two calls are alike, since going round in circles ends a turn.
    """
    asking = [calls((tool, arguments or {"command": f"true {step}"}, f"call_loop_{step}")) for step in range(steps)]
    ending = says(text, chunks=chunks)

    def decide(asked: Asked) -> Reply:
        results = asked.question.results
        return asking[results] if results < steps else ending

    return decide


def in_order(replies: Iterable[Reply]) -> Callable[[Asked], Reply]:
    """One reply a request, until none is left."""
    rest = iter(replies)
    return lambda _asked: next(rest, None) or fails(500, "The script is over: no reply is left.")
