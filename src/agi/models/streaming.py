"""What every streamed model call has in common: one request, events as they arrive, limits, and one kind of error.

It knows HTTP and event streams and no wire format: the adapter brings the URL, the headers, the body and an `Answer`
that makes sense of the events. It never asks twice. May import: errors, net, protocol, models.base, models.failures.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from agi.errors import Invalid, ModelError, TooLarge
from agi.models.base import StreamItem
from agi.models.failures import Failures
from agi.net.http import HttpClient, NetError, Response, Timeouts
from agi.net.sse import SseEvent, SseParser
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret

_MAX_REFUSAL = 64 * 1024
_MOST_TOKENS = 1 << 53
_EVENT_STREAM = {"accept": "text/event-stream", "content-type": "application/json"}

T = TypeVar("T")


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


class Answer(Protocol):
    """One answer as it is put together; each wire format has its own. Every method may raise ModelError."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole; only its cost may still be missing."""

    @property
    def done(self) -> bool:
        """Whether the server said that nothing more comes."""

    def take(self, data: bytes, kind: str) -> Iterable[StreamItem]:
        """Add one event of the stream, by its data and its type (`message` where none was given)."""

    def take_whole(self, body: bytes) -> Iterable[StreamItem]:
        """Add a body that is one JSON value where a stream was asked for."""

    def finish(self) -> Iterable[StreamItem]:
        """What is left to tell, `Finished` last; an answer that is not complete was cut."""


class Wire:
    """The way to one model: it posts a request and streams its answer."""

    def __init__(
        self,
        client: HttpClient,
        failures: Failures,
        *,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._client = client
        self._failures = failures
        self._timeouts = timeouts
        self._limits = limits or Limits()
        self._clock = clock

    async def stream(
        self, url: str, headers: Mapping[str, str], body: bytes, answer: Answer
    ) -> AsyncGenerator[StreamItem, None]:
        """Post the body and tell the answer; closing early hangs up. `headers` come on top of those every call has.

        Raises ModelError, before or in the middle of the stream.
        """
        async with await self._post(url, headers, body) as response:
            if response.status == 200 and "json" in response.headers.get("content-type", ""):
                for item in answer.take_whole(await self._whole(response)):
                    yield item
            else:
                async with aclosing(self._events(response)) as events:
                    async for batch in events:
                        for event in batch:
                            for item in answer.take(event.data, event.event):
                                yield item
                        if answer.complete:
                            break
                    for item in await self._last_words(events, answer):
                        yield item
        for item in answer.finish():
            yield item

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        fields = {**_EVENT_STREAM, **headers}
        try:
            return await self._client.request("POST", url, headers=fields, body=body, timeouts=self._timeouts)
        except NetError as error:
            raise self._failures.unreachable(error, begun=False) from error
        except Invalid as error:
            raise self._failures.unusable(error) from error

    async def _events(self, response: Response) -> AsyncGenerator[list[SseEvent], None]:
        """The answer's events, those that arrived together in one list."""
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

    async def _whole(self, response: Response) -> bytes:
        """Some servers do not stream when there are tools: the whole answer is one body."""
        try:
            return await response.read(self._limits.size)
        except NetError as error:
            raise self._failures.unreachable(error, begun=True) from error
        except TooLarge as error:
            raise self._failures.too_much(f"{self._limits.size} bytes") from error

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


def key_text(key: Secret | None) -> str:
    """The key as it is sent; a line end after it, from a file or a shell, is too common to be worth an error."""
    return key.reveal().strip() if key is not None else ""


def read_event(decode: Callable[[bytes], T], data: bytes, failures: Failures) -> T:
    """Decode an event's data with msgspec, mending letters that are none; raises ModelError."""
    try:
        return decode(data)
    except (ValueError, RecursionError):
        pass
    try:
        return decode(_mend(data))
    except (ValueError, RecursionError) as error:
        raise failures.unreadable("sent something that is not a piece of an answer") from error


def read_count(value: object) -> int:
    """A number of tokens as a server tells it: absent, negative or absurd ones never break an answer."""
    return min(max(0, int(value)), _MOST_TOKENS) if isinstance(value, int | float) else 0


def _mend(data: bytes) -> bytes:
    """Put U+FFFD where bytes or escapes are no letters (some servers cut an emoji in two); raises ValueError."""
    import json  # late: it takes halves of surrogate pairs, which msgspec refuses

    text = json.dumps(json.loads(data.decode(errors="replace")), ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
