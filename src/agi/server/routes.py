"""The shape of the route table: what a route takes and gives, as types, so that serving and describing are one thing.

Both the application and `/openapi.json` are built from these values. What the routes are is said in the file of each
subject. May import: errors, eventlog, server.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from agi.errors import AgiError, Damaged
from agi.eventlog.schema import unreadable
from agi.protocol.parts import Json
from agi.server.answers import NoContent
from agi.server.asgi import ASGIApp, Receive, Scope, Send
from agi.server.errors import error_answer, wrong_method
from agi.server.request import Request, Shared, check_path, decode_body, decode_query, header_values, read_body

Handler = Callable[[Request[Any, Any]], Awaitable[ASGIApp]]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Vocabulary = Literal["events", "stream", "watch"]
"""Seed 000's words in an envelope, seed 004's dotted words, or those about all sessions."""


MCP_PATH = "/mcp"
"""Where the MCP server is; said here because whoever names the path need not bring that surface along."""


class Route(Struct, frozen=True, kw_only=True):
    """One thing a client can ask for."""

    method: Method
    path: str
    handler: Handler
    name: str
    """What generated clients call it."""
    summary: str
    answers: Mapping[int, Any]
    """The type of the JSON answer by status; None is an answer without a body, `bytes` a file."""
    errors: tuple[int, ...] = ()
    """The statuses of its own errors; those that any request can meet are not repeated."""
    body: Any = None
    body_is_optional: bool = False
    """Whether nothing at all may be sent, which then means an empty object."""
    query: type[Struct] | None = None
    form: bool = False
    """Whether the body may come as a form with a file instead."""
    streams: Vocabulary | None = None
    """The words of its event stream, if it can answer with one; without `answers`, it always does."""
    example: Json | None = None
    """A body worth sending."""
    is_open: bool = False
    """Whether it is answered without a credential."""


class Resource:
    """Everything that can be done with one path."""

    def __init__(self, routes: Sequence[Route], shared: Shared) -> None:
        self._shared = shared
        self._routes = {route.method: route for route in routes}
        methods = set(self._routes) | ({"HEAD"} if "GET" in self._routes else set())
        self._allowed = ", ".join(sorted({*methods, "OPTIONS"}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; an error of ours, or damage of the log, becomes an answer too, any other rises."""
        try:
            answer = await self._answer(scope, receive)
        except AgiError as error:
            answer = error_answer(error)
        except sqlite3.DatabaseError as error:
            failure = unreadable(self._shared.harness.log.path, error)
            if not isinstance(failure, Damaged):
                raise
            answer = error_answer(failure)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> ASGIApp:
        method = scope["method"]
        route = self._routes.get("GET" if method == "HEAD" else method)
        if route is None:
            if method == "OPTIONS":
                return NoContent(((b"allow", self._allowed.encode()),))
            return wrong_method(method, self._allowed)
        check_path(scope["path_params"])
        query = decode_query(route.query, scope["query_string"])
        body = None
        if route.body is not None and not (route.form and is_form(scope)):
            body = decode_body(_decoder(route.body), await read_body(receive))
        return await route.handler(Request(self._shared, scope, receive, body, query))


def is_form(scope: Scope) -> bool:
    """Whether the body is a form with files."""
    return header_values(scope).get("content-type", "").lower().startswith("multipart/form-data")


@cache
def _decoder(body: Any) -> msgspec.json.Decoder[Any]:
    """Made for the first body of its kind: a daemon that made those of all routes would listen later."""
    return msgspec.json.Decoder(body)
