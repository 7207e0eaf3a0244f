"""Text that turns out to be a tool call: held back while it may be one, and told as a call if it is.

Some local models write the call instead of making it. An answer that begins like prose is passed on word by word.
May import: models.base, models.small_calls.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from itertools import count

from msgspec.structs import replace

from agi.models.base import CallMade, Finished, StreamItem, TextDelta
from agi.models.small_calls import MOST_TEXT, written_calls

OPENINGS = ("{", "[", "```", "<tool", "<function", "<think>")


async def with_written_calls(
    stream: AsyncGenerator[StreamItem, None], offered: Collection[str]
) -> AsyncGenerator[StreamItem, None]:
    """The same stream, with calls where the text is nothing but calls of tools that were offered."""
    held: str | None = ""
    async with aclosing(stream) as items:
        async for item in items:
            if held is None:
                yield item
            elif type(item) is TextDelta and _may_be_call(held + item.text):
                held += item.text
            elif type(item) is Finished:
                calls = written_calls(held, offered)
                numbers = count(1)
                for call in calls:
                    yield CallMade(f"written_{next(numbers)}", call.name, call.arguments)
                if held and not calls:
                    yield TextDelta(held)
                yield replace(item, stop_reason="tool_calls") if calls else item
            else:
                if type(item) in (TextDelta, CallMade):
                    if held:
                        yield TextDelta(held)
                    held = None
                yield item


def _may_be_call(text: str) -> bool:
    begun = text.lstrip()
    opens = any(begun.startswith(opening) or opening.startswith(begun) for opening in OPENINGS)
    return opens and len(text) <= MOST_TEXT
