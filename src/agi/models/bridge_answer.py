"""An answer is put together from pydantic-ai's events: words and thoughts as they come, calls when they are complete.

What follows the first call is held back until the end and told in order, so that every signature finds its place again.
Pure. May import: protocol, models.base, models.bridge_seals, models.failures, models.streaming; needs the extra.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from pydantic_ai import messages as foreign
from pydantic_ai.models import StreamedResponse

from agi.models.base import CallMade, Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.bridge_seals import Seal, write_seal
from agi.models.failures import Failures
from agi.models.streaming import read_count
from agi.protocol.messages import StopReason, Usage

_STOP_REASONS: dict[str | None, StopReason] = {"length": "max_tokens", "content_filter": "refusal"}
_FULL = frozenset(("model_length", "context_length_exceeded", "model_context_window_exceeded"))
"""What providers say where the answer ended with the context window, and not with the limit that was asked for."""
Spoken = foreign.TextPart | foreign.ThinkingPart


class BridgedAnswer:
    """One answer: `take` each event, then `finish`."""

    def __init__(self, failures: Failures, size: int) -> None:
        self._failures = failures
        self._size = self._room = size
        self._told: dict[int, int] = {}
        """How many letters of a part were told, by its number."""
        self._sealed: dict[int, str] = {}
        self._has_calls = False
        self.flowing = False
        """Whether more of the same is about to come; thinking is no such run."""

    @property
    def begun(self) -> bool:
        """Whether anything has come."""
        return self._room < self._size

    def take(self, event: foreign.ModelResponseStreamEvent) -> Iterator[StreamItem]:
        """Add one event and tell what it says, unless a call came before it. Raises ModelError."""
        delta = event.delta if isinstance(event, foreign.PartDeltaEvent) else None
        self.flowing = isinstance(delta, foreign.TextPartDelta | foreign.ToolCallPartDelta)
        if isinstance(event, foreign.PartStartEvent):
            yield from self._start(event.index, event.part)
        elif isinstance(event, foreign.PartDeltaEvent):
            yield from self._grow(event.index, event.delta)
        elif isinstance(event, foreign.PartEndEvent) and not self._has_calls:
            yield from self._settle(event.index, event.part)

    def finish(self, stream: StreamedResponse) -> list[StreamItem]:
        """What was held back, and how it ended. Raises ModelError if it was cut, or ended in a mishap."""
        if not is_whole(stream):
            raise self._failures.cut()
        if _reason_told(stream) in _FULL:
            raise self._failures.overflowed()
        if stream.finish_reason == "error":
            raise self._failures.reported({"message": "the server ended it with an error"})
        parts = stream.get().parts
        if len(parts) <= max(self._told, default=-1):
            raise self._failures.unreadable("asked for a tool without naming it")
        rest = [item for number, part in enumerate(parts) for item in self._settle(number, part)]
        refusal = (stream.provider_details or {}).get("refusal")
        if isinstance(refusal, str) and refusal:
            rest.append(TextDelta(refusal))
        reason = _STOP_REASONS.get(stream.finish_reason, "end_turn")
        if reason == "refusal":  # what a refused answer asked for before it was stopped is not to be done
            rest = [item for item in rest if not isinstance(item, CallMade)]
        if reason == "end_turn" and any(isinstance(item, CallMade) for item in rest):
            reason = "tool_calls"
        return [*rest, Finished(stop_reason=reason, usage=_usage(stream))]

    def _start(self, number: int, part: foreign.ModelResponsePart) -> Iterator[StreamItem]:
        self._told[number] = 0
        if isinstance(part, foreign.ToolCallPart):
            self._has_calls = True
            self._spend(part.args)
        elif isinstance(part, Spoken):
            yield from self._say(number, part, part.content)

    def _grow(self, number: int, delta: foreign.ModelResponsePartDelta) -> Iterator[StreamItem]:
        if isinstance(delta, foreign.ToolCallPartDelta):
            self._spend(delta.args_delta)
        elif isinstance(delta, foreign.TextPartDelta | foreign.ThinkingPartDelta):
            yield from self._say(number, delta, delta.content_delta or "")

    def _say(
        self, number: int, of: Spoken | foreign.TextPartDelta | foreign.ThinkingPartDelta, text: str
    ) -> Iterator[StreamItem]:
        self._spend(text)
        if text and not self._has_calls:
            self._told[number] = self._told.get(number, 0) + len(text)
            thought = isinstance(of, foreign.ThinkingPart | foreign.ThinkingPartDelta)
            yield ReasoningDelta(text) if thought else TextDelta(text)

    def _settle(self, number: int, part: foreign.ModelResponsePart) -> Iterator[StreamItem]:
        """Tell of a part what was not told yet, and seal it if its provider wants something back with it."""
        if isinstance(part, foreign.ToolCallPart):
            yield from self._seal(number, _seal_of(number, part))
            yield CallMade(part.tool_call_id, part.tool_name, _written(part.args))
        elif isinstance(part, Spoken):
            thought = isinstance(part, foreign.ThinkingPart)
            if rest := part.content[self._told.get(number, 0) :]:
                self._told[number] = len(part.content)
                yield ReasoningDelta(rest) if thought else TextDelta(rest)
            yield from self._seal(number, _seal_of(number, part))

    def _seal(self, number: int, seal: Seal) -> Iterator[StreamItem]:
        written = write_seal(seal)
        if written and self._sealed.get(number) != written:
            self._sealed[number] = written
            self._spend(written)
            yield ReasoningSealed(written)

    def _spend(self, what: object) -> None:
        self._room -= len(what) if isinstance(what, str) else len(_written(what)) if what else 0
        if self._room < 0:
            raise self._failures.too_much(f"{self._size} characters")


def is_whole(stream: StreamedResponse) -> bool:
    """Whether the answer came to its end.

    For OpenAI-compatible servers that never say why they ended, pydantic-ai makes a reason up, also for a stream that
    was cut; there the cost, which comes last, is the evidence.
    """
    if stream.state == "incomplete":
        return False
    if _reason_told(stream) or stream.finish_reason == "content_filter":
        return True
    return stream.finish_reason is not None and stream.usage.has_values()


def _reason_told(stream: StreamedResponse) -> object:
    """Why it ended, in the provider's own word."""
    return (stream.provider_details or {}).get("finish_reason")


def _seal_of(number: int, part: foreign.ToolCallPart | Spoken) -> Seal:
    thought = isinstance(part, foreign.ThinkingPart)
    return Seal(
        of="thought" if thought else "text" if isinstance(part, foreign.TextPart) else "call",
        number=number,
        id=part.id,
        signature=part.signature if isinstance(part, foreign.ThinkingPart) else None,
        provider_name=part.provider_name,
        provider_details=part.provider_details,
    )


def _written(args: object) -> str:
    """Arguments as text; some providers give the object itself, and none at all are an empty one."""
    if isinstance(args, str):
        return args
    return msgspec.json.encode(args).decode() if args else "{}"


def _usage(stream: StreamedResponse) -> Usage:
    spent = stream.usage
    return Usage(
        input_tokens=read_count(spent.input_tokens),
        output_tokens=read_count(spent.output_tokens),
        cached_tokens=read_count(spent.cache_read_tokens),
        cache_write_tokens=read_count(spent.cache_write_tokens),
        reasoning_tokens=read_count(spent.output_reasoning_tokens),
        requests=1,
    )
