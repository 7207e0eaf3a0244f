"""Anthropic's Messages, and every server that speaks it, by its base URL.

It sends one request, reads one stream, and fails with one kind of error. It never asks twice: that is the loop's
business, as running the tools is. May import: config, net, protocol, models.base, models.failures, models.streaming and
its own parts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from agi.models.anthropic_answer import AnthropicAnswer
from agi.models.anthropic_format import encode_request
from agi.models.base import ModelRequest, StreamItem
from agi.models.failures import Failures
from agi.models.streaming import Limits, Wire, key_text
from agi.net.http import HttpClient, Timeouts
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret

ANTHROPIC_URL = "https://api.anthropic.com"
# The next version takes no `temperature` and no `top_p`, and servers of others hardly know it
# (https://platform.claude.com/docs/en/api/versioning).
_VERSION = "2023-06-01"


class Anthropic:
    """One model behind `{base_url}/v1/messages`; a base URL that ends in `/v1` is understood too."""

    def __init__(
        self,
        client: HttpClient,
        *,
        provider: str,
        name: str,
        base_url: str = ANTHROPIC_URL,
        api_key: Secret | None,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._provider = provider
        self._name = name
        self._url = base_url.rstrip("/").removesuffix("/v1") + "/v1/messages"
        self._key = api_key
        self._limits = limits or Limits()
        self._failures = Failures(provider, name, api_key, api="an Anthropic-compatible API")
        self._wire = Wire(client, self._failures, timeouts=timeouts, limits=self._limits, clock=clock)

    @property
    def provider(self) -> str:
        """The provider's name in the configuration."""
        return self._provider

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""
        return self._name

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask; closing the iterator early hangs up. Raises ModelError, before or in the middle of the stream."""
        headers = {"anthropic-version": _VERSION}
        if key := key_text(self._key):
            headers["x-api-key"] = key
        body = encode_request(self._provider, self._name, request)
        return self._wire.stream(self._url, headers, body, AnthropicAnswer(self._failures, self._limits))
