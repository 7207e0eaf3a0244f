"""The application: every route of the table, behind one door, described by one document.

May import: server.
"""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module

from agi.server.access import AccessLine
from agi.server.answers import Json
from agi.server.asgi import ASGIApp, Later, Paths, Receive, Scope, Send
from agi.server.errors import no_such_path
from agi.server.passes import Passes
from agi.server.request import AppSettings, Request, Shared
from agi.server.routes import MCP_PATH, Resource, Route
from agi.server.sockets import Socket, SocketRoute, Surface
from agi.sessions.harness import Harness

DEFAULTS = AppSettings()


_SESSION = "/v1/sessions/{session_id}"
_KINDS = ("repositories", "knowledge", "constitutions")

PATHS: dict[str, tuple[str, ...]] = {
    "health": ("/healthz", "/v1/health"),
    "metrics": ("/metrics",),
    "signing_in": ("/v1/sign-in/codes", "/v1/sign-in"),
    "sessions": ("/v1/sessions", _SESSION),
    "messages": (f"{_SESSION}/messages",),
    "rendered": ("/v1/render",),
    "queue": tuple(f"{_SESSION}/queue{rest}" for rest in ("", "/{message_id}", "/{message_id}/steer")),
    "events": (f"{_SESSION}/events", f"{_SESSION}/stream"),
    "approvals": (f"{_SESSION}/approve",),
    "preflights": (f"{_SESSION}/preflight", f"{_SESSION}/preflight/{{turn_id}}"),
    "grants": ("/v1/grants", "/v1/grants/{grant_id}", f"{_SESSION}/grants", f"{_SESSION}/grants/{{grant_id}}"),
    "search": ("/v1/search",),
    "notes": ("/v1/notes", "/v1/notes/{note_id}"),
    "turns": (f"{_SESSION}/cancel", f"{_SESSION}/turns/{{turn_id}}/retry"),
    "undoing": (f"{_SESSION}/diff", f"{_SESSION}/revert"),
    "forking": (f"{_SESSION}/fork",),
    "storage": ("/v1/gc",),
    "log_checks": (f"{_SESSION}/verify",),
    "exports": (f"{_SESSION}/export",),
    "compaction": (f"{_SESSION}/compact",),
    "context": (f"{_SESSION}/context",),
    "jobs": tuple(f"{_SESSION}/jobs{rest}" for rest in ("", "/{job_id}/output", "/{job_id}/stop")),
    "attachments": (
        f"{_SESSION}/attachments",
        f"{_SESSION}/attachments/{{file}}",
        f"{_SESSION}/artifacts/{{turn_id}}/{{file}}",
    ),
    "oneshot": ("/v1/one-shot",),
    "catalog": ("/v1/agents", "/v1/tools", "/v1/models"),
    "skills": ("/v1/skills",),
    "mcp_servers": ("/v1/mcp", "/v1/mcp/{name}/test", "/v1/mcp/{name}/approve"),
    "pool": ("/v1/pool",),
    "watching": ("/v1/watch",),
    "overview": ("/v1/inbox", "/v1/usage"),
    "trust": ("/v1/trust",),
    "resources": tuple(f"/api/{kind}{rest}" for kind in _KINDS for rest in ("", "/{name}")),
    "resource_agents": tuple(
        f"/api/{kind}/{{name}}/agent{rest}"
        for kind in _KINDS
        for rest in ("", "/status", "/cancel", "/sessions", "/history")
    ),
    "openapi": ("/openapi.json",),
}
"""Which file answers which paths. What it does there is said in the file, which the first request for it imports."""


@cache
def routes() -> tuple[Route, ...]:
    """Everything that can be asked for."""
    return tuple(route for subject in PATHS for route in _routes_of(subject))


@cache
def described() -> bytes:
    """The document about all of it; made when it is first asked for."""
    from agi.server import openapi  # late: few ask for it

    return openapi.document(routes())


async def _document(request: Request[None, None]) -> ASGIApp:
    return Json(described())


_DOCUMENT = Route(
    method="GET",
    path="/openapi.json",
    handler=_document,
    name="getDocument",
    summary="This document.",
    answers={200: dict[str, object]},
)


def _routes_of(subject: str) -> tuple[Route, ...]:
    if subject == "openapi":
        return (_DOCUMENT,)
    found: tuple[Route, ...] = import_module(f"agi.server.{subject}").ROUTES
    return found


class App:
    """The application of one harness. Call `stop` before the server shuts down, or streams would hold it up."""

    def __init__(self, shared: Shared, router: ASGIApp) -> None:
        self.shared = shared
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._router(scope, receive, send)

    @property
    def passes(self) -> Passes:
        """Who has signed in, for the guard to know."""
        return self.shared.passes

    def count(self, line: AccessLine) -> None:
        """Count a request that is over."""
        self.shared.metrics.request(line.method, line.status, line.duration_ms / 1000)

    def stop(self) -> None:
        """End every stream and every wait."""
        self.shared.stop()


def build_app(harness: Harness, settings: AppSettings = DEFAULTS) -> App:
    """Make the application; inside a running event loop."""
    shared = Shared(harness, settings)
    paths = Paths(otherwise=_not_found)
    for subject, its_paths in PATHS.items():
        for path in its_paths:
            paths.add(path, Later(partial(_resource, subject, path, shared)))
    paths.add(MCP_PATH, Later(lambda: _mcp(shared)))
    page = Later(_page)
    paths.add("/", page)
    paths.add("/web/{name:path}", page)
    paths.add("/v1/chat", SocketRoute(shared, _chat), "websocket")
    paths.add("/v1/rpc", SocketRoute(shared, _rpc), "websocket")
    paths.add("/v1/streams", SocketRoute(shared, _streams), "websocket")
    return App(shared, paths)


# What follows is imported by its first client: a daemon listens sooner without it.
def _resource(subject: str, path: str, shared: Shared) -> ASGIApp:
    return Resource([route for route in _routes_of(subject) if route.path == path], shared)


def _mcp(shared: Shared) -> ASGIApp:
    from agi.server.mcp import McpRoute

    return McpRoute(shared)


def _page() -> ASGIApp:
    from agi.server.page import Page

    return Page()


def _chat(socket: Socket, shared: Shared) -> Surface:
    from agi.server.chat import Chat

    return Chat(socket, shared)


def _rpc(socket: Socket, shared: Shared) -> Surface:
    from agi.server.rpc import Rpc

    return Rpc(socket, shared)


def _streams(socket: Socket, shared: Shared) -> Surface:
    from agi.server.streams import Streams

    return Streams(socket, shared)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
    else:
        await no_such_path(scope["path"])(scope, receive, send)
