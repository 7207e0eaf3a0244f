"""`agi serve`: the daemon from its start to its stop.

In this order: be the only one in the folder, open the log, take up what was running, listen, and only then tell
anybody where. On SIGTERM or SIGINT it stops listening, ends its streams, and leaves open turns in the log, where the
next start finds them. Its output goes where it is told. May import: errors, config, sessions, server.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from agi.config import Flags
from agi.errors import AgiError, ConfigError
from agi.models.base import Model
from agi.server.access import AccessLine, format_line
from agi.server.app import App, build_app
from agi.server.daemon import Berth
from agi.server.guard import Guard, GuardSettings
from agi.server.health import unsandboxed
from agi.server.limits import make_server
from agi.server.listening import LOOPBACK, is_loopback, listen_at, own_names, url_of
from agi.server.peer import PeerCheck
from agi.sessions.harness import Harness, HarnessSettings
from agi.sessions.retaining import retain
from agi.sessions.sites import Site

if TYPE_CHECKING:
    import uvicorn

__all__ = ["LOOPBACK", "ServeSettings", "serve", "when_started"]


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
    settings: ServeSettings, *, stand_in: Model | None = None, out: TextIO | None = None, err: TextIO | None = None
) -> None:
    """Run the daemon until it is told to stop; raises Conflict or ConfigError if it cannot start."""
    speaker = _Speaker(out or sys.stdout, err or sys.stderr)
    if not is_loopback(settings.host) and not settings.expose:
        hint = "Add --expose if other machines are meant to reach it; then everybody needs the token."
        raise ConfigError(f"{settings.host} can be reached from other machines.", code="expose_needed", hint=hint)
    berth = Berth(settings.project.resolve() / ".agi")
    try:
        with listen_at(settings.host, settings.port) as sock:
            await _run(settings, berth, sock, speaker, stand_in)
    finally:
        berth.leave()


async def _run(
    settings: ServeSettings, berth: Berth, sock: socket.socket, speaker: _Speaker, stand_in: Model | None
) -> None:
    harness = _open(settings, speaker, stand_in)
    try:
        site = harness.site()
        app = build_app(harness)
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

        when_started(server, announce)
        tried = asyncio.create_task(speaker.tell_sandbox(site), name="try the sandbox")  # nobody waits for it
        # What is loaded by now stays; looking through it again and again for garbage only delays whoever waits.
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        kept = asyncio.create_task(
            retain(lambda: harness.site().config.retention, harness.collect_garbage, speaker.tell), name="retention"
        )
        await server.serve()
        kept.cancel()
        await asyncio.gather(kept, return_exceptions=True)
        await tried
    finally:
        await harness.close()


def _open(settings: ServeSettings, speaker: _Speaker, stand_in: Model | None) -> Harness:
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
    settings: ServeSettings, app: App, sock: socket.socket, site: Site, speaker: _Speaker
) -> tuple[uvicorn.Server, str]:
    """The server with its guard, and the token it asks for."""
    import secrets  # late: it costs milliseconds, and only the daemon needs it

    token = secrets.token_urlsafe(32)
    exposed = not is_loopback(settings.host)
    guard_settings = GuardSettings(
        token=token,
        port=sock.getsockname()[1],
        hosts=own_names(settings.host, settings.hosts) if exposed else (),
        auth=site.config.auth,
        exposed=exposed,
    )
    guard = Guard(app, guard_settings, log=speaker.log, on_error=speaker.broke)
    peers = PeerCheck() if site.config.auth == "auto" and not exposed else None
    server = make_server(guard, sock=sock, log=speaker.log, peers=peers)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit  # asked twice, it does not wait for anybody
        server.should_exit = True
        app.stop()

    # Uvicorn's own handler would let the signal kill the process once it is done, before the log is closed.
    server.handle_exit = lambda signal, frame: loop.call_soon_threadsafe(stop)  # type: ignore[method-assign,assignment]
    return server, token


def when_started(server: uvicorn.Server, tell: Callable[[], None]) -> None:
    """Have it told when the server answers, and not before."""
    start = server.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await start(sockets=sockets)
        if server.started:
            tell()

    server.startup = startup  # type: ignore[method-assign]


class _Speaker:
    """What the daemon tells: its address on one stream, everything else on the other, without secrets."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self.clean: Callable[[bytes], bytes] = bytes

    def say(self, url: str) -> None:
        _write(self._out, f"{url}\n")

    def tell(self, text: str) -> None:
        _write(self._err, self.clean(f"{text}\n".encode(errors="replace")).decode())

    def log(self, line: AccessLine) -> None:
        self.tell(format_line(line))

    def failed(self, session_id: str, error: BaseException) -> None:
        self.tell(f"agi: running {session_id or 'a session'} failed: {_described(error)}")

    def broke(self, error: Exception) -> None:
        import traceback  # late: only a mistake of ours needs it

        self.tell("".join(traceback.format_exception(error)).rstrip())

    async def tell_sandbox(self, site: Site) -> None:
        """What holds commands, or, loudly, that nothing does."""
        rung = await asyncio.to_thread(lambda: site.cells.rung(site))
        self.tell(f"agi: sandbox: {rung.name}" if rung.confines else f"agi: warning: {unsandboxed(rung)}.")

    def warn_about(self, harness: Harness, site: Site) -> None:
        """What a person should know before the first request."""
        if harness.rebuilt is not None:
            done = harness.rebuilt
            aside = f" Set aside: {', '.join(done.set_aside)}." if done.set_aside else ""
            self.tell(
                f"agi: the database was missing or damaged and was rebuilt from its mirrors: {done.sessions} sessions,"
                f" {done.events} events, {done.lost} lost.{aside}"
            )
        if not site.trusted and any("not trusted" in warning for warning in site.config.warnings):
            self.tell("agi: this workspace is not trusted; what its files could run is ignored. `agi trust` trusts it.")
        for warning in site.config.warnings:
            self.tell(f"agi: warning: {warning}")


def _write(stream: TextIO, text: str) -> None:
    """Nobody may be listening any more; that must not stop the daemon."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()


def _described(error: BaseException) -> str:
    return error.message if isinstance(error, AgiError) else f"{type(error).__name__}: {error}"
