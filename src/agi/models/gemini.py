"""Google's Gemini models, at Google's own API or at a server that speaks it, by its base URL.

It sends one request, reads one stream, and fails with one kind of error. It never asks twice: that is the loop's
business, as running the tools is. The key goes into a header and never into the URL. May import: config, net,
protocol, models.base, models.limits, models.retelling, models.streaming and its own parts.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from agi.models.base import ModelRequest, StreamItem
from agi.models.gemini_answer import GeminiAnswer
from agi.models.gemini_failures import GeminiFailures
from agi.models.gemini_format import encode_request, is_new
from agi.models.limits import PATIENT, Limits, chosen
from agi.models.retelling import Retelling
from agi.models.streaming import Wire, key_text
from agi.net.http import HttpClient
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret
    from agi.config.values import TimeoutSettings

GEMINI_URL = "https://generativelanguage.googleapis.com"
"""Where Google serves them."""

_VERSIONED = re.compile(r"/v[0-9]+[a-z0-9]*$", re.ASCII)
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Gemini:
    """One model behind `{base_url}/v1beta/models/{name}:streamGenerateContent`."""

    def __init__(
        self,
        client: HttpClient,
        *,
        provider: str,
        name: str,
        base_url: str,
        api_key: Secret | None,
        timeouts: TimeoutSettings | None = None,
        limits: Limits | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._provider = provider
        self._name = name
        self._url = _address(base_url, name)
        self._key = api_key
        self._failures = GeminiFailures(provider, name, api_key)
        # Calls come whole in this format, however large they are, and nothing comes before the first word.
        self._retelling = Retelling()
        self._wire = Wire(client, limits=chosen(limits or PATIENT, timeouts), clock=clock)

    @property
    def provider(self) -> str:
        """The provider's name in the configuration."""
        return self._provider

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""
        return self._name

    def takes_schema(self, *, with_tools: bool) -> bool:
        """Whether the provider itself keeps to `options.schema`: older models do not beside tools."""
        return not with_tools or is_new(self._name)

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask; closing the iterator early hangs up. Raises ModelError, before or in the middle of the stream."""
        key = key_text(self._key)
        headers = {"x-goog-api-key": key} if key else {}
        body = encode_request(self._provider, self._name, request, self._retelling)
        failures = self._failures.about(request, body)
        return self._wire.stream(self._url, headers, body, GeminiAnswer(failures), failures)


def _address(base_url: str, name: str) -> str:
    """Where a model is asked; both the server's address and that of one of its versions are base URLs in use."""
    base = base_url.rstrip("/")
    version = "" if _VERSIONED.search(base) else "/v1beta"
    kind, slash, rest = name.partition("/")
    family, model = (kind, rest) if slash and kind in ("models", "tunedModels") else ("models", name)
    return f"{base}{version}/{family}/{_quoted(model)}:streamGenerateContent?alt=sse"


def _quoted(name: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())
