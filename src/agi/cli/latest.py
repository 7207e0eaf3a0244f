"""Which session a command means: the one that is named, or the latest of this folder.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agi.cli.abbreviations import find_session
from agi.cli.options import Arguments
from agi.cli.place import has_sessions, place
from agi.client.base import Client
from agi.client.find import open_client
from agi.errors import NotFound
from agi.protocol.sessions import Session


async def with_session(
    arguments: Arguments, work: Callable[[Client, Session, Arguments], Awaitable[int]], *, named: str = ""
) -> int:
    """Open the session that is named, or else the latest of the folder in which something was said, to work with it."""
    settings = place(arguments)
    if not has_sessions(settings):
        raise NotFound(f"There are no sessions in {settings.project}.", hint="Name the folder with --project.")
    client = await open_client(settings)
    try:
        named = named or arguments.get("--session") or ""
        session = await (find_session(client, named) if named else latest_session(client, str(settings.project)))
        return await work(client, session, arguments)
    finally:
        await client.close()


async def latest_session(client: Client, project: str) -> Session:
    """The latest session of a folder in which something was said; raises NotFound."""
    for one in await client.sessions(limit=100):
        if one.workspace_path == project and (one.last_turn_id is not None or one.title):
            return one  # one whose turns were all taken back has a title still
    raise NotFound("Nothing was said in a session of this folder yet.", hint="Name a session with --session.")
