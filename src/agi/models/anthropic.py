"""Anthropic's Messages, and every server that speaks it, by its base URL.

It sends one request, reads one stream, and fails with one kind of error. It never asks twice: that is the loop's
business, as running the tools is. May import: config, net, protocol, models.base, models.catalog, models.failures,
models.limits, models.retelling, models.streaming and its own parts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from agi.models.anthropic_answer import AnthropicAnswer
from agi.models.anthropic_format import encode_request
from agi.models.base import ModelRequest, StreamItem
from agi.models.catalog import is_own
from agi.models.failures import Failures
from agi.models.limits import PATIENT, USUAL, Limits, chosen
from agi.models.retelling import Retelling
from agi.models.streaming import Wire, key_text
from agi.net.http import HttpClient
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret
    from agi.config.values import TimeoutSettings

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
        timeouts: TimeoutSettings | None = None,
        limits: Limits | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._provider = provider
        self._name = name
        self._url = base_url.rstrip("/").removesuffix("/v1") + "/v1/messages"
        self._key = api_key
        self._failures = Failures(provider, name, api_key, api="an Anthropic-compatible API")
        built_in = limits or (USUAL if is_own("anthropic", base_url.rstrip("/").removesuffix("/v1")) else PATIENT)
        self._retelling = Retelling()
        self._wire = Wire(client, limits=chosen(built_in, timeouts), clock=clock)

    @property
    def provider(self) -> str:
        """The provider's name in the configuration."""
        return self._provider

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""
        return self._name

    def takes_schema(self, *, with_tools: bool) -> bool:
        """Whether the provider itself keeps to `options.schema`."""
        return True

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask; closing the iterator early hangs up. Raises ModelError, before or in the middle of the stream."""
        headers = {"anthropic-version": _VERSION}
        if key := key_text(self._key):
            headers["x-api-key"] = key
        body = encode_request(self._provider, self._name, request, self._retelling)
        failures = self._failures.about(request, body)
        return self._wire.stream(self._url, headers, body, AnthropicAnswer(failures), failures)
