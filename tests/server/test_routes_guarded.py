"""Every route of the table is behind the guard: without the token nothing is answered but the one open path."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.server.app import ROUTES
from agi.server.routes import Route
from agi.testing.box import TOKEN, Daemon, daemon_in_a_box

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


@pytest.mark.parametrize("route", [route for route in ROUTES if not route.is_open], ids=of)
async def test_a_route_needs_the_token(closed: Daemon, route: Route) -> None:
    """401 without it and with another, whatever is asked; with it, the request gets through."""
    body = route.example if route.body is not None else None
    for wrong in ({"authorization": ""}, {"authorization": "Bearer " + "x" * 32}):
        reply = await closed.call(route.method, target(route), body, wrong)
        assert (reply.status, reply.code) == (401, "unauthorized")
    head = await closed.call("HEAD", target(route), None, {"authorization": "Basic eDp5"})
    assert head.status == 401

    path = target(route) + ("?follow=false" if route.path.endswith("/events") else "")
    assert (await closed.call(route.method, path, body)).status not in (401, 403)


async def test_only_the_open_path_answers_anybody(closed: Daemon) -> None:
    """`/healthz` says that the daemon is there, and nothing more."""
    reply = await closed.get("/healthz", {"authorization": f"Bearer {TOKEN}"})
    assert (reply.status, reply.body) == (200, b'{"status":"ok"}')
    assert [of(route) for route in ROUTES if route.is_open] == ["GET /healthz"]


async def test_an_unknown_path_needs_the_token_too(closed: Daemon) -> None:
    """Who may not ask does not learn what there is."""
    for path in ("/", "/v1/nothing", "/docs"):
        assert (await closed.get(path, {"authorization": ""})).status == 401
