"""What a provider's failure means: a status, a body, a broken connection become one ModelError.

It names the provider and the model, repeats a little of what the server said with the key taken out, says whether
asking again may help, which setting to look at, and which attachments are to blame. Asking again is the loop's
business. What reads and judges a server's words is imported late: only a failure needs it. May import: errors, config,
net, models.base, models.catalog, models.poison, models.said, models.verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Self

from agi.errors import Invalid, ModelError
from agi.models.catalog import BUILT_IN

if TYPE_CHECKING:
    from agi.config import Secret
    from agi.models.base import ModelRequest
    from agi.models.said import Said
    from agi.models.verdicts import Verdict
    from agi.net.errors import NetError

Stalled = Literal["first_byte", "idle", "thinking"]

MAX_SAID = 500
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|rk|gsk|xai)-|AIza)[^\s\"',;)]{4,}")
_ASKED_FOR = {"true": True, "false": False}
"""Some servers say in a header whether asking again may help, and know it best."""
_FOR_GOOD = frozenset(("context_overflow", "reasoning_refused", "schema_refused", "part_refused"))
"""The same request is refused for these however often it is sent; a changed one may be taken."""
_PASSES = "The provider has trouble of its own: try again a little later."
_HINTS = {
    "provider_auth": "Check the key: {key} in the configuration.",
    "model_not_found": "Check the model's name (--model, defaultModel) and {setting}.baseUrl.",
    "rate_limited": "The provider limits how often it is asked: wait a little, then try again.",
    "quota": "The account's quota is used up: look at its billing page, or choose another provider.",
    "context_overflow": "The conversation is longer than the model takes: begin a new one, or choose a larger model.",
    "reasoning_refused": "The provider does not take back what the model thought before: ask again without it.",
    "schema_refused": "This model does not take a schema for its answer: choose another model, or ask without one.",
    "part_refused": "The provider does not accept an attachment: leave it out, or send it in another form.",
    "first_byte": "Try again; if this server takes this long to begin, raise {setting}.timeouts.firstByteSeconds.",
    "idle": "Try again; if this model pauses this long in the middle, raise {setting}.timeouts.idleSeconds.",
    "thinking": "Try again; if this model thinks this long, raise {setting}.timeouts.thinkingSeconds.",
    "connect_timeout": "Check the network and {setting}.baseUrl, or raise {setting}.timeouts.connectSeconds.",
    "redirect": "Check {setting}.baseUrl: redirects are not followed.",
    "network": "Check the network and {setting}.baseUrl.",
    "unreadable": "Check that {setting}.baseUrl is the address of {api}.",
    "stream_cut": "Try again; what was said so far is kept.",
    "provider_error": "Try again; if it stays, look at the provider's status page.",
}


class Failures:
    """Makes the errors of one model at one provider; `api` says what its address should be the address of."""

    def __init__(self, provider: str, model: str, key: Secret | None, *, api: str = "an OpenAI-compatible API") -> None:
        self._provider = provider
        self._who = f"{provider} ({model})"
        self._key = key
        self._api = api
        self._body = b""
        self._files: Mapping[str, bytes] = {}
        self._has_schema = True

    def about(self, request: ModelRequest, body: bytes) -> Self:
        """The same for one request as it is sent: its attachments can be blamed, and its schema if it has one."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._body, made._files = body, request.files
        made._has_schema = isinstance(request.options.get("schema"), dict)
        return made

    def refused(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelError:
        """The server answered with another status than 200."""
        from agi.models.said import read_body, read_retry_after

        said = read_body(body, headers.get("content-type", ""))
        message = self._clean(said.message)
        (code, retryable, about, _), parts = self._judge(status, said)
        told = read_retry_after(headers, now)
        return ModelError(
            f"{self._who} answered {status}: {message}" if message else f"{self._who} answered {status}.",
            code=code,
            hint=self._hint(about, status),
            status=status,
            retryable=code not in _FOR_GOOD and _ASKED_FOR.get(headers.get("x-should-retry", ""), retryable),
            retry_after=said.wait if told is None else told,
            parts=parts,
        )

    def reported(self, error: object) -> ModelError:
        """The server put an error into the stream."""
        from agi.models.said import read_error

        said = read_error(error)
        (code, retryable, about, _), parts = self._judge(None, said)
        message = self._clean(said.message) or "no reason given"
        return ModelError(
            f"{self._who} broke off its answer: {message}",
            code="provider_error" if code == "provider_failed" else code,
            hint=self._hint("provider_error" if about == "provider_failed" else about),
            status=said.status,
            retryable=retryable,
            retry_after=said.wait,
            parts=parts,
        )

    def unreachable(self, error: NetError, *, begun: bool) -> ModelError:
        """The network failed, before the answer or in the middle of it."""
        cut = begun and error.code == "connection_lost"
        slow = error.code == "connect_timeout"
        return ModelError(
            f"{self._who}: {self._clean(error.message)}",
            code="stream_cut" if cut else "provider_failed",
            hint=self._hint("connect_timeout")
            if slow
            else error.hint or self._hint("stream_cut" if cut else "network"),
            retryable=error.code != "tls_failed",
        )

    def unusable(self, error: Invalid) -> ModelError:
        """The request cannot even be sent: the address or the key is not fit for it."""
        return ModelError(f"{self._who}: {self._clean(error.message)}", hint=error.hint or self._hint("network"))

    def cut(self) -> ModelError:
        """The stream ended in order, but the answer did not."""
        message = f"{self._who} ended its answer in the middle, without saying that it was complete."
        return ModelError(message, code="stream_cut", hint=self._hint("stream_cut"), retryable=True)

    def stalled(self, waited_for: Stalled, seconds: float) -> ModelError:
        """Nothing came for too long, or nothing but keep-alives."""
        if waited_for == "first_byte":
            message = f"{self._who} did not begin to answer within {seconds:g} s."
        else:
            message = f"{self._who} kept the connection open for {seconds:g} s without saying anything."
        return ModelError(message, code="stalled", hint=self._hint(waited_for), retryable=True)

    def overflowed(self) -> ModelError:
        """The answer ended because the model's context was full."""
        message = f"{self._who} broke off its answer: the conversation has come to the end of its context window."
        return ModelError(message, code="context_overflow", hint=self._hint("context_overflow"))

    def too_much(self, what: str, *, setting: str = "") -> ModelError:
        """The answer does not end."""
        more = f", or raise providers.{self._provider}.timeouts.{setting}" if setting else ""
        return ModelError(f"{self._who} was cut off: its answer passed {what}.", hint=f"Ask for less at once{more}.")

    def unreadable(self, what: str) -> ModelError:
        """What arrived is not in the format it should be in."""
        return ModelError(f"{self._who} {what}.", hint=self._hint("unreadable"), retryable=True)

    def _judge(self, status: int | None, said: Said) -> tuple[Verdict, tuple[str, ...]]:
        """What a refusal means, and which attachments are to blame for it."""
        from agi.models.poison import blame
        from agi.models.verdicts import is_too_long, judge, may_pass

        verdict = judge(status, said)
        if verdict.code == "schema_refused" and not self._has_schema:
            about = "provider_failed"
            verdict = verdict._replace(code=about, about=about, retryable=may_pass(verdict.status))
        if not self._files or verdict.code in ("provider_auth", "rate_limited", "reasoning_refused"):
            return verdict, ()
        # A conversation that is too long may have pictures in it that have nothing to do with that.
        only_exactly = is_too_long(said)
        parts = blame(said.text, self._body, self._files, only_exactly=only_exactly, passing=verdict.retryable)
        if parts:
            verdict = verdict._replace(code="part_refused", about="part_refused", retryable=False)
        return verdict, parts

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
        from agi.models.verdicts import may_pass

        setting = f"providers.{self._provider}"
        built_in = BUILT_IN.get(self._provider)
        variable = built_in.variable if built_in else None
        key = f"{variable} or {setting}.apiKey" if variable else f"{setting}.apiKey"
        unknown = _PASSES if may_pass(status) else "The provider does not accept the request as it is."
        return _HINTS.get(about, unknown).format(setting=setting, key=key, api=self._api)
