"""`agi serve`: the daemon from its start to its stop.

In this order: be the only one in the folder, open the log, take up what was running, listen, and only then tell
anybody where. On SIGTERM or SIGINT it stops listening, ends its streams, and leaves open turns in the log, where the
next start finds them. Its output goes where it is told. May import: errors, config, sessions, server.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from agi.config import Flags
from agi.errors import ConfigError, StorageError
from agi.server.access import AccessLine
from agi.server.app import App, build_app
from agi.server.daemon import Berth
from agi.server.guard import Guard, GuardSettings
from agi.server.limits import DEFAULT_LIMITS, Limits, make_server, room_for_connections
from agi.server.listening import LOOPBACK, is_loopback, listen_at, own_names, refuse_unknown, url_of
from agi.server.peer import PeerCheck
from agi.server.request import AppSettings
from agi.server.speaking import Speaker
from agi.sessions.harness import Harness, HarnessSettings
from agi.sessions.retaining import retain
from agi.sessions.sites import Site
from agi.telemetry.own import of_its_own

if TYPE_CHECKING:
    from agi.models.base import Model
    from agi.server.host import Server
    from agi.telemetry.otel import Exporter

__all__ = ["LOOPBACK", "ServeSettings", "serve"]


BREATH_S = 0.5
"""How long a daemon that listens leaves things alone that nobody waits for."""


class ServeSettings(Struct, frozen=True, kw_only=True):
    """What the daemon is told at its start."""

    project: Path
    home_config: Path
    env: Mapping[str, str]
    host: str = LOOPBACK
    port: int | None = None
    """The port that was asked for; None is 8787, or a free one where that is taken."""
    database: Path | None = None
    expose: bool = False
    """Whether another address than loopback may be listened at; then everybody needs the token."""
    hosts: tuple[str, ...] = ()
    """Further names an exposed daemon goes by."""
    flags: Flags = Flags()
    trust_once: bool = False


async def serve(
    settings: ServeSettings,
    *,
    stand_in: Model | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
    ready: Callable[[], None] | None = None,
) -> None:
    """Run the daemon until it is told to stop; raises Conflict or ConfigError if it cannot start.

    `ready` is called once it has said where it is.
    """
    speaker = Speaker(out or sys.stdout, err or sys.stderr)
    if not is_loopback(settings.host) and not settings.expose:
        await asyncio.to_thread(refuse_unknown, settings.host)
        hint = "Add --expose if other machines are meant to reach it; then everybody needs the token."
        raise ConfigError(f"{settings.host} can be reached from other machines.", code="expose_needed", hint=hint)
    berth = Berth(settings.project.resolve() / ".agi")
    try:
        with listen_at(settings.host, settings.port) as sock:
            await _run(settings, berth, sock, speaker, stand_in, ready)
    finally:
        berth.leave()


async def _run(
    settings: ServeSettings,
    berth: Berth,
    sock: socket.socket,
    speaker: Speaker,
    stand_in: Model | None,
    ready: Callable[[], None] | None,
) -> None:
    harness = _open(settings, speaker, stand_in)
    exporter: Exporter | None = None
    try:
        site = harness.site()
        await _refuse_unconfined(settings, site)
        speaker.format = site.config.telemetry.logs
        harness.log.observers.append(of_its_own(speaker.hear))
        app = build_app(harness, AppSettings(public_url=site.config.public_url))
        if site.config.telemetry.endpoint is not None:
            exporter = _exporter(site.config.telemetry.endpoint, harness, speaker)
            harness.log.observers.append(of_its_own(exporter.hear))
        server, token = _guarded_server(settings, app, sock, site, speaker)
        harness.redactor.learn(token)
        speaker.warn_about(harness, site)
        await harness.recover()
        harness.log.catch_up_mirrors()
        harness.memory.keep_up()
        url = url_of(settings.host, sock.getsockname()[1])

        def announce() -> None:
            berth.announce(url, token)
            speaker.say(url)
            if ready is not None:
                ready()

        server.on_started = announce
        settled = asyncio.create_task(_settle(app, harness, speaker, site), name="settle")
        # What is loaded by now stays; looking through it again and again for garbage only delays whoever waits.
        gc.freeze()
        # A turn leaves some hundred objects that hold each other: the longer nobody looks, the more turns stay here.
        gc.set_threshold(500, 5, 10)
        kept = asyncio.create_task(
            retain(lambda: harness.site().config.retention, harness.collect_garbage, speaker.tell), name="retention"
        )
        await server.serve()
        kept.cancel()
        await asyncio.gather(kept, return_exceptions=True)
        await settled
    finally:
        await harness.close()
        if exporter is not None:
            await asyncio.to_thread(exporter.close)  # it waits for the collector, a moment at most


def _exporter(endpoint: str, harness: Harness, speaker: Speaker) -> Exporter:
    """What tells a collector; that there is one, and where, is said, and once that it does not hear us."""
    from agi.telemetry.otel import Exporter  # late: few daemons have anybody to tell

    def warn(text: str) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody reads that any more
            loop.call_soon_threadsafe(speaker.tell, f"agi: warning: {text}.")

    loop = asyncio.get_running_loop()
    exporter = Exporter(endpoint, harness.tools_known, warn)
    speaker.tell(f"agi: traces and metrics are sent to {endpoint}.")
    return exporter


async def _refuse_unconfined(settings: ServeSettings, site: Site) -> None:
    """Where a sandbox was asked for at the start and none works, there is no daemon."""
    if settings.flags.require_sandbox and (why := await asyncio.to_thread(site.no_commands)):
        hint = "`agi doctor` tells what is missing. Without --require-sandbox it starts, and says that nothing holds."
        raise ConfigError(why, code="sandbox_required", hint=hint)


async def _settle(app: App, harness: Harness, speaker: Speaker, site: Site) -> None:
    """Nobody waits for it, so it keeps nobody waiting: who started the daemon is about to ask it something."""
    await asyncio.wait([app.shared.stopped], timeout=BREATH_S)
    with suppress(StorageError):  # whoever writes next is told
        await harness.log.keep_reserve()
    await speaker.tell_sandbox(site)


def _open(settings: ServeSettings, speaker: Speaker, stand_in: Model | None) -> Harness:
    harness = Harness(
        HarnessSettings(
            project=settings.project,
            home_config=settings.home_config,
            env=settings.env,
            database=settings.database,
            flags=settings.flags,
            trust_once=settings.trust_once,
        ),
        stand_in=stand_in,
    )
    speaker.clean = harness.redactor.clean
    harness.runners.on_failure = speaker.failed
    return harness


def _guarded_server(
    settings: ServeSettings, app: App, sock: socket.socket, site: Site, speaker: Speaker
) -> tuple[Server, str]:
    """The server with its guard, and the token it asks for."""
    token = urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()  # as `secrets` does, which brings `random` along
    exposed = not is_loopback(settings.host)
    guard_settings = GuardSettings(
        token=token,
        port=sock.getsockname()[1],
        hosts=own_names(settings.host, settings.hosts) if exposed else (),
        auth=site.config.auth,
        public=site.config.public_url or "",
        exposed=exposed,
    )

    def log(line: AccessLine) -> None:
        app.count(line)
        speaker.log(line)

    guard = Guard(app, guard_settings, log=log, on_error=speaker.broke, passes=app.passes)
    peers = PeerCheck() if site.config.auth == "auto" and not exposed and not site.config.public_url else None
    limits = Limits(max_connections=room_for_connections(DEFAULT_LIMITS.max_connections))
    server = make_server(guard, sock=sock, log=log, peers=peers, limits=limits)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit  # asked twice, it does not wait for anybody
        server.should_exit = True
        app.stop()

    server.on_signal = lambda: loop.call_soon_threadsafe(stop)
    return server, token
