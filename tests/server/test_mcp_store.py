"""What a client was sent lately: repeated from where it broke off, within bounds."""

from __future__ import annotations

from mcp.server.streamable_http import EventMessage
from mcp_types import JSONRPCNotification

from agi.server.mcp_store import Sent


def said(text: str) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method=text)


async def after(sent: Sent, id: str) -> tuple[str | None, list[tuple[str | None, object]]]:
    """Which stream it was, and what is repeated of it."""
    found: list[tuple[str | None, object]] = []

    async def hear(event: EventMessage) -> None:
        found.append((event.event_id, event.message))

    return await sent.replay_events_after(id, hear), found


async def test_what_came_after_is_repeated_on_its_own_stream() -> None:
    """Others' events do not come along, nor marks without a message."""
    sent = Sent()
    mark = await sent.store_event("a", None)
    await sent.store_event("b", said("of b"))
    last = await sent.store_event("a", said("of a"))

    assert await after(sent, mark) == ("a", [(last, said("of a"))])
    assert await after(sent, last) == ("a", [])


async def test_an_event_nobody_knows_repeats_nothing() -> None:
    """Whatever a client names."""
    assert await after(Sent(), "-1; drop") == (None, [])


async def test_the_oldest_go() -> None:
    """By number and by size; the newest stays, however large."""
    few, small = Sent(most_events=2), Sent(most_bytes=10)
    ids = [await few.store_event("a", said(str(n))) for n in range(3)]
    large = [await small.store_event("a", said("x" * 100)) for _ in range(2)]

    assert await after(few, ids[0]) == (None, [])
    assert len((await after(few, ids[1]))[1]) == 1
    assert await after(small, large[0]) == (None, [])
    assert await after(small, large[1]) == ("a", [])
