"""The floor under an adapter: a streamed answer by httpx2 and msgspec, by hand.

It reads, splits the events, decodes them into typed structs and collects the text; it forgives and checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
from msgspec import Struct


class _Delta(Struct):
    content: str | None = None


class _Choice(Struct):
    delta: _Delta


class _ChatChunk(Struct):
    choices: list[_Choice]


class _ResponsesEvent(Struct):
    type: str
    delta: str = ""


class _BlockDelta(Struct):
    text: str = ""


class _AnthropicEvent(Struct):
    type: str
    delta: _BlockDelta | None = None


class _Part(Struct):
    text: str = ""


class _Content(Struct):
    parts: list[_Part]


class _Candidate(Struct):
    content: _Content


class _GeminiChunk(Struct):
    candidates: list[_Candidate]


def _chat(chunk: _ChatChunk) -> str:
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""


def _responses(event: _ResponsesEvent) -> str:
    return event.delta if event.type == "response.output_text.delta" else ""


def _anthropic(event: _AnthropicEvent) -> str:
    return event.delta.text if event.type == "content_block_delta" and event.delta else ""


def _gemini(chunk: _GeminiChunk) -> str:
    return "".join([part.text for part in chunk.candidates[0].content.parts])


_TURNS = [{"role": "user", "content": "go"}]
_FORMATS: dict[str, tuple[str, dict[str, Any], type[Struct], Callable[[Any], str]]] = {
    "openai chat": ("/chat/completions", {"messages": _TURNS, "stream": True}, _ChatChunk, _chat),
    "openai responses": ("/responses", {"input": "go", "stream": True}, _ResponsesEvent, _responses),
    "anthropic messages": (
        "/messages",
        {"messages": _TURNS, "max_tokens": 9, "stream": True},
        _AnthropicEvent,
        _anthropic,
    ),
    "gemini": ("/models/script:streamGenerateContent?alt=sse", {"contents": []}, _GeminiChunk, _gemini),
}
"""Path, question, the struct of an event, and how its text is found."""


async def read(client: httpx2.AsyncClient, format: str, url: str) -> str:
    """Ask once; what was said."""
    path, body, kind, text_of = _FORMATS[format]
    decode = msgspec.json.Decoder(kind).decode
    said, rest = [], b""
    async with client.stream("POST", url + path, json={"model": "script", **body}) as response:
        async for piece in response.aiter_bytes():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                    said.append(text_of(decode(line[6:])))
    return "".join(said)
