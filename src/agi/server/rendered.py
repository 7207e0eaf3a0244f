"""Text as HTML for the web page, sanitised: `/v1/render`, and messages with what they look like beside what they say.

A growing text is rendered as far as it is finished; the page shows the rest as text. The rendering itself is the room
`rendering`, imported when it is first needed. May import: protocol, rendering, sessions, server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class Render(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text in markdown, or a diff."""

    text: Annotated[str, Meta(max_length=1_000_000)]
    kind: Literal["markdown", "diff"] = "markdown"
    growing: bool = False
    """Markdown is rendered only as far as it cannot change any more."""
    view: Literal["inline", "split"] = "inline"
    """Whether the lines of a diff stand under each other or side by side."""


class Rendered(Struct, frozen=True, kw_only=True):
    """The HTML, and how much of the text it is for, counted in UTF-16 units as browsers do."""

    html: str
    closed: int


async def render(request: Request[Render, None]) -> ASGIApp:
    """Render a text, in a thread: nobody else waits for it."""
    return Json(await asyncio.to_thread(_rendered, request.body))


def _rendered(asked: Render) -> Rendered:
    from agi.rendering import blocks, diffs, markdown  # late: only the page needs it

    if asked.kind == "diff":
        return Rendered(html=diffs.html(asked.text, view=asked.view), closed=_units(asked.text))
    shown = asked.text[: blocks.closed(asked.text)] if asked.growing else asked.text
    return Rendered(html=markdown.html(shown) if shown else "", closed=_units(shown))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


async def rendered_messages(messages: Sequence[Message]) -> dict[str, list[str | None]]:
    """The parts of each answer as HTML, by the message's id; null for parts that are no text."""
    return await asyncio.to_thread(_all_rendered, messages)


def _all_rendered(messages: Sequence[Message]) -> dict[str, list[str | None]]:
    from agi.rendering import markdown  # late: only the page needs it

    return {
        message.id: [markdown.html(part.text) if isinstance(part, Text) else None for part in message.parts]
        for message in messages
        if message.role == "assistant"
    }


ROUTES = (
    Route(
        method="POST",
        path="/v1/render",
        handler=render,
        name="render",
        summary="Markdown or a diff as sanitised HTML, for the web page.",
        body=Render,
        answers={200: Rendered},
        example={"text": "**bold**"},
    ),
)
