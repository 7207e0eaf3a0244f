"""What a provider's failure means: a status, a body, a broken connection become one ModelError.

It names the provider and the model, repeats a little of what the server said with the key taken out, says whether
asking again may help, and which setting to look at. Asking again is the loop's business. May import: errors, config,
net, models.catalog.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from agi.errors import Invalid, ModelError
from agi.models.catalog import KEY_VARIABLES

if TYPE_CHECKING:
    from agi.config import Secret
    from agi.net.errors import NetError

MAX_SAID = 500
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[^\s\"',;)]{4,}")
_OVERFLOW = re.compile(
    r"context[_ ]length[_ ]exceeded|exceed_context_size|maximum context length|available context size|context overflow"
    r"|context (window|length|size) (is |of |was )?(exceed|too small)|maximum prompt length|request_too_large"
    r"|exceeds? (the |this |model'?s? |your )*(context|maximum (number of tokens|context|prompt))|reduce the length of"
    r"|(greater|longer|larger) than the (model'?s? )?(context|maximum)|too many (input )?tokens|input tokens exceed"
    r"|(prompt|input|request|conversation|messages?) (is|are) too (long|large)|string_above_max_length"
    r"|token limit exceeded|exceeded model token limit",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(r"model_not_found|model .{0,100}(not found|does not exist)|no such model", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits|balance|funds)", re.IGNORECASE
)
_PASSING = frozenset((408, 409, 429))
_DEEPEST = 4
_PASSES = "The provider has trouble of its own: try again a little later."
_HINTS = {
    "provider_auth": "Check the key: {key} in the configuration.",
    "model_not_found": "Check the model's name (--model, defaultModel) and {setting}.baseUrl.",
    "rate_limited": "The provider limits how often it is asked: wait a little, then try again.",
    "quota": "The account's quota is used up: look at its billing page, or choose another provider.",
    "context_overflow": "The conversation is longer than the model takes: begin a new one, or choose a larger model.",
    "redirect": "Check {setting}.baseUrl: redirects are not followed.",
    "network": "Check the network and {setting}.baseUrl.",
    "unreadable": "Check that {setting}.baseUrl is the address of an OpenAI-compatible API.",
    "stream_cut": "Try again; what was said so far is kept.",
    "provider_error": "Try again; if it stays, look at the provider's status page.",
}


class Said(NamedTuple):
    """What a server said of its failure: words for people, and its own code and type in one string."""

    message: str
    codes: str = ""
    status: int | None = None


class Failures:
    """Makes the errors of one model at one provider."""

    def __init__(self, provider: str, model: str, key: Secret | None) -> None:
        self._provider = provider
        self._who = f"{provider} ({model})"
        self._key = key

    def refused(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelError:
        """The server answered with another status than 200."""
        said = _read_body(body, headers.get("content-type", ""))
        message = self._clean(said.message)
        code = _code(status, f"{said.codes} {said.message}")
        quota = status == 429 and _QUOTA.search(f"{said.codes} {said.message}") is not None
        return ModelError(
            f"{self._who} answered {status}: {message}" if message else f"{self._who} answered {status}.",
            code=code,
            hint=self._hint("quota" if quota else "redirect" if 300 <= status < 400 else code, status),
            status=status,
            retryable=_may_pass(status) and not quota and code != "context_overflow",
            retry_after=read_retry_after(headers, now),
        )

    def reported(self, error: object) -> ModelError:
        """The server put an error into the stream."""
        said = _read_error(error)
        overflow = _OVERFLOW.search(f"{said.codes} {said.message}") is not None
        code = "context_overflow" if overflow else "provider_error"
        lasting = overflow or "invalid_request" in said.codes or not _may_pass(said.status or 500)
        message = self._clean(said.message) or "no reason given"
        return ModelError(
            f"{self._who} broke off its answer: {message}",
            code=code,
            hint=self._hint(code),
            status=said.status,
            retryable=not lasting,
        )

    def unreachable(self, error: NetError, *, begun: bool) -> ModelError:
        """The network failed, before the answer or in the middle of it."""
        cut = begun and error.code == "connection_lost"
        return ModelError(
            f"{self._who}: {self._clean(error.message)}",
            code="stream_cut" if cut else "provider_failed",
            hint=error.hint or self._hint("stream_cut" if cut else "network"),
            retryable=error.code != "tls_failed",
        )

    def unusable(self, error: Invalid) -> ModelError:
        """The request cannot even be sent: the address or the key is not fit for it."""
        return ModelError(f"{self._who}: {self._clean(error.message)}", hint=error.hint or self._hint("network"))

    def cut(self) -> ModelError:
        """The stream ended in order, but the answer did not."""
        message = f"{self._who} ended its answer in the middle, without saying that it was complete."
        return ModelError(message, code="stream_cut", hint=self._hint("stream_cut"), retryable=True)

    def silent(self, seconds: float) -> ModelError:
        """Only keep-alives arrived for too long."""
        message = f"{self._who} kept the connection open for {seconds:.0f} s without saying anything."
        return ModelError(message, hint="Try again; if this model thinks this long, ask it for less.", retryable=True)

    def too_much(self, what: str) -> ModelError:
        """The answer does not end."""
        return ModelError(f"{self._who} was cut off: its answer passed {what}.", hint="Ask for less at once.")

    def unreadable(self, what: str) -> ModelError:
        """What arrived is not in the format it should be in."""
        return ModelError(f"{self._who} {what}.", hint=self._hint("unreadable"), retryable=True)

    def _clean(self, text: str) -> str:
        """A little of what the server said, fit for a terminal and a log, and never the key."""
        text = _UNSEEN.sub("", " ".join(text.split()))
        key = self._key.reveal() if self._key else ""
        for secret in (key, key.strip()):
            if len(secret) >= 4:
                text = text.replace(secret, "[key]")
        text = _KEY_LIKE.sub("[key]", text)
        return text if len(text) <= MAX_SAID else text[: MAX_SAID - 1] + "…"

    def _hint(self, about: str, status: int = 0) -> str:
        setting = f"providers.{self._provider}"
        variable = KEY_VARIABLES.get(self._provider)
        key = f"{variable} or {setting}.apiKey" if variable else f"{setting}.apiKey"
        unknown = _PASSES if _may_pass(status) else "The provider does not accept the request as it is."
        return _HINTS.get(about, unknown).format(setting=setting, key=key)


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


def _code(status: int, said: str) -> str:
    if status in (401, 403):
        return "provider_auth"
    if status == 429:
        return "rate_limited"
    if status == 413 or _OVERFLOW.search(said):
        return "context_overflow"
    if status == 404 or (status in (400, 422) and _UNKNOWN_MODEL.search(said)):
        return "model_not_found"
    return "provider_failed"


def _may_pass(status: int) -> bool:
    return status in _PASSING or status >= 500


def _read_body(body: bytes, content_type: str) -> Said:
    """Find the words in the body of a refusal, whatever its form."""
    start = body[:200].lstrip().lower()
    if "html" in content_type or start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return Said("a web page instead of a model's answer")
    try:
        return _read_error(msgspec.json.decode(body))
    except (ValueError, RecursionError):
        return Said(body[: 8 * MAX_SAID].decode(errors="replace"))


def _read_error(error: object) -> Said:
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
    return Said(words if isinstance(words, str) else "", " ".join(codes), status)
