"""`/healthz`: it is there. `/v1/health`: what a person should know about it. No key is ever told.

May import: errors, sessions, server.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from msgspec import Struct

from agi import __version__
from agi.errors import AgiError, Unavailable
from agi.models.resolve import Choice
from agi.sandbox.base import Network, Rung, RungName
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.catalog import default_model
from agi.server.request import Request
from agi.server.routes import Route
from agi.sessions.cells import network_of
from agi.sessions.sites import Site

UNSANDBOXED = "commands run without a sandbox"


class Alive(Struct, frozen=True):
    """It is there."""

    status: Literal["ok"] = "ok"


class Storage(Struct, frozen=True, kw_only=True):
    """Where the log is and how it stands; a mirror that fails loses nothing, but says so."""

    path: str
    epoch: int
    sessions: int
    mirror_ok: bool


class Sandbox(Struct, frozen=True, kw_only=True):
    """How commands are kept in, what gets past, and why nothing better holds them."""

    rung: RungName
    network: Network
    gaps: tuple[str, ...]
    why: tuple[str, ...]
    warning: str = ""


class ProviderInfo(Struct, frozen=True, kw_only=True):
    """A provider; `configured` when there is a key or an address for it."""

    name: str
    enabled: bool
    configured: bool


class Health(Struct, frozen=True, kw_only=True):
    """How the daemon stands."""

    status: Literal["ok"]
    version: str
    project: str
    trusted: bool
    storage: Storage
    sandbox: Sandbox | None
    providers: list[ProviderInfo]
    default_model: Choice | None
    warnings: list[str]


async def alive(request: Request[None, None]) -> ASGIApp:
    """Say so."""
    return Json(Alive())


async def health(request: Request[None, None]) -> ASGIApp:
    """Everything at a glance; settings that cannot be read are a warning here, not a failure."""
    providers: list[ProviderInfo] = []
    default, warnings, trusted = None, [], False
    sandbox: Sandbox | None = None
    try:
        site = request.harness.site()
        trusted = site.trusted
        sandbox, warning = await _sandbox(site)
        warnings += [warning] if warning else []
        providers = [
            ProviderInfo(name=name, enabled=one.enabled, configured=bool(one.api_key or one.base_url))
            for name, one in site.config.providers.items()
        ]
        default, problem = await default_model(site)
        warnings += [*site.config.warnings, *([problem] if problem else [])]
    except AgiError as error:
        warnings.append(f"{error.message} {error.hint}")
    return Json(
        Health(
            status="ok",
            version=__version__,
            project=str(request.harness.project),
            trusted=trusted,
            storage=_storage(request),
            sandbox=sandbox,
            providers=providers,
            default_model=default,
            warnings=warnings,
        )
    )


async def _sandbox(site: Site) -> tuple[Sandbox | None, str]:
    """What holds commands, and what to be warned of; no sandbox is told where it is not known which one works."""
    try:
        rung = await asyncio.to_thread(lambda: site.cells.rung(site))
    except Unavailable as error:
        return None, f"{error.message} {error.hint}"
    warning = "" if rung.confines else unsandboxed(rung)
    network = network_of(site.config.sandbox) if rung.confines else "on"
    return Sandbox(rung=rung.name, network=network, gaps=rung.gaps, why=rung.why, warning=warning), warning


def unsandboxed(rung: Rung) -> str:
    """Say loudly that nothing keeps commands in."""
    return f"{UNSANDBOXED}: they can do what you can ({'; '.join(rung.why)})"


def _storage(request: Request[None, None]) -> Storage:
    log = request.harness.log
    count = log.db.execute("SELECT count(*) FROM sessions").fetchone()[0]
    return Storage(path=str(log.path), epoch=log.epoch, sessions=count, mirror_ok=log.mirror.failure is None)


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        handler=alive,
        name="isAlive",
        summary="Whether the daemon is there; needs no credential.",
        answers={200: Alive},
        is_open=True,
    ),
    Route(
        method="GET",
        path="/v1/health",
        handler=health,
        name="getHealth",
        summary="Version, storage, sandbox, providers and warnings.",
        answers={200: Health},
    ),
)
