"""Asks whether a link works, politely."""

import asyncio
from collections import defaultdict

import httpx

from lantern.settings import USER_AGENT, Settings
from lantern.urls import host_of

MAX_REDIRECTS = 5
RETRY_AFTER_429 = 300
ALIVE = frozenset({200, 204, 301, 302, 308, 403})


class Checker:
    """Asks each host for one link at a time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.blocked: dict[str, float] = {}

    async def is_alive(self, client: httpx.AsyncClient, url: str) -> bool:
        """Whether the link leads somewhere; HEAD first, GET if the server does not like that."""
        async with self.locks[host_of(url)]:
            await asyncio.sleep(self.settings.pause)
            answer = await client.head(url, headers={"user-agent": USER_AGENT})
            if answer.status_code == 405:
                answer = await client.get(url, headers={"user-agent": USER_AGENT})
            return answer.status_code in ALIVE

    def block(self, host: str, now: float) -> None:
        """Leave a host alone that said it had enough."""
        self.blocked[host] = now + RETRY_AFTER_429
