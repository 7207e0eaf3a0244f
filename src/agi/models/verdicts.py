"""What a server says when it refuses is read, whatever its form, and judged: which code, and may it pass.

The words of OpenAI, Anthropic, Google and the servers that imitate them. Pure; making an error of it is `failures`'
business. May import: nothing of ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

_OVERFLOW = re.compile(
    r"context[_ ]length[_ ]exceeded|exceed_context_size|maximum context length|available context size|context overflow"
    r"|context (window|length|size) (is |of |was )?(exceed|too small)|maximum prompt length|request_too_large"
    r"|exceeds? (the |this |model'?s? |your )*(context|maximum (number of tokens|context|prompt))|reduce the length of"
    r"|(greater|longer|larger) than the (model'?s? )?(context|maximum)|too many (input )?tokens|input tokens exceed"
    r"|(prompt|input|request|conversation|messages?) (is|are) too (long|large)|string_above_max_length"
    r"|token limit exceeded|exceeded model token limit|exceed context limit",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(r"model_not_found|model .{0,100}(not found|does not exist)|no such model", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits|balance|funds)|credit balance is too low",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api[_ ]key[_ ](not valid|invalid|expired)", re.IGNORECASE)
_DELAY = re.compile(r"(\d{1,7}(?:\.\d{1,9})?)s", re.ASCII)
_PASSING = frozenset((408, 409, 429))
# Errors inside a stream come without a status of their own; names that are not here mean the server's own trouble.
_STATUS_BY_NAME = {
    "invalid_request": 400,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "UNAUTHENTICATED": 401,
    "billing_error": 402,
    "permission_error": 403,
    "PERMISSION_DENIED": 403,
    "not_found_error": 404,
    "NOT_FOUND": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "RESOURCE_EXHAUSTED": 429,
}
_DEEPEST = 4
_MAX_PLAIN = 4000


class Said(NamedTuple):
    """What a server said of its failure: words for people, and its own code and type in one string."""

    message: str
    codes: str = ""
    status: int | None = None
    wait: float | None = None
    """Seconds after which it wants to be asked again, where the body says so."""

    @property
    def text(self) -> str:
        """All of it, to look for known words in."""
        return f"{self.codes} {self.message}"


class Verdict(NamedTuple):
    """What a failure is: our code for it, and whether asking again may help."""

    code: str
    retryable: bool
    about: str
    """What the hint is about: the code, or something closer."""


def judge(status: int | None, said: Said) -> Verdict:
    """What a status and the words that came with it mean; without a status they say by name what it would have been."""
    if status is None:
        named = (_STATUS_BY_NAME.get(name) for name in said.codes.split())
        status = said.status or next(filter(None, named), 500)
    code = _code(status, said.text)
    # Google calls a limit that passes within a minute a quota, too; there the body says how long to wait.
    quota = status == 402 or (status in (400, 403, 429) and said.wait is None and _QUOTA.search(said.text) is not None)
    retryable = may_pass(status) and not quota and code != "context_overflow"
    return Verdict(code, retryable, "quota" if quota else "redirect" if 300 <= status < 400 else code)


def _code(status: int, said: str) -> str:
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(said)):
        return "provider_auth"
    if status == 429:
        return "rate_limited"
    if status == 413 or _OVERFLOW.search(said):
        return "context_overflow"
    if status == 404 or (status in (400, 422) and _UNKNOWN_MODEL.search(said)):
        return "model_not_found"
    return "provider_failed"


def may_pass(status: int) -> bool:
    """Whether a status speaks of something that passes by itself."""
    return status in _PASSING or status >= 500


def read_body(body: bytes, content_type: str) -> Said:
    """Find the words in the body of a refusal, whatever its form."""
    start = body[:200].lstrip().lower()
    if "html" in content_type or start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return Said("a web page instead of a model's answer")
    try:
        return read_error(msgspec.json.decode(body))
    except (ValueError, RecursionError):
        return Said(body[:_MAX_PLAIN].decode(errors="replace"))


def read_error(error: object) -> Said:
    """Find the words in a decoded error: OpenAI's, Google's list, FastAPI's `detail`, or a plain string."""
    for _ in range(_DEEPEST):
        if isinstance(error, list) and error:
            error = error[0]
        elif isinstance(error, dict) and (error.get("error") or error.get("detail")):
            error = error.get("error") or error["detail"]
    if isinstance(error, str):
        return Said(error)
    if not isinstance(error, dict):
        return Said("")
    words = error.get("message") or error.get("msg")
    codes = [str(error[name]) for name in ("code", "type", "status") if isinstance(error.get(name), str | int)]
    number = error.get("code")
    status = number if isinstance(number, int) and 400 <= number < 600 else None
    return Said(words if isinstance(words, str) else "", " ".join(codes), status, _read_wait(error.get("details")))


def _read_wait(details: object) -> float | None:
    """How long Google asks to wait: `retryDelay` in one of the details, such as `"34.5s"`."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (found := _DELAY.fullmatch(delay)):
            return float(found[1])
    return None


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """How many seconds the server asks to wait, from `retry-after-ms` or `retry-after` (seconds or a date)."""
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1000
    text = headers.get("retry-after", "").strip()
    return _number(text) if not text or text[0] in "0123456789.+-" else _until(text, now)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # late: heavy, and hardly ever needed

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
