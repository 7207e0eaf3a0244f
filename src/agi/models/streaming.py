"""What every streamed model call has in common: one request, events as they arrive, limits, and one kind of error.

It knows HTTP and event streams and no wire format: the adapter brings the URL, the headers, the body and an `Answer`
that makes sense of the events. It never asks twice. May import: errors, net, protocol, models.base, models.failures,
models.limits, models.watch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TypeVar

from agi.errors import Invalid, ModelError, TooLarge
from agi.models.base import StreamItem
from agi.models.failures import Failures
from agi.models.limits import USUAL, Limits
from agi.models.watch import Watch
from agi.net.http import HttpClient, NetError, Response
from agi.net.sse import SseEvent, SseParser
from agi.protocol.times import Clock

if TYPE_CHECKING:
    from agi.config import Secret

_MAX_REFUSAL = 64 * 1024
_MOST_TOKENS = 1 << 53
_EVENTS = (b"data:", b"event:", b"id:", b":")
_EVENT_STREAM = {"accept": "text/event-stream", "content-type": "application/json"}

T = TypeVar("T")


class Answer(Protocol):
    """One answer as it is put together; each wire format has its own. Every method may raise ModelError."""

    @property
    def heard(self) -> int:
        """How many events have brought it on so far: a word, a thought, a piece of a call. Keep-alives do not."""

    @property
    def flowing(self) -> bool:
        """Whether the last of them was one of a run, so that the next is near; thinking is no such run."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole; only its cost may still be missing."""

    @property
    def settled(self) -> bool:
        """Whether nothing is missing any more: it is whole and its cost known, or the server said that it is over."""

    def take(self, data: bytes, kind: str) -> Iterable[StreamItem]:
        """Add one event of the stream, by its data and its type (`message` where none was given)."""

    def take_whole(self, body: bytes) -> Iterable[StreamItem]:
        """Add a body that is one JSON value where a stream was asked for."""

    def finish(self) -> Iterable[StreamItem]:
        """What is left to tell, `Finished` last; an answer that is not complete was cut."""


class Wire:
    """The way to one model: it posts a request and streams its answer."""

    def __init__(self, client: HttpClient, *, limits: Limits = USUAL, clock: Clock = time.time) -> None:
        self._client = client
        self._limits = limits
        self._timeouts = limits.for_http()
        self._clock = clock

    async def stream(
        self, url: str, headers: Mapping[str, str], body: bytes, answer: Answer, failures: Failures
    ) -> AsyncGenerator[StreamItem, None]:
        """Post the body and tell the answer; closing early hangs up. `headers` come on top of those every call has.

        `failures` are those of this request. Raises ModelError, before or in the middle of the stream.
        """
        async with await self._post(url, headers, body, failures) as response:
            if response.status == 200 and "json" in _type_of(response):
                for item in _take_whole(answer, await self._whole(response, failures)):
                    yield item
            else:
                await self._refuse_anything_else(response, failures)
                watch, rest = Watch(self._limits, response.close), list[SseEvent]()
                async with aclosing(self._events(response, watch, failures)) as events:
                    async for batch in events:
                        before = answer.heard
                        for number, event in enumerate(batch, 1):
                            for item in answer.take(event.data, event.event):
                                yield item
                            if answer.complete:
                                rest = batch[number:]
                                break
                        if answer.complete:
                            break
                        if answer.heard != before:
                            watch.heard(flowing=answer.flowing)
                    for item in await self._last_words(rest, events, answer):
                        yield item
        for item in answer.finish():
            yield item

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes, failures: Failures) -> Response:
        fields = {**_EVENT_STREAM, **headers}
        try:
            return await self._client.request("POST", url, headers=fields, body=body, timeouts=self._timeouts)
        except NetError as error:
            if error.code == "first_byte_timeout":
                raise failures.stalled("first_byte", self._timeouts.first_byte) from error
            raise failures.unreachable(error, begun=False) from error
        except Invalid as error:
            raise failures.unusable(error) from error

    async def _events(
        self, response: Response, watch: Watch, failures: Failures
    ) -> AsyncGenerator[list[SseEvent], None]:
        """The answer's events, those that arrived together in one list."""
        parser, room = SseParser(bare_json=True), self._limits.size
        try:
            async with aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    room -= len(chunk)
                    if room < 0:
                        raise failures.too_much(f"{self._limits.size} bytes")
                    if not watch.check():
                        raise self._given_up(watch, failures)
                    if events := parser.feed(chunk):
                        watch.waiting = False
                        yield events
                        watch.waiting = True
            if events := parser.finish():
                yield events
        except NetError as error:
            failure = self._given_up(watch, failures) if watch.overdue else failures.unreachable(error, begun=True)
            raise failure from error
        finally:
            watch.stop()

    async def _whole(self, response: Response, failures: Failures) -> bytes:
        """Some servers do not stream when there are tools: the whole answer is one body, and thought out before it."""
        watch = Watch(self._limits, response.close)
        try:
            if body := (await response.read(self._limits.size)).strip():
                return body
            raise failures.unreadable("answered with nothing")
        except NetError as error:
            failure = self._given_up(watch, failures) if watch.overdue else failures.unreachable(error, begun=True)
            raise failure from error
        except TooLarge as error:
            raise failures.too_much(f"{self._limits.size} bytes") from error
        finally:
            watch.stop()

    async def _refuse_anything_else(self, response: Response, failures: Failures) -> None:
        if response.status == 200 and "html" not in _type_of(response):
            return
        body = await self._beginning(response)
        if response.status == 200:
            raise failures.unreadable("answered with a web page instead of a model's answer")
        raise failures.refused(response.status, response.headers, body, self._clock())

    async def _beginning(self, response: Response) -> bytes:
        """What there is of a refusal's body after a little while; its status says enough to go on without."""
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._limits.last_words), aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    parts.append(chunk)
                    if sum(map(len, parts)) > _MAX_REFUSAL:
                        break
        except (TimeoutError, NetError):
            pass
        return b"".join(parts)[:_MAX_REFUSAL]

    async def _last_words(
        self, rest: list[SseEvent], events: AsyncIterator[list[SseEvent]], answer: Answer
    ) -> list[StreamItem]:
        """What follows a complete answer: its cost. Reading to the end also lets the connection serve again.

        The limit is for all of it, however much still comes; where nothing is missing, it is hardly noticed.
        """
        items: list[StreamItem] = []
        batch: list[SseEvent] | None = rest
        try:
            async with asyncio.timeout(self._limits.last_words) as limit:
                while batch is not None:
                    for event in batch:
                        items.extend(answer.take(event.data, event.event))
                    if answer.settled:
                        limit.reschedule(min(limit.when() or 0.0, self._soon()))
                    batch = await anext(events, None)
        except (TimeoutError, ModelError):
            pass  # the answer was whole before; only what it cost stays unknown
        return items

    def _soon(self) -> float:
        return asyncio.get_running_loop().time() + self._limits.after_done

    def _given_up(self, watch: Watch, failures: Failures) -> ModelError:
        if watch.overdue == "idle":
            return failures.stalled("idle", self._limits.idle)
        if watch.overdue == "thinking":
            return failures.stalled("thinking", self._limits.thinking)
        return failures.too_much(f"{self._limits.total:g} s", setting="totalSeconds")


def _type_of(response: Response) -> str:
    return response.headers.get("content-type", "").lower()


def _take_whole(answer: Answer, body: bytes) -> Iterator[StreamItem]:
    """A body that is said to be JSON; with some servers it is an event stream all the same."""
    if not body.startswith(_EVENTS):
        yield from answer.take_whole(body)
        return
    for event in SseParser(max_event=len(body) + 2).feed(body + b"\n\n"):
        yield from answer.take(event.data, event.event)


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
