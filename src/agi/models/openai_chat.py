"""OpenAI's Chat Completions, and every server that speaks it (Ollama, llama.cpp, vLLM, OpenRouter …) by its base URL.

It sends one request, reads one stream, and fails with one kind of error. It never asks twice: that is the loop's
business, as running the tools is. May import: config, net, protocol, models.base, models.catalog, models.failures,
models.streaming and its own parts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from agi.models.base import ModelRequest, StreamItem
from agi.models.catalog import is_openai
from agi.models.failures import Failures
from agi.models.openai_chat_answer import ChatAnswer
from agi.models.openai_chat_format import LimitName, encode_request
from agi.models.streaming import Limits, Wire, key_text
from agi.net.http import HttpClient, Timeouts
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret


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
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._provider = provider
        self._name = name
        self._url = base_url.rstrip("/") + "/chat/completions"
        # OpenAI's newer models refuse the old word, other servers do not know the new one.
        self._limit_name: LimitName = "max_completion_tokens" if is_openai(base_url) else "max_tokens"
        self._key = api_key
        self._failures = Failures(provider, name, api_key)
        self._wire = Wire(client, self._failures, timeouts=timeouts, limits=limits, clock=clock)

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
        key = key_text(self._key)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        body = encode_request(self._provider, self._name, request, limit_name=self._limit_name)
        return self._wire.stream(self._url, headers, body, ChatAnswer(self._failures))
