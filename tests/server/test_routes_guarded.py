"""Every route of the table is behind the guard: without the token nothing is answered but the one open path."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.enemies.conftest import UPGRADE, speak

from agi.server.app import routes
from agi.server.asgi import ASGIApp, Paths
from agi.server.routes import Route
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box

SOCKETS = ("/v1/chat", "/v1/rpc", "/v1/streams")
IDS = {"{session_id}": "sess_" + "0" * 32, "{turn_id}": "turn_" + "0" * 32, "{file}": "x.txt"}


@pytest.fixture
async def closed(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path, auth="token") as box:
        yield box


def target(route: Route) -> str:
    path = route.path
    for name, value in IDS.items():
        path = path.replace(name, value)
    return path


def of(route: Route) -> str:
    return f"{route.method} {route.path}"


@pytest.mark.threat("T1")
@pytest.mark.parametrize("route", [route for route in routes() if not route.is_open], ids=of)
async def test_a_route_needs_the_token(closed: Daemon, route: Route) -> None:
    """401 without it and with another, whatever is asked; with it, the request gets through."""
    body = route.example if route.body is not None else None
    for wrong in ({"authorization": ""}, {"authorization": "Bearer " + "x" * 32}):
        reply = await closed.call(route.method, target(route), body, wrong)
        assert (reply.status, reply.code) == (401, "unauthorized")
    head = await closed.call("HEAD", target(route), None, {"authorization": "Basic eDp5"})
    assert head.status == 401

    path = target(route) + ("?follow=false" if route.path.endswith(("/events", "/watch")) else "")
    assert (await closed.call(route.method, path, body)).status not in (401, 403)


@pytest.mark.advisory("goose server")
@pytest.mark.threat("T1")
async def test_only_the_open_path_answers_anybody(closed: Daemon) -> None:
    """`/healthz` says that the daemon is there, and nothing more."""
    reply = await closed.get("/healthz", {"authorization": f"Bearer {TOKEN}"})
    assert (reply.status, reply.body) == (200, b'{"status":"ok"}')
    assert [of(route) for route in routes() if route.is_open] == ["GET /healthz", "POST /v1/sign-in"]


@pytest.mark.threat("T1")
async def test_there_is_no_way_in_beside_the_document_and_the_named_surfaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the application really listens at is what the document describes, the page's files, and four doors more.

    Those four need the token like all others.
    """
    added: list[tuple[str, str]] = []
    add = Paths.add

    def noted(self: Paths, path: str, app: ASGIApp, kind: str = "http") -> None:
        added.append((kind, path))
        add(self, path, app, kind)

    monkeypatch.setattr(Paths, "add", noted)
    async with daemon_in_a_box(tmp_path, auth="token") as daemon:
        described = (await daemon.get("/openapi.json")).json()["paths"]
        port = int(daemon.url.rpartition(":")[2])
        host = f"Host: 127.0.0.1:{port}"
        refused = [(await speak(port, f"GET {path}", host, *UPGRADE))[0] for path in SOCKETS]
        refused.append((await daemon.post("/mcp", {}, {"authorization": ""})).status)

    assert {path for kind, path in added if kind == "http"} - set(described) == {"/mcp", "/", "/web/{name:path}"}
    assert {path for kind, path in added if kind == "websocket"} == set(SOCKETS)
    assert set(described) == {route.path for route in routes()}
    assert refused == [401, 401, 401, 401]


@pytest.mark.threat("T1")
async def test_an_unknown_path_needs_the_token_too(closed: Daemon) -> None:
    """Who may not ask does not learn what there is."""
    for path in ("/web", "/v1/nothing", "/docs"):
        assert (await closed.get(path, {"authorization": ""})).status == 401
