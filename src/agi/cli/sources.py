"""Where a command reads what happened: in a file, if there is one of that name, or in a session of the project.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

from agi.cli.abbreviations import find_session
from agi.cli.display import exact
from agi.cli.options import Arguments
from agi.cli.place import has_sessions, place
from agi.client.base import Client
from agi.client.find import open_client
from agi.client.settings import ClientSettings
from agi.errors import NotFound
from agi.protocol.events import Event
from agi.protocol.sessions import Session

T = TypeVar("T")
Read = Callable[[Client, Session], Awaitable[T]]


def file_or_session(arguments: Arguments, named: str, read: Read[T]) -> Path | T:
    """The path of that name, if there is anything or it can be nothing else; else what is read of a session."""
    if "/" in named or os.path.lexists(named):
        return Path(named)
    settings = place(arguments)
    if not has_sessions(settings):
        hint = "Name a cassette's file, or the session's folder with --project."
        raise NotFound(f"There is no file {exact(named)}, and there are no sessions in {settings.project}.", hint=hint)
    return asyncio.run(_of_session(settings, named, read))


async def _of_session(settings: ClientSettings, named: str, read: Read[T]) -> T:
    client = await open_client(settings)
    try:
        return await read(client, await find_session(client, named))
    finally:
        await client.close()


async def events_so_far(client: Client, session: Session) -> AsyncGenerator[Event, None]:
    """All that has happened in a session by now; raises Damaged where events are missing, NotFound once it is gone."""
    async with aclosing(client.follow(session.id)) as events:
        async for event in events:
            yield event
            if event.seq >= session.last_seq:
                return
    raise NotFound(f"The session {session.id} was removed meanwhile.", code="session_not_found")
