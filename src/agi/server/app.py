"""The application: every route of the table, behind one door, described by one document.

May import: server.
"""

from __future__ import annotations

from functools import cache

from starlette.routing import BaseRoute, Router, WebSocketRoute
from starlette.routing import Route as PathRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from agi.server import (
    approvals,
    attachments,
    catalog,
    compaction,
    context,
    events,
    forking,
    grants,
    health,
    jobs,
    mcp_servers,
    messages,
    notes,
    oneshot,
    openapi,
    pool,
    preflights,
    resource_agents,
    resources,
    search,
    sessions,
    skills,
    storage,
    trust,
    turns,
    undoing,
)
from agi.server.answers import Json
from agi.server.chat import Chat
from agi.server.errors import no_such_path
from agi.server.request import AppSettings, Request, Shared
from agi.server.routes import Resource, Route
from agi.server.rpc import Rpc
from agi.server.sockets import SocketRoute
from agi.sessions.harness import Harness

DEFAULTS = AppSettings()


@cache
def described() -> bytes:
    """The document about all of it; made when it is first asked for."""
    return openapi.document(ROUTES)


async def _document(request: Request[None, None]) -> ASGIApp:
    return Json(described())


ROUTES: tuple[Route, ...] = (
    *health.ROUTES,
    *sessions.ROUTES,
    *messages.ROUTES,
    *events.ROUTES,
    *approvals.ROUTES,
    *preflights.ROUTES,
    *grants.ROUTES,
    *search.ROUTES,
    *notes.ROUTES,
    *turns.ROUTES,
    *undoing.ROUTES,
    *forking.ROUTES,
    *storage.ROUTES,
    *compaction.ROUTES,
    *context.ROUTES,
    *jobs.ROUTES,
    *attachments.ROUTES,
    *oneshot.ROUTES,
    *catalog.ROUTES,
    *skills.ROUTES,
    *mcp_servers.ROUTES,
    *pool.ROUTES,
    *trust.ROUTES,
    *resources.ROUTES,
    *resource_agents.ROUTES,
    Route(
        method="GET",
        path="/openapi.json",
        handler=_document,
        name="getDocument",
        summary="This document.",
        answers={200: dict[str, object]},
    ),
)
"""Everything that can be asked for."""


class App:
    """The application of one harness. Call `stop` before the server shuts down, or streams would hold it up."""

    def __init__(self, shared: Shared, router: ASGIApp) -> None:
        self._shared = shared
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._router(scope, receive, send)

    def stop(self) -> None:
        """End every stream and every wait."""
        self._shared.stop()


def build_app(harness: Harness, settings: AppSettings = DEFAULTS) -> App:
    """Make the application; inside a running event loop."""
    shared = Shared(harness, settings)
    by_path: dict[str, list[Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, []).append(route)
    paths: list[BaseRoute] = [PathRoute(path, Resource(routes, shared)) for path, routes in by_path.items()]
    paths.append(WebSocketRoute("/v1/chat", SocketRoute(shared, Chat)))
    paths.append(WebSocketRoute("/v1/rpc", SocketRoute(shared, Rpc)))
    return App(shared, Router(paths, redirect_slashes=False, default=_not_found))


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
    else:
        await no_such_path(scope["path"])(scope, receive, send)
