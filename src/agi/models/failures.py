"""What a provider's failure means: a status, a body, a broken connection become one ModelError.

It names the provider and the model, repeats a little of what the server said with the key taken out, says whether
asking again may help, and which setting to look at. Asking again is the loop's business. May import: errors, config,
net, models.catalog, models.verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agi.errors import Invalid, ModelError
from agi.models.catalog import BUILT_IN
from agi.models.verdicts import judge, may_pass, read_body, read_error, read_retry_after

if TYPE_CHECKING:
    from agi.config import Secret
    from agi.net.errors import NetError

MAX_SAID = 500
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|rk|gsk|xai)-|AIza)[^\s\"',;)]{4,}")
_ASKED_FOR = {"true": True, "false": False}
"""Some servers say in a header whether asking again may help, and know it best."""
_PASSES = "The provider has trouble of its own: try again a little later."
_HINTS = {
    "provider_auth": "Check the key: {key} in the configuration.",
    "model_not_found": "Check the model's name (--model, defaultModel) and {setting}.baseUrl.",
    "rate_limited": "The provider limits how often it is asked: wait a little, then try again.",
    "quota": "The account's quota is used up: look at its billing page, or choose another provider.",
    "context_overflow": "The conversation is longer than the model takes: begin a new one, or choose a larger model.",
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

    def refused(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelError:
        """The server answered with another status than 200."""
        said = read_body(body, headers.get("content-type", ""))
        message = self._clean(said.message)
        code, retryable, about = judge(status, said)
        told = read_retry_after(headers, now)
        return ModelError(
            f"{self._who} answered {status}: {message}" if message else f"{self._who} answered {status}.",
            code=code,
            hint=self._hint(about, status),
            status=status,
            retryable=_ASKED_FOR.get(headers.get("x-should-retry", ""), retryable),
            retry_after=said.wait if told is None else told,
        )

    def reported(self, error: object) -> ModelError:
        """The server put an error into the stream."""
        said = read_error(error)
        code, retryable, about = judge(None, said)
        message = self._clean(said.message) or "no reason given"
        return ModelError(
            f"{self._who} broke off its answer: {message}",
            code="provider_error" if code == "provider_failed" else code,
            hint=self._hint("provider_error" if about == "provider_failed" else about),
            status=said.status,
            retryable=retryable,
            retry_after=said.wait,
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
        built_in = BUILT_IN.get(self._provider)
        variable = built_in.variable if built_in else None
        key = f"{variable} or {setting}.apiKey" if variable else f"{setting}.apiKey"
        unknown = _PASSES if may_pass(status) else "The provider does not accept the request as it is."
        return _HINTS.get(about, unknown).format(setting=setting, key=key, api=self._api)
