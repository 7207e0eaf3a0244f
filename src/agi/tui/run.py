"""Opening and closing the interface: the client, the terminal, and what is left on the normal screen afterwards.

To be imported late: it brings the terminal library with it. May import: errors, client, tui.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct

from agi.client.base import Client
from agi.client.find import open_client
from agi.client.running import running_daemon
from agi.client.settings import ClientSettings
from agi.tui.app import AgiApp
from agi.tui.tokens import PALETTES, fitting


class Opening(Struct, frozen=True, kw_only=True):
    """What was asked for."""

    settings: ClientSettings
    theme: str = ""
    agent: str | None = None
    provider: str | None = None
    model: str | None = None


async def run(opening: Opening, find: Callable[[Client], Awaitable[str]], check: Callable[[], Awaitable[None]]) -> str:
    """Show the interface until the user leaves; gives what the agent said last."""
    client = await open_client(opening.settings, check=check)
    try:
        env = opening.settings.env
        app = AgiApp(
            client,
            opening.settings.project,
            palette=PALETTES[opening.theme] if opening.theme else fitting(env),
            env=env,
            daemon=partial(running_daemon, opening.settings.project) if client.where.startswith("http") else None,
            session_id=await find(client),
            agent=opening.agent,
            provider=opening.provider,
            model=opening.model,
        )
        gc.freeze()  # what was loaded stays: looking through it again and again is felt as a hitch
        said = await app.run_async()
        if app.fault is not None:
            raise app.fault
        return said or ""
    finally:
        await client.close()
