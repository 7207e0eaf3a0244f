"""`agi agents`: who is alive here, drafted agents and workers, as a tree of who works for whom.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from agi.cli import exits
from agi.cli.display import exact, line
from agi.cli.options import Arguments
from agi.cli.output import put
from agi.cli.place import has_sessions, place
from agi.cli.times import local_time
from agi.client.find import open_client
from agi.protocol.drafts import PooledAgent

_INDENT = "  "


def agents(arguments: Arguments) -> int:
    """List them."""
    arguments.only(0)
    return asyncio.run(_list(arguments))


async def _list(arguments: Arguments) -> int:
    settings = place(arguments)
    found: list[PooledAgent] = []
    if has_sessions(settings):
        client = await open_client(settings)
        try:
            found = await client.pool()
        finally:
            await client.close()
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    for depth, one in tree(found):
        name = _INDENT * depth + exact(one.role)
        about = f"  {line(one.task_slug, 40)}" if one.task_slug else ""
        put(f"{name:24}  {one.kind:6}  {one.status:16}  {local_time(one.started_at)}  {one.agent_id}{about}\n")
    if not found:
        put("Nobody is drafted, and no worker is at work.\n")
    return exits.OK


def tree(found: Sequence[PooledAgent], parent: str | None = None, depth: int = 0) -> Iterator[tuple[int, PooledAgent]]:
    """Everyone below whom they work for, with how deep; one whose parent is not listed stands at the top."""
    known = {one.agent_id for one in found}
    for one in found:
        above = one.parent_id if one.parent_id in known and one.parent_id != one.agent_id else None
        if above == parent:
            yield depth, one
            yield from tree(found, one.agent_id, depth + 1)
