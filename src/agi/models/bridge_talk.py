"""One question over the bridge: asked once, told as it comes, hung up when nobody listens any more.

It uses the models of pydantic-ai as they are: no agent, no retries, no tools run. A provider that stays silent or never
ends is given up. May import: errors, models.base, models.failures, models.limits and its own parts; needs the extra.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from typing import TypeVar

from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import Model, StreamedResponse

from agi.models.base import ModelRequest, StreamItem
from agi.models.bridge_answer import BridgedAnswer, is_whole
from agi.models.bridge_failures import explain
from agi.models.bridge_messages import Conversation, Maker
from agi.models.bridge_request import parameters_of, settings_of
from agi.models.failures import Failures, Stalled
from agi.models.limits import Limits

T = TypeVar("T")


async def converse(
    model: Model, request: ModelRequest, maker: Maker, failures: Failures, limits: Limits
) -> AsyncGenerator[StreamItem, None]:
    """Ask and tell the answer; closing early hangs up. Raises ModelError, before or in the middle of the stream."""
    answer = BridgedAnswer(failures, limits.size)
    patience = _Patience(failures, limits)
    last: list[StreamItem] = []
    try:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(model)
            asking = model.request_stream(
                Conversation(request, model, maker).messages(),
                settings_of(request.options, model),
                parameters_of(request, model),
            )
            stream = await patience.wait(stack.enter_async_context(asking), "first_byte")
            async with aclosing(_events(stream, answer, patience)) as events:
                async for event in events:
                    for item in answer.take(event):
                        yield item
            last = answer.finish(stream)
    except Exception as error:
        if not last:  # else the answer is whole, and only hanging up failed
            raise explain(error, failures, request, begun=answer.begun) from error
    for item in last:
        yield item


async def _events(
    stream: StreamedResponse, answer: BridgedAnswer, patience: _Patience
) -> AsyncGenerator[ModelResponseStreamEvent, None]:
    """The events of an answer; what breaks after its end was told costs only the usage."""
    events = aiter(stream)
    try:
        with patience.looking_for_the_end(stream):
            while event := await patience.wait(anext(events, None), "idle" if answer.flowing else "thinking"):
                yield event
    except Exception:
        if not is_whole(stream):
            raise


class _Patience:
    """How long a provider is waited for that says nothing, or that never ends."""

    def __init__(self, failures: Failures, limits: Limits) -> None:
        self._failures = failures
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + limits.total
        self._clock = asyncio.timeout(None)
        self._waits = False
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, what: Awaitable[T], waited_for: Stalled) -> T:
        """Wait for the next sign of life. Raises ModelError when it takes too long."""
        seconds: float = getattr(self._limits, waited_for)
        left = self._end - self._loop.time()
        try:
            async with asyncio.timeout(min(left, seconds)) as self._clock:
                self._waits = True
                return await what
        except TimeoutError as error:
            if not self._clock.expired():
                raise
            if left <= seconds:
                raise self._failures.too_much(f"{self._limits.total:g} s", setting="totalSeconds") from error
            raise self._failures.stalled(waited_for, seconds) from error
        finally:
            self._waits = False

    @contextmanager
    def looking_for_the_end(self, stream: StreamedResponse) -> Iterator[None]:
        """Meanwhile look now and then: that an answer is whole is no event, and then only its cost is waited for."""
        self._look(stream)
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _look(self, stream: StreamedResponse) -> None:
        later, clock = self._loop.time() + self._limits.last_words, self._clock
        if self._waits and not clock.expired() and is_whole(stream):
            clock.reschedule(min(clock.when() or later, later))
        self._timer = self._loop.call_at(later, self._look, stream)
