"""What went wrong on the other side of the bridge, as one ModelError.

pydantic-ai sorts its providers' errors by kind and keeps status, headers and body; they are judged like those of our
own adapters. Anything else that is raised there is told too, never let through.
May import: errors, net.errors, protocol, models.base, models.failures, models.said; needs the extra.
"""

from __future__ import annotations

import time
from binascii import b2a_base64
from collections.abc import Iterator

import httpx2
import msgspec
from pydantic_ai import exceptions as foreign

from agi.errors import Invalid, ModelError
from agi.models.base import ModelRequest
from agi.models.failures import Failures
from agi.models.said import read_error
from agi.net.errors import NetError
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, File, Image, ToolResultPart

_KINDS: tuple[tuple[type[foreign.ModelAPIError], str], ...] = (
    (foreign.ModelContextWindowExceededError, "context_length_exceeded"),
    (foreign.ModelQuotaExceededError, "insufficient_quota"),
    (foreign.ModelRateLimitError, "rate_limit_error"),
    (foreign.ModelAuthenticationError, "authentication_error"),
    (foreign.ModelNotFoundError, "not_found_error"),
    (foreign.ModelRequestRejectedError, "invalid_request_error"),
)
"""Its kinds of errors in the words our own judgement goes by, the narrower ones first."""
_TRANSPORTS = ("httpx", "httpcore", "httpcore2", "urllib3", "botocore", "grpc", "aiohttp")
_DEEPEST = 8
_HINT = "The provider, or the library that speaks to it, does not accept the request as it is."


def explain(error: Exception, failures: Failures, request: ModelRequest, *, begun: bool) -> ModelError:
    """The error to raise for one that came over the bridge; `begun` says whether the answer had begun."""
    if isinstance(error, ModelError):
        return error
    if not isinstance(error, foreign.AgentRunError) and (found := _refusal_behind(error)):
        return failures.refused(*found, b"", time.time())
    if isinstance(error, foreign.ModelConnectionError) or _is_network(error):
        return failures.unreachable(_net_error(error, begun), begun=begun)
    if isinstance(error, foreign.ModelAPIError):
        return _judged(error, failures.about(request, _shown(request)))
    if isinstance(error, foreign.UnexpectedModelBehavior):
        return failures.reported({"message": error.message})
    return failures.unusable(Invalid(str(error) or type(error).__name__, hint=_HINT))


def _shown(request: ModelRequest) -> bytes:
    """Which attachments stood where, since the request as it was sent is not seen here."""
    told = [
        [
            {"data": b2a_base64(data, newline=False).decode(), "media_type": part.mime_type}
            for part in _attachments(message)
            if (data := request.files.get(part.ref))
        ]
        for message in request.messages
    ]
    return msgspec.json.encode({"contents": told}) if request.files else b""


def _attachments(message: Message) -> Iterator[Image | Audio | File]:
    for part in message.parts:
        inside = part.content.parts if isinstance(part, ToolResultPart) else (part,)
        yield from (one for one in inside if isinstance(one, Image | Audio | File))


def _judged(error: foreign.ModelAPIError, failures: Failures) -> ModelError:
    status = error.status_code if isinstance(error, foreign.ModelHTTPError) else None
    if status is None or error.in_stream:
        made = failures.reported(_said(error))
    else:
        headers = error.headers if isinstance(error, foreign.ModelHTTPError) and error.headers else {}
        made = failures.refused(status, headers, _body(error), time.time())
    made.status = made.status or status
    if made.retry_after is None and error.retry_after is not None:
        made.retry_after = max(0.0, error.retry_after)
    return made


def _said(error: foreign.ModelAPIError) -> dict[str, object]:
    """What the provider said, and what kind of error pydantic-ai takes it for."""
    kind = next((word for known, word in _KINDS if isinstance(error, known)), "")
    words = read_error(error.body).message or error.message
    return {"message": words, "code": error.provider_error_code or "", "type": kind}


def _body(error: foreign.ModelAPIError) -> bytes:
    if isinstance(error.body, str):
        return error.body.encode(errors="replace")  # no JSON: a web page, or plain words
    return msgspec.json.encode({"error": _said(error)})


def _refusal_behind(error: BaseException) -> tuple[int, dict[str, str]] | None:
    """Status and headers of a refusal that a library stumbled over while it was making an error of it."""
    for one in _chain(error):
        response = getattr(one, "response", None)
        status = getattr(response, "status_code", None)
        if isinstance(status, int) and status >= 400:
            headers = dict(getattr(response, "headers", {}))
            return status, {str(name).lower(): str(value) for name, value in headers.items()}
    return None


def _is_network(error: Exception) -> bool:
    """Whether the transport's own error came through, as it does in the middle of some streams."""
    home = type(error).__module__.partition(".")[0]
    return isinstance(error, httpx2.TransportError | OSError) or home in _TRANSPORTS


def _net_error(error: Exception, begun: bool) -> NetError:
    slow = isinstance(error, foreign.ModelTimeoutError | TimeoutError | httpx2.TimeoutException)
    code = "idle_timeout" if slow and begun else "first_byte_timeout" if slow else "connection_lost"
    words = _deepest_words(error)
    return NetError(f"the connection failed ({words})" if words else "the connection failed", code=code)


def _deepest_words(error: BaseException) -> str:
    """What the transport said: the SDKs have only "Connection error." for it."""
    words = ""
    for one in _chain(error):
        words = str(one) or words
    return words


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those behind it, the nearest first."""
    behind: BaseException | None = error
    for _ in range(_DEEPEST):
        if behind is None:
            return
        yield behind
        behind = behind.__cause__ or behind.__context__
