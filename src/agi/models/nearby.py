"""Model servers on this machine, found where they usually are: loopback only, briefly, and asked only for their models.

A server counts if what it sends is a list of models and it is not another person's. What was seen is kept for a while
for the whole process. Which of them answers is `choosing`'s business. To be imported late: whoever has a provider
needs none of this. May import: errors, net, models.places, models.offers, models.listeners.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agi.errors import AgiError, TooLarge
from agi.models.listeners import is_strangers
from agi.models.offers import Listed, in_order_of_use, read_abilities, read_list
from agi.models.places import PLACES, Place

if TYPE_CHECKING:
    from agi.net.http import HttpClient, Response

FIND_S = 0.3
"""How long to look around unasked."""
NAMED_S = 2.0
"""How long to wait for a server that was asked for by name."""
KEEP_FOUND_S = 30.0
KEEP_NOTHING_S = 5.0
LARGEST = 1 << 20
HOSTS = ("127.0.0.1", "::1")
SHOWN = 12
"""How many of Ollama's models are looked at more closely."""
_SHOW_LARGEST = 4 << 20
_GET_ONE = {"ollama": " `ollama pull qwen3:4b` gets one."}

PORTS: Mapping[str, int] | None = None
"""Where to look if nobody says; None is the usual ports."""


class Server(Struct, frozen=True, kw_only=True):
    """A model server that answers on this machine."""

    provider: str
    title: str
    where: str
    """Its host and port, for people."""
    url: str
    """Its base URL."""
    names: tuple[str, ...]
    """Every model it lists."""
    chat: tuple[str, ...]
    """Those that talk and run here, the best choice first; never empty."""


class _Seen(Struct, frozen=True, kw_only=True):
    server: Server | None = None
    problem: str = ""
    """Why there is none, where one was looked for."""
    telling: int = 0
    """How much the problem says: 0 nothing is there, 1 something else, 2 silence, 3 a server that cannot be used."""
    until: float = 0.0


class Nearby:
    """What is known of the servers around; `places` by the names of their providers, in order of preference."""

    def __init__(self, places: Mapping[str, Place], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    def knows(self, provider: str) -> bool:
        """Whether a provider of this name would be looked for."""
        return provider in self._places

    def title(self, provider: str) -> str:
        """The program's name, as people call it."""
        return self._places[provider].title

    def servers(self) -> tuple[Server, ...]:
        """The servers that answered when last looked for, in order of preference."""
        seen = (self._seen.get(name) for name in self._places)
        return tuple(one.server for one in seen if one is not None and one.server is not None)

    def server(self, provider: str) -> Server | None:
        """The server of this name, if it answered when last looked for."""
        seen = self._seen.get(provider)
        return seen.server if seen else None

    def problem(self, provider: str) -> str:
        """Why there is no server of this name, in a sentence."""
        seen = self._seen.get(provider)
        return seen.problem if seen else f"Nothing was heard from 127.0.0.1:{self._places[provider].port} yet."

    def problems(self) -> tuple[str, ...]:
        """What stands in the way of servers that are there and cannot be used."""
        seen = (self._seen.get(name) for name in self._places)
        return tuple(one.problem for one in seen if one is not None and one.server is None and one.telling == 3)

    async def look(self) -> None:
        """Look everywhere, unless that was done a moment ago."""
        if not any(self._is_fresh(name) and self.server(name) for name in self._places):
            await self._look_at([name for name in self._places if not self._is_fresh(name)], FIND_S)

    async def look_for(self, provider: str) -> None:
        """Look for a server that was asked for, unless it was there a moment ago; its absence is not believed twice."""
        if not (self._is_fresh(provider) and self.server(provider)):
            await self._look_at([provider], NAMED_S)

    async def look_once(self, provider: str) -> None:
        """Look for a server that may be needed later, unless that was done a moment ago."""
        if not self._is_fresh(provider):
            await self._look_at([provider], FIND_S)

    def _is_fresh(self, provider: str) -> bool:
        seen = self._seen.get(provider)
        return seen is not None and self._clock() < seen.until

    async def _look_at(self, providers: Iterable[str], seconds: float) -> None:
        from agi.net.http import HttpClient, Timeouts  # late, with the first look

        places = [(name, self._places[name]) for name in providers]
        async with HttpClient(timeouts=Timeouts(seconds, seconds, seconds)) as client:  # no proxies: it stays here
            found = await asyncio.gather(*(_look_in(client, name, place, seconds) for name, place in places))
        for (name, _), seen in zip(places, found, strict=True):
            self._seen[name] = self._kept(name, seen)

    def _kept(self, provider: str, seen: _Seen) -> _Seen:
        """What to remember, and how long. A server that says nothing just now may be busy answering somebody."""
        keep = KEEP_FOUND_S if seen.server else KEEP_NOTHING_S
        if seen.telling == 2 and (known := self.server(provider)) is not None:
            seen = _Seen(server=known)
        return msgspec.structs.replace(seen, until=self._clock() + keep)


_AROUND: dict[tuple[tuple[str, int], ...], Nearby] = {}


def around(ports: Mapping[str, int] | None = None) -> Nearby:
    """What this process knows of its surroundings: at the usual ports, or at those given by provider."""
    ports = PORTS if ports is None else ports
    chosen = {name: place.port for name, place in PLACES.items()} if ports is None else ports
    places = {name: Place(PLACES[name].title, port) for name, port in chosen.items()}
    return _AROUND.setdefault(tuple(chosen.items()), Nearby(places))


async def _look_in(client: HttpClient, provider: str, place: Place, seconds: float) -> _Seen:
    """Ask at every loopback address; the first server counts, else what is most worth telling."""
    seen = await asyncio.gather(*(_ask(client, provider, place, host, seconds) for host in HOSTS))
    return next((one for one in seen if one.server), max(seen, key=lambda one: one.telling))


async def _ask(client: HttpClient, provider: str, place: Place, host: str, seconds: float) -> _Seen:
    where = f"[{host}]:{place.port}" if ":" in host else f"{host}:{place.port}"
    try:
        async with asyncio.timeout(seconds), await client.request("GET", f"http://{where}/v1/models") as response:
            listed = await _read(response)
    except TimeoutError:
        return _Seen(problem=f"{where} did not answer within {seconds:g} s.", telling=2)
    except AgiError as error:
        return _failed(error, where, seconds)
    if isinstance(listed, int):
        return _Seen(problem=f"What answers at {where} wants a key (status {listed}).", telling=1)
    if listed is None:
        return _Seen(problem=f"What answers at {where} is no model server.", telling=1)
    return await _judge(client, provider, place, host, where, listed)


def _failed(error: AgiError, where: str, seconds: float) -> _Seen:
    if error.code in ("connect_failed", "connect_timeout"):
        return _Seen(problem=f"Nothing answers at {where}.")
    if error.code in ("first_byte_timeout", "idle_timeout"):
        return _Seen(problem=f"{where} did not answer within {seconds:g} s.", telling=2)
    return _Seen(problem=f"What answers at {where} is no model server.", telling=1)


async def _read(response: Response) -> Listed | int | None:
    """The list; the status where it is refused without a key; None where it is something else."""
    if response.status in (401, 403):
        return response.status
    if response.status != 200 or "html" in response.headers.get("content-type", ""):
        return None
    try:
        return read_list(await response.read(LARGEST))
    except TooLarge:
        return None


async def _judge(client: HttpClient, provider: str, place: Place, host: str, where: str, listed: Listed) -> _Seen:
    """Whether a server that lists models may be used, and which of them first."""
    if is_strangers(host, place.port):
        text = f"The server at {where} belongs to another user of this machine"
        return _Seen(problem=f"{text}; providers.{provider}.baseUrl would allow it.", telling=3)
    chat = listed.chat
    if provider == "ollama" and chat:
        chat = await _by_ability(client, where, chat)
    if not chat:
        text = f"{place.title} answers at {where}, but has no model to talk to.{_GET_ONE.get(provider, '')}"
        return _Seen(problem=text, telling=3)
    url = f"http://{where}/v1"
    return _Seen(
        server=Server(provider=provider, title=place.title, where=where, url=url, names=listed.names, chat=chat)
    )


async def _by_ability(client: HttpClient, where: str, names: tuple[str, ...]) -> tuple[str, ...]:
    asked = names[:SHOWN]
    told = await asyncio.gather(*(_abilities(client, where, name) for name in asked))
    return in_order_of_use(names, dict(zip(asked, told, strict=True)))


async def _abilities(client: HttpClient, where: str, name: str) -> frozenset[str] | None:
    body, headers = msgspec.json.encode({"model": name}), {"content-type": "application/json"}
    url = f"http://{where}/api/show"
    try:
        async with (
            asyncio.timeout(FIND_S),
            await client.request("POST", url, headers=headers, body=body) as response,
        ):
            return read_abilities(await response.read(_SHOW_LARGEST)) if response.status == 200 else None
    except (TimeoutError, AgiError):
        return None
