"""Asks servers with an address of their own what they say about their models: all at once, briefly, and not too often.

A server that does not answer is a note for people, never an error. A key goes only to the server it is for, in the
header its API wants. What was said is kept for a while for the whole process. To be imported late: only servers of
one's own are asked. May import: errors, config, net and its siblings in models.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agi.config.values import Api, Config, Secret
from agi.errors import AgiError
from agi.models import reports
from agi.models.catalog import BUILT_IN, is_own
from agi.models.places import PLACES
from agi.models.reports import Reported, merged

if TYPE_CHECKING:
    from agi.net.http import HttpClient, Proxies

LIMIT_S = 2.0
"""How long all servers together may take."""
KEEP_S = 30.0
KEEP_REMOTE_S = 600.0
"""What a server elsewhere says about its models changes by the day; one on this machine may load another model."""
KEEP_NOTHING_S = 5.0
LARGEST = 8 << 20
"""Bytes of one answer; the longest lists of today take a megabyte or two."""
SHOWN = 40
"""How many of Ollama's models are asked about one by one."""
_JSON = {"content-type": "application/json"}
_LISTS: dict[Api, tuple[str, Callable[[bytes], tuple[Reported, ...] | None]]] = {
    "chat": ("/models", reports.read_models),
    "responses": ("/models", reports.read_models),
    "messages": ("/v1/models?limit=1000", reports.read_anthropic),
    "gemini": ("/v1beta/models?pageSize=1000", reports.read_gemini),
}
"""Where each API lists its models, and how the list is read."""


class Server(Struct, frozen=True):
    """Where to ask, and how."""

    url: str
    api: Api
    key: Secret | None = None

    @property
    def base(self) -> str:
        """The address that paths are added to."""
        return self.url.partition("?")[0].rstrip("/")

    @property
    def root(self) -> str:
        """The same without the version of the API."""
        return self.base.removesuffix("/v1beta").removesuffix("/v1")

    def headers(self) -> dict[str, str]:
        """What the server is shown."""
        key = self.key.reveal().strip() if self.key else ""
        if self.api == "messages":
            return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
        if self.api == "gemini":
            return {"x-goog-api-key": key} if key else {}
        return {"authorization": f"Bearer {key}"} if key else {}


class Report(Struct, frozen=True, kw_only=True):
    """What one server said."""

    models: tuple[Reported, ...] = ()
    problem: str = ""
    """Why it said nothing, in a sentence; empty if it did."""

    def find(self, name: str) -> Reported | None:
        """What it said about a model; a server with one model answers to any name."""
        exact = (one for one in self.models if one.id in (name, f"{name}:latest"))
        return next(exact, self.models[0] if len(self.models) == 1 else None)


class Reports:
    """What servers said, until it is too old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[Server, tuple[float, Report]] = {}

    def last(self, server: Server) -> Report | None:
        """What a server said when it was last asked, however long ago that is."""
        told = self._told.get(server)
        return told[1] if told else None

    async def ask(self, servers: Iterable[Server], *, proxies: Proxies | None = None) -> None:
        """Ask those that were not asked lately, all at once."""
        now = self._clock()
        due = [one for one in dict.fromkeys(servers) if one not in self._told or self._told[one][0] <= now]
        if not due:
            return
        from agi.net.http import HttpClient, Timeouts  # late: whoever was asked a moment ago needs no network

        async with HttpClient(timeouts=Timeouts(LIMIT_S, LIMIT_S, LIMIT_S), proxies=proxies) as client:
            found = await asyncio.gather(*(_Asking(client, one).report() for one in due))
        for server, report in zip(due, found, strict=True):
            self._told[server] = (self._clock() + _keep(server, report), self._kept(server, report))

    def _kept(self, server: Server, report: Report) -> Report:
        """A server that says nothing just now may be busy answering; what it said before still counts."""
        before = self.last(server)
        return msgspec.structs.replace(report, models=before.models) if report.problem and before else report


_REPORTS = Reports()


def reported() -> Reports:
    """What this process was told."""
    return _REPORTS


def server_of(config: Config, provider: str, ports: Mapping[str, int] | None = None) -> Server | None:
    """The server to ask about a provider's models: at the address that is set, or where it was found on this machine.

    None for a provider at its usual address: its models are in the table.
    """
    settings = config.provider(provider)
    url = settings.base_url or ""
    if url and not is_own(provider, url):
        built_in = BUILT_IN.get(provider)
        return Server(url, settings.api or (built_in.api if built_in else "chat"), settings.api_key)
    if url or provider not in PLACES:
        return None
    from agi.models.nearby import around  # late: only for servers that nobody configured

    found = around(ports).server(provider)
    return Server(found.url, "chat", settings.api_key) if found else None


def _keep(server: Server, report: Report) -> float:
    if report.problem:
        return KEEP_NOTHING_S
    return KEEP_S if server.url.startswith("http:") else KEEP_REMOTE_S


class _Asking:
    """One server being asked; whatever it says after the time limit is not waited for."""

    def __init__(self, client: HttpClient, server: Server) -> None:
        self._client = client
        self._server = server
        self._until = asyncio.get_running_loop().time() + LIMIT_S
        self._problem = ""

    async def report(self) -> Report:
        """Ask for the list, and where it says little, ask on in the dialects of servers people run themselves."""
        models = await self._listed()
        if self._server.api in ("chat", "responses") and self._server.url.startswith("http:") and _says_little(models):
            models = await self._by_dialect(models or ())
        if models is None:
            return Report(problem=self._problem or f"{self._server.root} does not list its models.")
        return Report(models=models)

    async def _listed(self) -> tuple[Reported, ...] | None:
        path, read = _LISTS[self._server.api]
        base = self._server.root if path.startswith("/v") else self._server.base
        return read(await self._send("GET", base + path, is_list=True))

    async def _by_dialect(self, listed: tuple[Reported, ...]) -> tuple[Reported, ...] | None:
        """LM Studio, Ollama and llama.cpp; who is none of them has none of these addresses."""
        paths = ("/api/v0/models", "/api/tags", "/api/ps", "/props")
        lmstudio, tags, running, props = await asyncio.gather(
            *(self._send("GET", self._server.root + path) for path in paths)
        )
        if (found := reports.read_lmstudio(lmstudio)) is not None:
            return found
        if (names := reports.read_tags(tags)) is not None:
            return await self._shown(names, reports.read_running(running))
        if (about := reports.read_props(props)) is not None and len(listed) <= 1:
            return tuple(_narrowed(one, about) for one in listed)
        return listed or None

    async def _shown(self, names: tuple[str, ...], running: Mapping[str, int]) -> tuple[Reported, ...]:
        asked = names[:SHOWN]
        url = self._server.root + "/api/show"
        bodies = await asyncio.gather(*(self._send("POST", url, msgspec.json.encode({"model": one})) for one in asked))
        told = [
            reports.read_shown(name, body, running.get(name)) if body else Reported(id=name)
            for name, body in zip(asked, bodies, strict=True)
        ]
        return (*(one for one in told if one is not None), *(Reported(id=name) for name in names[SHOWN:]))

    async def _send(self, method: str, url: str, body: bytes = b"", *, is_list: bool = False) -> bytes:
        """The answer, or nothing; why there is none is remembered of the list alone."""
        headers = self._server.headers() | (_JSON if body else {})
        try:
            async with (
                asyncio.timeout_at(self._until),
                await self._client.request(method, url, headers=headers, body=body) as response,
            ):
                told, status = await response.read(LARGEST), response.status
        except TimeoutError:
            told, status, problem = b"", 0, f"{self._server.root} did not answer within {LIMIT_S:g} s."
        except AgiError as error:
            told, status, problem = b"", 0, error.message
        else:
            problem = f"{self._server.root} answered with status {status} when asked for its models."
        if is_list and status != 200:
            self._problem = problem
        return told if status == 200 else b""


def _says_little(models: tuple[Reported, ...] | None) -> bool:
    return models is None or any(one.context_window is None or not one.capabilities for one in models)


def _narrowed(listed: Reported, about: Reported) -> Reported:
    """A server that divides its window among slots tells the whole in its list, and the part in its properties."""
    windows = [one.context_window for one in (about, listed) if one.context_window]
    return msgspec.structs.replace(merged(listed, about), context_window=min(windows, default=None))
