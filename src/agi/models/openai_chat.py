"""OpenAI's Chat Completions, and every server that speaks it (Ollama, llama.cpp, vLLM, OpenRouter …) by its base URL.

It sends one request, reads one stream, and fails with one kind of error. It never asks twice: that is the loop's
business, as running the tools is. May import: errors, protocol, config, net, models.base and its own parts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.errors import Invalid, ModelError, TooLarge
from agi.models.base import ModelRequest, StreamItem
from agi.models.catalog import is_openai
from agi.models.failures import Failures
from agi.models.openai_chat_answer import Answer
from agi.models.openai_chat_format import LimitName, encode_request
from agi.net.http import HttpClient, NetError, Response, Timeouts
from agi.net.sse import SseEvent, SseParser
from agi.protocol.parts import ToolCallPart
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret

_MAX_REFUSAL = 64 * 1024


class Limits(Struct, frozen=True):
    """When an answer is given up that neither ends nor breaks."""

    silence: float = 900.0
    """Seconds with keep-alives but nothing said; a model may think for minutes."""
    total: float = 3600.0
    """Seconds for the whole answer."""
    size: int = 64 * 1024 * 1024
    """Bytes of the whole answer."""
    last_words: float = 5.0
    """Seconds to wait for the cost once the answer itself is complete."""
    after_done: float = 0.2
    """Seconds to wait for the end of the response once the server said that nothing more comes."""


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
        self._client = client
        self._provider = provider
        self._name = name
        self._url = base_url.rstrip("/") + "/chat/completions"
        # OpenAI's newer models refuse the old word, other servers do not know the new one.
        self._limit_name: LimitName = "max_completion_tokens" if is_openai(base_url) else "max_tokens"
        self._key = api_key
        self._timeouts = timeouts
        self._limits = limits or Limits()
        self._clock = clock
        self._failures = Failures(provider, name, api_key)

    @property
    def provider(self) -> str:
        """The provider's name in the configuration."""
        return self._provider

    @property
    def name(self) -> str:
        """The model's name as the provider spells it."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask; closing the iterator early hangs up. Raises ModelError, before or in the middle of the stream."""
        answer = Answer(self._failures)
        async with await self._ask(request) as response, aclosing(self._events(response)) as events:
            async for batch in events:
                for event in batch:
                    for item in answer.take(event.data, event.event):
                        yield item
                if answer.complete:
                    break
            for item in await self._last_words(events, answer):
                yield item
        for item in answer.finish(_used_ids(request) if answer.asks_for_tools else frozenset()):
            yield item

    async def _ask(self, request: ModelRequest) -> Response:
        headers = {"accept": "text/event-stream", "content-type": "application/json"}
        # A line end after the key, from a file or a shell, is so common that it is not worth an error.
        if self._key is not None and (key := self._key.reveal().strip()):
            headers["authorization"] = f"Bearer {key}"
        body = encode_request(self._name, request, limit_name=self._limit_name)
        try:
            return await self._client.request("POST", self._url, headers=headers, body=body, timeouts=self._timeouts)
        except NetError as error:
            raise self._failures.unreachable(error, begun=False) from error
        except Invalid as error:
            raise self._failures.unusable(error) from error

    def _events(self, response: Response) -> AsyncGenerator[list[SseEvent], None]:
        """The answer's events as they arrive, from a stream or from a body that should have been one."""
        if response.status == 200 and "json" in response.headers.get("content-type", ""):
            return self._whole(response)
        return self._streamed(response)

    async def _streamed(self, response: Response) -> AsyncGenerator[list[SseEvent], None]:
        await self._refuse_anything_else(response)
        parser, room, now = SseParser(), self._limits.size, asyncio.get_running_loop().time
        begun = heard = now()
        try:
            async with aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    room -= len(chunk)
                    events = parser.feed(chunk)
                    self._check(room, now() - begun, 0.0 if events else now() - heard)
                    if events:
                        yield events
                        heard = now()
        except NetError as error:
            raise self._failures.unreachable(error, begun=True) from error

    async def _whole(self, response: Response) -> AsyncGenerator[list[SseEvent], None]:
        """Some servers do not stream when there are tools: the whole answer is one event, and the last."""
        try:
            body = await response.read(self._limits.size)
        except NetError as error:
            raise self._failures.unreachable(error, begun=True) from error
        except TooLarge as error:
            raise self._failures.too_much(f"{self._limits.size} bytes") from error
        yield [SseEvent("message", body), SseEvent("message", b"[DONE]")]

    async def _refuse_anything_else(self, response: Response) -> None:
        if response.status == 200 and "html" not in response.headers.get("content-type", ""):
            return
        try:
            body = await response.read(_MAX_REFUSAL)
        except (NetError, TooLarge):
            body = b""
        if response.status == 200:
            raise self._failures.unreadable("answered with a web page instead of a model's answer")
        raise self._failures.refused(response.status, response.headers, body, self._clock())

    async def _last_words(self, events: AsyncIterator[list[SseEvent]], answer: Answer) -> list[StreamItem]:
        """What follows a complete answer: its cost. Reading to the end also lets the connection serve again."""
        items: list[StreamItem] = []
        try:
            async with asyncio.timeout(self._limits.after_done if answer.done else self._limits.last_words):
                async for batch in events:
                    for event in batch:
                        items.extend(answer.take(event.data, event.event))
        except (TimeoutError, ModelError):
            pass  # the answer was whole before; only what it cost stays unknown
        return items

    def _check(self, room: int, passed: float, silent: float) -> None:
        if room < 0:
            raise self._failures.too_much(f"{self._limits.size} bytes")
        if passed > self._limits.total:
            raise self._failures.too_much(f"{self._limits.total:.0f} s")
        if silent > self._limits.silence:
            raise self._failures.silent(silent)


def _used_ids(request: ModelRequest) -> frozenset[str]:
    parts = (part for message in request.messages for part in message.parts)
    return frozenset(part.content.id for part in parts if isinstance(part, ToolCallPart))
