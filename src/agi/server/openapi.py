"""`/openapi.json`: the route table and the types, as one OpenAPI 3.1 document, the same whenever it is made.

May import: server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from agi import __version__
from agi.server.errors import ErrorReply
from agi.server.events import POSITION
from agi.server.routes import Route
from agi.server.schemas import Schema, components, ref

REASONS = {
    200: "Done.",
    201: "Made.",
    202: "Taken; the answer follows in the session.",
    204: "Done; there is nothing to say.",
    400: "The request is malformed.",
    401: "The token is missing or wrong.",
    403: "This host, origin or site may not ask.",
    404: "There is no such thing.",
    405: "Not with this method; `Allow` says which.",
    408: "The request did not arrive in time.",
    409: "Not in the state it is in.",
    413: "Too large.",
    414: "The path and query are too long.",
    415: "A body of this type is not read.",
    422: "Well-formed, but not acceptable.",
    429: "Too many wrong tokens.",
    431: "The headers are too many or too large.",
    502: "The provider failed; the turn is in the log and can be retried.",
    503: "The daemon is shutting down.",
    507: "The disk is full; nothing was written.",
}
EVERYWHERE = (400, 401, 403, 405, 408, 413, 414, 415, 422, 429, 431)
"""What any request can meet, before or at its reading."""

_PATH_FORMS = {
    "session_id": "^sess_[0-9a-f]{32}$",
    "turn_id": "^turn_[0-9a-f]{32}$",
    "grant_id": "^grant_[0-9a-f]{32}$",
    "job_id": "^job_[0-9a-f]{32}$",
    "message_id": "^msg_[0-9a-f]{32}$",
    "note_id": "^note_[0-9a-f]{32}$",
}
_PATH_EXAMPLES = {
    "name": "atlas",
    "session_id": "sess_019a00000000700080000000000000aa",
    "turn_id": "turn_019a00000000700080000000000000aa",
    "grant_id": "grant_019a00000000700080000000000000aa",
    "job_id": "job_019a00000000700080000000000000aa",
    "message_id": "msg_019a00000000700080000000000000aa",
    "note_id": "note_019a00000000700080000000000000aa",
    "file": "0123456789abcdef0123-log.txt",
}
_ITEMS = {"events": "EventItem", "stream": "StreamItem", "watch": "WatchItem"}
_ABOUT = (
    "A local-first agent harness. A session is an append-only log of events; everything else is a view of it.\n\n"
    "On loopback, programs of the daemon's own user need no token, where the daemon is set to `auth: auto`."
)


def document(routes: Sequence[Route]) -> bytes:
    """The document as JSON."""
    types = [kind for route in routes for kind in (route.body, *route.answers.values()) if kind not in (None, bytes)]
    made, parts = components([*types, ErrorReply])
    paths: dict[str, Schema] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, made)
    statuses = sorted({status for route in routes for status in _error_statuses(route)})
    told = {
        "openapi": "3.1.0",
        "info": {"title": "agi", "version": __version__, "description": _ABOUT, "license": {"name": "Apache-2.0"}},
        "servers": [{"url": "http://127.0.0.1:8787"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": parts,
            "responses": {f"Error{status}": _error(status) for status in statuses},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return msgspec.json.encode(told)


def _operation(route: Route, made: dict[Any, Schema]) -> Schema:
    told: Schema = {"operationId": route.name, "summary": route.summary, "tags": [_tag(route.path)]}
    if route.is_open:
        told["security"] = []
    parameters = [*_path_parameters(route), *_query_parameters(route), *_header_parameters(route)]
    if parameters:
        told["parameters"] = parameters
    if route.body is not None:
        told["requestBody"] = _request_body(route, made)
    told["responses"] = {str(status): answer for status, answer in sorted(_responses(route, made).items())}
    return told


def _tag(path: str) -> str:
    return path.removeprefix("/v1").split("/")[1].partition(".")[0]


def _path_parameters(route: Route) -> list[Schema]:
    told = []
    for name in re.findall(r"{(\w+)}", route.path):
        schema: Schema = {"type": "string", "minLength": 1}
        if name in _PATH_FORMS:
            schema["pattern"] = _PATH_FORMS[name]
        told.append({"name": name, "in": "path", "required": True, "schema": schema, "example": _PATH_EXAMPLES[name]})
    return told


def _query_parameters(route: Route) -> list[Schema]:
    if route.query is None:
        return []
    schema = msgspec.json.schema(route.query)
    fields = schema["$defs"][route.query.__name__]["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": field} for name, field in fields.items()]


def _header_parameters(route: Route) -> list[Schema]:
    if route.streams is None or route.answers:
        return []
    schema = {"type": "string", "pattern": POSITION}
    about = "The id of the last event you have."
    return [{"name": "Last-Event-ID", "in": "header", "required": False, "schema": schema, "description": about}]


def _request_body(route: Route, made: dict[Any, Schema]) -> Schema:
    content: Schema = {"application/json": {"schema": made[route.body]}}
    if route.example is not None:
        content["application/json"]["example"] = route.example
    if route.form:
        file = {"contentMediaType": "application/octet-stream"}
        form = {"type": "object", "properties": {"file": file}, "required": ["file"], "additionalProperties": False}
        content["multipart/form-data"] = {"schema": form}
    return {"required": not route.body_is_optional, "content": content}


def _responses(route: Route, made: dict[Any, Schema]) -> dict[int, Schema]:
    told: dict[int, Schema] = {}
    for status, kind in route.answers.items():
        told[status] = {"description": REASONS[status]}
        if kind is bytes:
            told[status]["content"] = {"*/*": {"schema": {"type": "string", "contentMediaType": "*/*"}}}
        elif kind is not None:
            told[status]["content"] = {"application/json": {"schema": made[kind]}}
    if route.streams is not None:
        stream = {"text/event-stream": {"schema": ref(_ITEMS[route.streams])}}
        told.setdefault(200, {"description": REASONS[200]}).setdefault("content", {}).update(stream)
    told |= {status: {"$ref": f"#/components/responses/Error{status}"} for status in _error_statuses(route)}
    return told


def _error_statuses(route: Route) -> Sequence[int]:
    return sorted({*route.errors, *EVERYWHERE})


def _error(status: int) -> Schema:
    content = {"application/json": {"schema": ref("ErrorReply")}}
    headers = {"Allow": {"schema": {"type": "string"}}} if status == 405 else {}
    return {"description": REASONS[status], "content": content, **({"headers": headers} if headers else {})}
