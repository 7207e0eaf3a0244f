"""What Google's errors mean beyond what every provider's do: which quota is used up, and what is too large.

Its quota errors all say the same words and differ in their details only. The rest is `failures`' business.
May import: config, errors, models.failures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agi.errors import ModelError
from agi.models.failures import Failures

if TYPE_CHECKING:
    from agi.config import Secret

_LASTING = re.compile(r"per ?(day|month)", re.IGNORECASE)
_TOO_LARGE = re.compile(r"payload size exceeds the limit", re.IGNORECASE)


class _Violation(Struct, frozen=True, rename="camel"):
    quota_id: str = ""


class _Detail(Struct, frozen=True):
    violations: list[_Violation] = []


class _Error(Struct, frozen=True):
    details: list[_Detail] = []


class _Body(Struct, frozen=True):
    error: _Error = _Error()


_decode_one = msgspec.json.Decoder(_Body).decode
_decode_list = msgspec.json.Decoder(list[_Body]).decode


class GeminiFailures(Failures):
    """Makes the errors of one Gemini model."""

    def __init__(self, provider: str, model: str, key: Secret | None) -> None:
        super().__init__(provider, model, key, api="Google's Gemini API")

    def refused(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelError:
        """The server answered with another status than 200."""
        return self._refine(super().refused(status, headers, body, now), _read_body(body))

    def reported(self, error: object) -> ModelError:
        """The server put an error into the stream."""
        return self._refine(super().reported(error), _read_error(error))

    def _refine(self, failure: ModelError, error: _Error) -> ModelError:
        quotas = [violation.quota_id for detail in error.details for violation in detail.violations]
        if failure.status == 429 and quotas:
            lasting = any(map(_LASTING.search, quotas))
            failure.retryable, failure.hint = not lasting, self._hint("quota" if lasting else "rate_limited")
        elif failure.status == 400 and _TOO_LARGE.search(failure.message):
            failure.code, failure.hint = "context_overflow", self._hint("context_overflow")
        return failure


def _read_body(body: bytes) -> _Error:
    try:
        bodies = _decode_list(body) if body.lstrip().startswith(b"[") else [_decode_one(body)]
    except (ValueError, RecursionError):
        return _Error()
    return bodies[0].error if bodies else _Error()


def _read_error(error: object) -> _Error:
    try:
        return msgspec.convert(error, type=_Error)
    except (ValueError, RecursionError):
        return _Error()
