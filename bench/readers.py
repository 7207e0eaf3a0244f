"""One streamed answer read in three ways: by our adapter, by a bare script, by the provider's own SDK.

Run as `python -m bench.readers ours|floor|sdk FORMAT`: it reads one answer from each URL that comes in on its stdin,
and prints the CPU that took and what was heard. Each way is a process of its own: none pays for another's imports.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import import_module
from typing import Any

Read = Callable[[], Awaitable[str]]
Stream = Callable[[], AsyncIterator[str]]
FORMATS = {
    "openai chat": ("agi.models.openai_chat", "OpenAIChat"),
    "openai responses": ("agi.models.openai_responses", "OpenAIResponses"),
    "anthropic messages": ("agi.models.anthropic", "Anthropic"),
    "gemini": ("agi.models.gemini", "Gemini"),
}
"""Each wire format, and where its adapter is."""


def ours(format: str, url: str) -> Read:
    """The adapter, as the loop uses it."""
    from agi.models.base import ModelRequest, TextDelta
    from agi.net.http import HttpClient
    from agi.protocol.messages import Message
    from agi.protocol.parts import Text

    module, name = FORMATS[format]
    adapter = getattr(import_module(module), name)
    model = adapter(HttpClient(), provider="script", name="script", base_url=url, api_key=None)
    asked = Message(id="msg_1", role="user", parts=(Text(text="go"),), created_at="", status="complete")
    request = ModelRequest(system="", messages=(asked,))

    async def read() -> str:
        return "".join([item.text async for item in model.stream(request) if isinstance(item, TextDelta)])

    return read


def floor(format: str, url: str) -> Read:
    """httpx2 and msgspec, by hand."""
    import httpx2

    from bench import bare

    client = httpx2.AsyncClient(timeout=60, trust_env=False)
    return lambda: bare.read(client, format, url)


def sdk(format: str, url: str) -> Read:
    """The SDK's plain stream of events: it has helpers that add them up, which cost more."""
    stream = _SDKS[format](url)

    async def read() -> str:
        return "".join([text async for text in stream()])

    return read


def _openai_chat(url: str) -> Stream:
    import openai

    create = openai.AsyncOpenAI(base_url=url, api_key="none").chat.completions.create

    async def stream() -> AsyncIterator[str]:
        asked: Any = [{"role": "user", "content": "go"}]
        async for chunk in await create(model="script", messages=asked, stream=True):
            if chunk.choices:
                yield chunk.choices[0].delta.content or ""

    return stream


def _openai_responses(url: str) -> Stream:
    import openai

    create = openai.AsyncOpenAI(base_url=url, api_key="none").responses.create

    async def stream() -> AsyncIterator[str]:
        async for event in await create(model="script", input="go", stream=True):
            if event.type == "response.output_text.delta":
                yield event.delta

    return stream


def _anthropic(url: str) -> Stream:
    import anthropic

    create = anthropic.AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key="none").messages.create

    async def stream() -> AsyncIterator[str]:
        asked: Any = [{"role": "user", "content": "go"}]
        async for event in await create(model="script", max_tokens=9, messages=asked, stream=True):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text

    return stream


def _gemini(url: str) -> Stream:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=url.removesuffix("/v1"), api_version="v1beta")
    client = genai.Client(api_key="none", http_options=options)  # by name: one that nobody holds closes itself

    async def stream() -> AsyncIterator[str]:
        async for chunk in await client.aio.models.generate_content_stream(model="script", contents="go"):
            yield chunk.text or ""

    return stream


_SDKS: dict[str, Callable[[str], Stream]] = {
    "openai chat": _openai_chat,
    "openai responses": _openai_responses,
    "anthropic messages": _anthropic,
    "gemini": _gemini,
}


async def main(way: str, format: str) -> None:
    """Read an answer whenever a URL comes in, with one client for each."""
    client_of = {"ours": ours, "floor": floor, "sdk": sdk}[way]
    known: dict[str, Read] = {}
    for line in sys.stdin:
        url = line.strip()
        read = known[url] = known.get(url) or client_of(format, url)
        before = time.process_time()
        text = await read()
        print(json.dumps({"cpu_ms": (time.process_time() - before) * 1000, "text": text}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
