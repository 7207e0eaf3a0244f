"""The small-model profile: any model that keeps to a schema, led step by step so that even a small one gets there.

It is a model itself, so the loop knows nothing of it: requests are rewritten on the way in (`small_prompt`), steps are
read on the way out (`small_reading`). One tool call that worked, then the answer. May import: errors, protocol,
models.base and its own parts.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from agi.models.base import CallMade, Finished, Model, ModelRequest, StreamItem, TextDelta
from agi.models.small_prompt import before_the_question, beginning, plain_request, small_request
from agi.models.small_reading import StepReader
from agi.models.small_steps import usable
from agi.protocol.tools import ToolDefinition

PROFILE = "small"


@runtime_checkable
class Preparing(Protocol):
    """A model that can read a beginning ahead of time."""

    async def prepare(self, request: ModelRequest) -> None:
        """Read it, so that later requests which begin with it need not."""


@runtime_checkable
class TakesPatternsAsWritten(Protocol):
    """A model that takes a pattern in a schema as how the JSON is written, escapes and all."""

    patterns_as_written: bool


class SmallModel:
    """Leads another model; `most_calls` is how many tool calls that worked a turn may have."""

    profile = PROFILE

    def __init__(self, inner: Model, *, most_calls: int = 1) -> None:
        self._inner = inner
        self._most_calls = most_calls

    @property
    def provider(self) -> str:
        """The inner model's provider."""
        return self._inner.provider

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    def takes_schema(self, *, with_tools: bool) -> bool:
        """A schema of the caller's is passed on, and then there are no tools."""
        return True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask for the next step: a call, or the answer as it is written. Raises ModelError."""
        tools = usable(tool.name for tool in request.tools)
        if not tools or isinstance(request.options.get("schema"), dict):
            async with aclosing(self._inner.stream(plain_request(request))) as plain:
                async for item in plain:
                    yield item
            return
        await self._read_beginning(tools)
        as_written = isinstance(self._inner, TakesPatternsAsWritten) and self._inner.patterns_as_written
        small = small_request(request, most_calls=self._most_calls, as_written=as_written)
        reader = StepReader(small.tools, about=small.about)
        called = False
        async with aclosing(self._inner.stream(small.request)) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    for said in reader.take(item.text):
                        yield said
                elif isinstance(item, Finished):
                    for last in reader.finish(cut=item.stop_reason == "max_tokens"):
                        called = called or isinstance(last, CallMade)
                        yield last
                    yield replace(item, stop_reason="tool_calls") if called else item
                else:
                    yield item

    async def warm(self, system: str, tools: Sequence[ToolDefinition]) -> None:
        """Have everything read that is known before the first question; canceling stops it. Raises ModelError.

        For the moment a session is opened: whoever asks later waits for the question alone to be read.
        """
        known = usable(tool.name for tool in tools)
        if not known:
            return
        await self._read_beginning(known)
        async with aclosing(self._inner.stream(before_the_question(system, known))) as items:
            async for _ in items:
                pass

    async def _read_beginning(self, tools: Sequence[str]) -> None:
        if isinstance(self._inner, Preparing):
            await self._inner.prepare(beginning(tools))
