"""An answer in Anthropic's Messages format is put together from its events, block by block and in their order.

Thinking is told as it comes and sealed where its block ends, with all that is needed to send the block back as it was.
From the first tool call on everything waits for the end: a stream that breaks off makes no call. Other servers speak
this format too, and their habits (no event names, no block ends, one index for all) are forgiven. May import: errors,
protocol, models.base, models.failures, models.streaming, models.anthropic_events.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agi.errors import ModelError
from agi.models.anthropic_events import (
    Block,
    Delta,
    Event,
    SealedRedacted,
    SealedThinking,
    Spent,
    decode_event,
    decode_whole,
)
from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.failures import Failures
from agi.models.streaming import read_count, read_event
from agi.protocol.ids import CALL, new_id
from agi.protocol.messages import StopReason, Usage

# All other words are an ordinary end, or `tool_calls` by the calls that came. A `pause_turn` is an end as well: only
# tools that run at the provider pause, and none is offered.
_STOP_REASONS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "refusal": "refusal",
}
_FULL = "model_context_window_exceeded"
_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_USABLE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


class _Open:
    """A block as far as it has come; a call stays one until the end."""

    __slots__ = ("block", "pieces", "signature", "thought")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.pieces: list[str] = []
        self.signature = _text(block.signature)
        self.thought = False

    def call(self) -> CallMade:
        """The tool that is asked for; some servers write the arguments at once instead of in pieces."""
        arguments = "".join(self.pieces) or bytes(self.block.input).decode()
        return CallMade(_text(self.block.id), _text(self.block.name), arguments)


class AnthropicAnswer:
    """One answer: `take` each event, then `finish`."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._open: dict[int | None, _Open] = {}
        self._begun: set[tuple[int | None, str]] = set()
        self._held: list[StreamItem | _Open] = []
        self._reason: str | None = None
        self._counts: dict[str, int] = {}
        self.heard = 0
        """How many events brought the answer on; pings do not."""
        self.flowing = False
        """Whether words are coming. Arguments come in runs, and whole values of them are written unseen."""
        self.done = False
        """Whether the server said that nothing more comes."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole."""
        return self.done or self._reason is not None

    @property
    def settled(self) -> bool:
        """Whether the cost is known, too; it comes together with the reason."""
        return self.done or (self._reason is not None and "output_tokens" in self._counts)

    def take(self, data: bytes, kind: str = "message") -> Sequence[StreamItem]:
        """Add one event and tell what it says; nothing counts after the end. Raises ModelError."""
        if self.done or not data:
            return ()
        if kind == "error":
            raise self._reported(data)
        if kind == "ping":
            return ()
        event = read_event(decode_event, data, self._failures)
        if event.type == "error" or event.error:
            raise self._reported(data)
        if event.type != "content_block_delta":
            return self._tell(self._take_frame(event))
        items = self._take_delta(event.index, event.delta or Delta())
        if items:
            self.heard += 1
            self.flowing = type(items[-1]) is TextDelta
        return self._tell(items) if self._held else items

    def take_whole(self, body: bytes) -> Sequence[StreamItem]:
        """Take an answer that came in one piece. Raises ModelError."""
        whole = read_event(decode_whole, body, self._failures)
        if whole.type != "message" or whole.content is None:
            raise self._reported(body)
        items: list[StreamItem] = []
        for index, block in enumerate(whole.content):
            items += self._tell((*self._begin(index, block), *self._end(index)))
        self._count(whole.usage)
        items += self._tell(self._stop(Delta(stop_reason=whole.stop_reason, stop_details=whole.stop_details)))
        self.done = True
        return items

    def finish(self) -> list[StreamItem]:
        """What waited for the end, calls with ids of their own, and how it ended. Raises ModelError if it was cut."""
        if not self.complete:
            raise self._failures.cut()
        if self._reason == _FULL:
            raise self._failures.overflowed()
        self._held += [item for index in list(self._open) for item in self._end(index)]
        reason = _STOP_REASONS.get(self._reason or "", "end_turn")
        # What a refused answer asked for before it was stopped is not to be done.
        held = [item for item in self._held if reason != "refusal" or not isinstance(item, _Open)]
        if reason == "end_turn" and any(isinstance(item, _Open) for item in held):
            reason = "tool_calls"
        told = [item.call() if isinstance(item, _Open) else item for item in held]
        return [*_with_own_ids(told), Finished(stop_reason=reason, usage=self._usage())]

    def _tell(self, items: Sequence[StreamItem | _Open]) -> Sequence[StreamItem]:
        if self._held or any(isinstance(item, _Open) for item in items):
            self._held += items
            return ()
        return [item for item in items if not isinstance(item, _Open)]

    def _take_frame(self, event: Event) -> Sequence[StreamItem | _Open]:
        """Take an event that begins or ends something."""
        items: Sequence[StreamItem | _Open] = ()
        if event.type == "content_block_start" and event.content_block is not None:
            items = self._begin(event.index, event.content_block)
            self._stir()
        elif event.type == "content_block_stop":
            items = self._end(event.index)
            self._stir()
        elif event.type == "message_start" and event.message is not None:
            self._count(event.message.usage)
        elif event.type == "message_delta":
            self._count(event.usage)
            items = self._stop(event.delta or Delta())
        elif event.type == "message_stop":
            self.done = True
        return items

    def _take_delta(self, index: int | None, delta: Delta) -> Sequence[StreamItem]:
        if delta.type == "text_delta":
            return _said(TextDelta, delta.text)
        block = self._open.get(index)
        if delta.type == "thinking_delta":
            if block is not None and delta.thinking:
                block.thought = True
            return _said(ReasoningDelta, delta.thinking)
        if block is not None and delta.type == "input_json_delta" and delta.partial_json:
            block.pieces.append(_text(delta.partial_json))
            self._stir()
        elif block is not None and delta.type == "signature_delta":
            block.signature = _text(delta.signature)
            self._stir()
        return ()

    def _stir(self) -> None:
        """Something came that is no word; whatever follows may take its time."""
        self.heard += 1
        self.flowing = False

    def _begin(self, index: int | None, block: Block) -> Sequence[StreamItem | _Open]:
        call = (index, _text(block.id))
        if block.type == "tool_use" and call in self._begun:  # the same event twice must not become two calls
            return ()
        ended = self._end(index)
        opened = self._open[index] = _Open(block)
        if block.type == "tool_use":
            self._begun.add(call)
            return (*ended, opened)
        if block.type == "thinking":
            opened.thought = bool(block.thinking)
            return (*ended, *_said(ReasoningDelta, block.thinking))
        return (*ended, *_said(TextDelta, block.text if block.type == "text" else None))

    def _end(self, index: int | None) -> Sequence[StreamItem]:
        """Close a block; thinking is sealed."""
        opened = self._open.pop(index, None)
        if opened is None:
            return ()
        if opened.block.type == "thinking" and (opened.signature or opened.thought):
            return (_sealed(SealedThinking(opened.signature)),)
        if opened.block.type == "redacted_thinking":
            return (_sealed(SealedRedacted(_text(opened.block.data))),)
        return ()

    def _stop(self, delta: Delta) -> Sequence[StreamItem]:
        """Note why it ended; a refusal may come with words for people."""
        self._reason = _text(delta.stop_reason) or self._reason
        if delta.stop_reason != "refusal" or not isinstance(delta.stop_details, dict):
            return ()
        return _said(TextDelta, delta.stop_details.get("explanation"))

    def _count(self, spent: Spent | None) -> None:
        """Counts are totals so far: a later one takes the place of an earlier one, a missing one leaves it."""
        if spent is None:
            return
        for name in _COUNTS:
            if (value := getattr(spent, name)) is not None:
                self._counts[name] = read_count(value)
        if isinstance(spent.output_tokens_details, dict):
            self._counts["thinking"] = read_count(spent.output_tokens_details.get("thinking_tokens"))

    def _usage(self) -> Usage:
        sent, written, read, output = (self._counts.get(name, 0) for name in _COUNTS)
        return Usage(
            input_tokens=sent + written + read,
            output_tokens=output,
            cached_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=self._counts.get("thinking", 0),
            requests=1,
        )

    def _reported(self, data: bytes) -> ModelError:
        try:
            return self._failures.reported(msgspec.json.decode(data))
        except (ValueError, RecursionError):
            return self._failures.reported(data.decode(errors="replace"))


def _with_own_ids(items: Sequence[StreamItem]) -> list[StreamItem]:
    """Give an id to each call that has none, an unfit one, or one that an earlier call has."""
    seen: set[str] = set()
    told: list[StreamItem] = []
    for item in items:
        if isinstance(item, CallMade):
            if item.id in seen or not _USABLE_ID.fullmatch(item.id):
                item = CallMade(new_id(CALL), item.name, item.arguments)
            seen.add(item.id)
        told.append(item)
    return told


def _sealed(seal: SealedThinking | SealedRedacted) -> ReasoningSealed:
    return ReasoningSealed(msgspec.json.encode(seal).decode())


def _said(kind: type[TextDelta] | type[ReasoningDelta], words: object) -> Sequence[StreamItem]:
    return (kind(words),) if isinstance(words, str) and words else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
