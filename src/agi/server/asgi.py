"""The few words of ASGI that the surfaces speak, and how a path finds who answers it.

A framework has them too, but brings forms, cookies and templates along, which a daemon would load before it listens.
Who answers what is said in `server/app.py`. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class ClientGone(Exception):
    """The client went away before it had said all, or before it was answered."""


class Later:
    """An application that is made when it is first asked."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._app is None:
            self._app = self._make()
        await self._app(scope, receive, send)


class Paths:
    """Applications by path; of those that match, the first that was added answers.

    A segment in braces takes any that is not empty, and a last one `{name:path}` takes all that is left.
    """

    def __init__(self, otherwise: ASGIApp) -> None:
        self._otherwise = otherwise
        self._by_length: dict[tuple[str, int], list[tuple[list[str], ASGIApp]]] = {}
        self._open_ended: list[tuple[str, str, str, ASGIApp]] = []

    def add(self, path: str, app: ASGIApp, kind: str = "http") -> None:
        """Have `path` answered; `kind` is what ASGI calls the scope."""
        if path.endswith(":path}"):
            start, _, name = path.removesuffix(":path}").rpartition("{")
            self._open_ended.append((kind, start, name, app))
            return
        segments = path.split("/")
        self._by_length.setdefault((kind, len(segments)), []).append((segments, app))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request to who answers its path."""
        app, scope["path_params"] = self._find(scope["type"], scope["path"])
        await app(scope, receive, send)

    def _find(self, kind: str, path: str) -> tuple[ASGIApp, dict[str, str]]:
        asked = path.split("/")
        for segments, app in self._by_length.get((kind, len(asked)), ()):
            params = _matched(segments, asked)
            if params is not None:
                return app, params
        for its_kind, start, name, app in self._open_ended:
            if its_kind == kind and path.startswith(start):
                return app, {name: path[len(start) :]}
        return self._otherwise, {}


def _matched(segments: list[str], asked: list[str]) -> dict[str, str] | None:
    params: dict[str, str] = {}
    for segment, given in zip(segments, asked, strict=True):
        if segment.startswith("{"):
            if not given:
                return None
            params[segment[1:-1]] = given
        elif segment != given:
            return None
    return params
