"""OpenAI's Chat Completions, and every server that speaks it (Ollama, llama.cpp, vLLM, OpenRouter …) by its base URL.

It sends one request, reads one stream, and fails with one kind of error. It never asks twice: that is the loop's
business, as running the tools is. May import: config, net, protocol, models.base, models.catalog, models.failures,
models.limits, models.retelling, models.streaming and its own parts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from agi.models.base import ModelRequest, StreamItem
from agi.models.catalog import is_openai
from agi.models.failures import Failures
from agi.models.limits import PATIENT, USUAL, Limits, chosen
from agi.models.openai_chat_answer import ChatAnswer
from agi.models.openai_chat_format import LimitName, encode_request
from agi.models.retelling import Retelling
from agi.models.streaming import Wire, key_text
from agi.net.http import HttpClient
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret
    from agi.config.values import TimeoutSettings


class OpenAIChat:
    """One model behind `{base_url}/chat/completions`."""

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
        self._url = base_url.rstrip("/") + "/chat/completions"
        # OpenAI's newer models refuse the old word, other servers do not know the new one.
        self._is_openai = is_openai(base_url)
        self._limit_name: LimitName = "max_completion_tokens" if self._is_openai else "max_tokens"
        self._key = api_key
        self._failures = Failures(provider, name, api_key)
        built_in = limits or (USUAL if self._is_openai else PATIENT)
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
        body = encode_request(
            self._provider, self._name, request, limit_name=self._limit_name, retelling=self._retelling
        )
        failures = self._failures.about(request, body)
        stream = self._wire.stream(self._url, headers, body, ChatAnswer(failures), failures)
        if self._is_openai or not request.tools:
            return stream
        from agi.models.written import with_written_calls  # late: servers of one's own, with tools

        return with_written_calls(stream, {tool.name for tool in request.tools})
