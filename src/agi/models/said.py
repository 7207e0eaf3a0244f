"""What a server says when it refuses is read, whatever its form: words, codes, a place in the request, a time to wait.

OpenAI's, Anthropic's and Google's errors, those of the servers that imitate them, and those of gateways that wrap one
in another. What they mean is `verdicts`' business. Pure. May import: nothing of ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

_DELAY = re.compile(r"(\d{1,7}(?:\.\d{1,9})?)s", re.ASCII)
_UNFIT = re.compile(r"\W+", re.ASCII)
_INSIDE = ("error", "detail", "upstream_error")
_DEEPEST = 6
_MOST_STEPS = 32
MAX_WORDS = 4000
"""Letters of a refusal that are looked at: what it is about stands at its beginning."""


class Said(NamedTuple):
    """What a server said of its failure: words for people, and its own code and type in one string."""

    message: str
    codes: str = ""
    status: int | None = None
    wait: float | None = None
    """Seconds after which it wants to be asked again, where the body says so."""
    where: str = ""
    """The place in the request it complains of, where it names one: `messages[2].content`, `body.input.3`."""

    @property
    def text(self) -> str:
        """All of it that is looked at for known words."""
        return f"{self.codes} {self.where} {self.message}"[:MAX_WORDS]


def read_body(body: bytes, content_type: str) -> Said:
    """Find the words in the body of a refusal, whatever its form."""
    start = body[:200].lstrip().lower()
    if "html" in content_type or start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return Said("a web page instead of a model's answer")
    try:
        return read_error(msgspec.json.decode(body))
    except (ValueError, RecursionError):
        return Said(body[:MAX_WORDS].decode(errors="replace"))


def read_error(error: object, deepest: int = _DEEPEST) -> Said:
    """Find the words in a decoded error: an object, Google's list, FastAPI's `detail`, or a plain string."""
    if deepest < 1:
        return Said("")
    if isinstance(error, str):
        return _read_words(error, deepest)
    if isinstance(error, list):
        return read_error(error[0], deepest - 1) if error else Said("")
    if not isinstance(error, dict):
        return Said("")
    for name in _INSIDE:
        if isinstance(error.get(name), dict | list | str) and error[name]:
            return read_error(error[name], deepest - 1)
    return _read_object(error, deepest)


def _read_object(error: Mapping[str, object], deepest: int) -> Said:
    told = read_error(error.get("message") or error.get("msg"), deepest - 1)
    behind = _read_behind(error.get("metadata"), deepest)
    codes = [str(error[name]) for name in ("code", "type", "status") if isinstance(error.get(name), str | int)]
    number = error.get("code")
    status = number if isinstance(number, int) and 400 <= number < 600 else None
    return Said(
        ": ".join(filter(None, (told.message, behind.message))),
        " ".join((*codes, *told.codes.split(), *behind.codes.split())),
        status or told.status,
        _read_wait(error.get("details")),
        _place(error) or told.where or behind.where,
    )


def _read_words(words: str, deepest: int) -> Said:
    """Gateways put the error of whoever they asked into theirs as a string."""
    if words[:200].lstrip().startswith(("{", "[")):
        try:
            inner = read_error(msgspec.json.decode(words), deepest - 1)
        except (ValueError, RecursionError):
            return Said(words)
        return inner if inner.message else Said(words)
    return Said(words)


def _read_behind(metadata: object, deepest: int) -> Said:
    """OpenRouter has only "Provider returned error" for a message, and what that one said beside it."""
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return read_error(raw, deepest - 1) if isinstance(raw, str | dict) else Said("")


def _place(error: Mapping[str, object]) -> str:
    """OpenAI's `param`, or FastAPI's `loc`, a list of steps."""
    if isinstance(param := error.get("param"), str):
        return param
    steps = error.get("loc")
    return ".".join(_UNFIT.sub("_", str(step)) for step in steps[:_MOST_STEPS]) if isinstance(steps, list) else ""


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
