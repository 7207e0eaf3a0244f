"""Which way to the sessions: a daemon that runs already, else the harness in this process.

No daemon is ever started behind the user's back. May import: errors, config, client.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agi.client.base import Client
from agi.client.environment import unheard
from agi.client.running import running_daemon
from agi.client.settings import ClientSettings
from agi.config.daemon import DaemonRecord

if TYPE_CHECKING:
    from agi.client.inprocess import InProcessClient


async def open_client(settings: ClientSettings, *, check: Callable[[], Awaitable[None]] | None = None) -> Client:
    """Give a client of the project's sessions; trusting for one run only is possible in this process alone.

    Where the harness is to run here, `check` may raise first: opening it makes the data folder.
    """
    if not settings.trust_once and (client := await open_daemon(settings)) is not None:
        return client
    if check is not None:
        await check()
    return open_in_process(settings)


async def open_daemon(settings: ClientSettings) -> Client | None:
    """Give a client of the running daemon, or None if there is none that answers."""
    daemon = running_daemon(settings.project)
    if daemon is None:
        return None
    from agi.client.daemon import DaemonClient  # late: most one-shots need no HTTP

    client = DaemonClient(settings.project, daemon, notice=_notice(settings, daemon))
    if await client.is_well():
        return client
    await client.close()
    return None


def _notice(settings: ClientSettings, daemon: DaemonRecord) -> str:
    names = " and ".join(unheard(settings.env, daemon.pid))
    if not names:
        return ""
    return f"The daemon at {daemon.url} answers, with its own environment; it does not use {names} of this shell."


def open_in_process(settings: ClientSettings) -> InProcessClient:
    """Give a client that runs the harness itself; to be called on a running event loop."""
    from agi.client.inprocess import InProcessClient  # late: it brings the whole house

    return InProcessClient(settings)
