"""What a daemon answers when it refuses, turned back into the error it began as: same code, message and hint.

May import: errors.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from agi.errors import (
    AgiError,
    BadRequest,
    ConfigError,
    Conflict,
    Damaged,
    DiskFull,
    Invalid,
    LeaseLost,
    ModelError,
    NotAllowed,
    NotFound,
    StorageError,
    TooLarge,
    TooMany,
    Unavailable,
    WorkspaceError,
)

_BY_STATUS: dict[int, type[AgiError]] = {
    400: BadRequest,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: TooMany,
    502: ModelError,
    503: Unavailable,
    507: DiskFull,
}
_BY_CODE: dict[str, type[AgiError]] = {
    kind.code: kind for kind in (ConfigError, WorkspaceError, StorageError, DiskFull, Damaged, LeaseLost)
}


class _Told(Struct):
    message: str
    code: str = ""
    hint: str = ""


class _Body(Struct):
    error: _Told


def refusal(status: int, body: bytes, where: str) -> AgiError:
    """Make the error that an answer with this status and body stands for."""
    try:
        told = msgspec.json.decode(body, type=_Body).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Unavailable(f"{where} answered with status {status}.", hint="Is it a daemon of this version?")
    return _raised(told, _BY_STATUS.get(status, AgiError))


def broken_off(data: bytes) -> AgiError:
    """Make the error with which a stream of events says why there is no more; raises msgspec.DecodeError."""
    return _raised(msgspec.json.decode(data, type=_Told), StorageError)


def _raised(told: _Told, otherwise: type[AgiError]) -> AgiError:
    return _BY_CODE.get(told.code, otherwise)(told.message, hint=told.hint, code=told.code)


def resync() -> Conflict:
    """Make the error of a position in a log that is another one now: whoever followed must look at it anew."""
    return Conflict("The log was rebuilt meanwhile.", code="resync", hint="Look at the session again.")
