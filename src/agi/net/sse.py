"""Event streams (`text/event-stream`) are read as they arrive, however the network cut them.

Data stays bytes, so that a decoder can read it without a copy; what the data means is the caller's business.
Follows https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6. May import: errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agi.net.errors import NetError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

MAX_EVENT = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its type (`message` where none was given), its data, and the last id the stream has told."""

    event: str
    data: bytes
    id: str | None = None


class SseParser:
    """Turns bytes into events; an event is told at the blank line that ends it, and never before.

    The standard drops what is no field. With `bare_json` a block without data that begins as JSON does is told as the
    data of an event: this is how servers report errors in a stream they have begun.
    """

    def __init__(self, *, max_event: int = MAX_EVENT, bare_json: bool = False) -> None:
        self._max_event = max_event
        self._bare_json = bare_json
        self._unfinished = bytearray()
        self._begun = False
        self._after_cr = False
        self.last_id: str | None = None
        """The last id the stream has told: what to send as `last-event-id` when connecting anew."""
        self.retry: int | None = None
        """How many milliseconds the server asks to wait before connecting anew."""

    def feed(self, data: bytes) -> list[SseEvent]:
        """Take what arrived and return the events it completes; raises `NetError` bad_response."""
        if self._after_cr or b"\r" in data:
            data = self._with_plain_line_ends(data)
        if self._unfinished:
            data = self._with_what_was_unfinished(data)
        blocks = data.split(b"\n\n")
        if len(data) > self._max_event:
            self._check_sizes(blocks)
        if rest := blocks.pop():
            self._unfinished += rest
        if blocks and not self._begun:
            self._begun = True
            blocks[0] = blocks[0].removeprefix(_BOM)
        return [event for block in blocks if (event := self._read(block)) is not None]

    def finish(self) -> list[SseEvent]:
        """Take the end of the stream: bare JSON needs no blank line after it. All else that is cut off is dropped."""
        block = bytes(self._unfinished)
        self._unfinished.clear()
        event = self._read(block) if self._bare_json and _is_bare(block) else None
        return [event] if event is not None else []

    def _with_plain_line_ends(self, data: bytes) -> bytes:
        # A CR ends its line at once; an LF that follows, even in the next piece, belongs to it.
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if data.endswith(b"\r"):
            self._after_cr = True
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _with_what_was_unfinished(self, data: bytes) -> bytes:
        # Only collect until a blank line is there: joining on every piece would cost the square of the length.
        unfinished = self._unfinished
        known = len(unfinished)
        unfinished += data
        if unfinished.find(b"\n\n", known - 1) < 0:
            self._check_sizes([unfinished])
            return b""
        whole = bytes(unfinished)
        unfinished.clear()
        return whole

    def _read(self, block: bytes) -> SseEvent | None:
        if block.startswith(b"data: ") and b"\n" not in block:
            return SseEvent("message", block[6:], self.last_id)
        event = ""
        data: list[bytes] = []
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data.append(value)
            elif name == b"event":
                event = value.decode(errors="replace")
            else:
                self._note(name, value)
        if not data and self._bare_json and _is_bare(block):
            return SseEvent("message", block.strip(), self.last_id)
        return SseEvent(event or "message", b"\n".join(data), self.last_id) if data else None

    def _note(self, name: bytes, value: bytes) -> None:
        if name == b"id" and b"\0" not in value:
            self.last_id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry = int(value)

    def _check_sizes(self, blocks: Sequence[bytes | bytearray]) -> None:
        if max(map(len, blocks)) > self._max_event:
            message = f"The event stream has an event of more than {self._max_event} bytes."
            raise NetError(message, code="bad_response", hint="Check that the address is that of an event stream.")


def _is_bare(block: bytes) -> bool:
    return block.lstrip()[:1] in (b"{", b"[")


async def sse_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[SseEvent, None]:
    """The events of a body as they complete; one that the stream's end cuts off is dropped, as the standard says."""
    parser = SseParser()
    async for chunk in chunks:
        for event in parser.feed(chunk):
            yield event
