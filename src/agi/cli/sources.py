"""Where a command reads what happened: in a file, if there is one of that name, or in a session of the project.

May import: errors, protocol, client, cli; and the reader of cassettes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

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
from agi.replay.cassette import Cassette, parse_cassette, read_cassette


def cassette(arguments: Arguments, named: str) -> Cassette:
    """That of a file, if there is anything of that name or it can be nothing else; else one made of a session.

    Of a log that is not whole, or not as it was written, none is made.
    """
    if "/" in named or os.path.lexists(named):
        return read_cassette(Path(named))
    settings = place(arguments)
    if not has_sessions(settings):
        hint = "Name a cassette's file, or the session's folder with --project."
        raise NotFound(f"There is no file {exact(named)}, and there are no sessions in {settings.project}.", hint=hint)
    return parse_cassette(asyncio.run(_exported(settings, named)))


async def _exported(settings: ClientSettings, named: str) -> bytes:
    client = await open_client(settings)
    try:
        session = await find_session(client, named)
        return await client.export(session.id, "cassette")
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
