"""Errors as clients see them over HTTP: one table of statuses, one shape.

    {"error": {"code": "session_not_found", "message": "…", "hint": "…"}}

What went wrong is said by whoever raised it; here it only gets its number. May import: errors, protocol,
server.answers.
"""

from __future__ import annotations

from msgspec import Struct

from agi import errors
from agi.protocol.sessions import ErrorInfo
from agi.server.answers import Header, Json

STATUSES: dict[type[errors.AgiError], int] = {
    errors.BadRequest: 400,
    errors.NotAllowed: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooLarge: 413,
    errors.Invalid: 422,
    errors.ConfigError: 422,
    errors.WorkspaceError: 422,
    errors.TooMany: 429,
    errors.AgiError: 500,
    errors.StorageError: 500,
    errors.ModelError: 502,
    errors.Unavailable: 503,
    errors.DiskFull: 507,
}
"""The status of each kind of error; a kind that is not listed has that of the kind it belongs to."""

_STATUSES_BY_CODE = {
    "unauthorized": 401,
    "internal_error": 500,
    **{kind.code: status for kind, status in STATUSES.items()},
}


class ErrorDetail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong: a code for programs, a message and a hint for people, and the turn it happened in, if any."""

    code: str
    message: str
    hint: str
    turn_id: str | None = None


class ErrorReply(Struct, frozen=True):
    """The one shape of every error."""

    error: ErrorDetail


def status_of(error: errors.AgiError) -> int:
    """The HTTP status of an error."""
    if error.code == "unauthorized":
        return 401
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def error_answer(error: errors.AgiError, *, turn_id: str | None = None, headers: tuple[Header, ...] = ()) -> Json:
    """The answer that tells of an error."""
    detail = ErrorDetail(code=error.code, message=error.message, hint=error.hint, turn_id=turn_id)
    return Json(ErrorReply(detail), status_of(error), headers)


def failed_turn(error: ErrorInfo, turn_id: str) -> Json:
    """The answer to somebody who waited for a turn that failed: the provider's fault unless the code says otherwise."""
    detail = ErrorDetail(code=error.code, message=error.message, hint=error.hint, turn_id=turn_id)
    return Json(ErrorReply(detail), _STATUSES_BY_CODE.get(error.code, 502))


def no_such_path(path: str) -> Json:
    """404 for a path nobody serves."""
    detail = ErrorDetail(
        code="not_found", message=f"There is nothing at {path[:200]}.", hint="GET /openapi.json lists every path."
    )
    return Json(ErrorReply(detail), 404)


def wrong_method(method: str, allowed: str) -> Json:
    """405, with what may be asked instead."""
    detail = ErrorDetail(
        code="method_not_allowed", message=f"{method[:20]} is not possible here.", hint=f"Possible: {allowed}."
    )
    return Json(ErrorReply(detail), 405, ((b"allow", allowed.encode()),))
