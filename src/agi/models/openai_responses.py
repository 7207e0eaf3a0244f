"""OpenAI's Responses, and every server that speaks it, by its base URL.

It sends one request, reads one stream, and fails with one kind of error. Nothing is kept at the provider: each request
has the whole conversation, with what the model thought sealed in it. It never asks twice: that is the loop's business,
as running the tools is. May import: config, net, protocol, models.base, models.catalog, models.limits,
models.retelling, models.streaming and its own parts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from agi.models.base import ModelRequest, StreamItem
from agi.models.catalog import is_openai
from agi.models.limits import PATIENT, USUAL, Limits, chosen
from agi.models.openai_responses_answer import ResponsesAnswer
from agi.models.openai_responses_failures import ResponsesFailures
from agi.models.openai_responses_format import encode_request
from agi.models.retelling import Retelling
from agi.models.streaming import Wire, key_text
from agi.net.http import HttpClient
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret
    from agi.config.values import TimeoutSettings


class OpenAIResponses:
    """One model behind `{base_url}/responses`."""

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
        self._url = base_url.rstrip("/") + "/responses"
        self._key = api_key
        self._failures = ResponsesFailures(provider, name, api_key)
        built_in = limits or (USUAL if is_openai(base_url) else PATIENT)
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
        key = key_text(self._key)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        body = encode_request(self._provider, self._name, request, self._retelling)
        failures = self._failures.about(request, body)
        return self._wire.stream(self._url, headers, body, ResponsesAnswer(failures), failures)
