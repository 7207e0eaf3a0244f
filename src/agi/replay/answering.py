"""Models that answer from the record: what was said, in the pieces in which it was logged, or the failure that came.

May import: errors, protocol, models.base, loop, replay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

import msgspec
from msgspec.structs import replace

from agi.errors import ModelError
from agi.loop.compacting import refusal_in
from agi.models.base import (
    CallMade,
    Finished,
    ModelRequest,
    ReasoningDelta,
    ReasoningSealed,
    StreamItem,
    TextDelta,
)
from agi.protocol import events as ev
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Part, Reasoning, Text, ToolCallPart
from agi.replay.requests import Asked, asked
from agi.replay.tape import Tape

Hear = Callable[[Asked], None]
"""Told of each request."""


class RecordedModel:
    """Answers a turn's requests, one after the other."""

    def __init__(self, tape: Tape, provider: str, name: str, *, schema: bool, hear: Hear) -> None:
        self._tape = tape
        self.provider = provider
        self.name = name
        self._schema = schema
        self._hear = hear

    def takes_schema(self, *, with_tools: bool) -> bool:
        """As its provider did."""
        return self._schema

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """What was answered then; nothing ever comes where the record ends."""
        self._hear(asked(self._tape, self.provider, self.name, request))
        said, failure = _next_answer(self._tape)
        if said is not None:
            # Whether it repeats itself is heard at its end, so that it is found out there and not before.
            for item in _items(self._tape, said, whole=said.stop_reason == "loop_detected"):
                yield item
            if said.status == "complete" and said.stop_reason not in ("canceled", "interrupted"):
                yield Finished(stop_reason=said.stop_reason or "end_turn", usage=_usage(self._tape, said.id))
                return
        if failure is not None:
            raise failure
        await asyncio.Event().wait()


class RecordedAside:
    """Answers what is asked beside the conversation: a summary, or a review."""

    def __init__(self, tape: Tape, provider: str, name: str, hear: Hear) -> None:
        self._tape = tape
        self.provider = provider
        self.name = name
        self._hear = hear

    def takes_schema(self, *, with_tools: bool) -> bool:
        """The answer is JSON as it stands."""
        return True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """The text that was made something of."""
        self._hear(asked(self._tape, self.provider, self.name, request))
        text, usage = _aside(self._tape)
        if usage is None:
            raise ModelError("It was not answered then.", code="not_recorded")
        yield TextDelta(text)
        yield Finished(stop_reason="end_turn", usage=usage)


def _next_answer(tape: Tape) -> tuple[Message | None, ModelError | None]:
    """What comes of a request: words, a failure, or both."""
    said: Message | None = None
    pieces: dict[str, Part] = {}
    spoken = ""
    for event in tape.ahead():
        data = event.data
        if isinstance(data, ev.ModelOutputDelta) and said is None and spoken in ("", data.message_id):
            spoken = data.message_id
            before = pieces.get(data.part_id)
            text = (before.text if isinstance(before, Text | Reasoning) else "") + data.delta
            kind = Text if data.kind == "text" else Reasoning
            pieces[data.part_id] = kind(text=text, id=data.part_id)
        if isinstance(data, ev.ModelOutputCompleted) and said is None:
            said = data.message
            if said.status == "complete" or said.stop_reason == "loop_detected":
                return said, None
        failure = _failure(tape, data)
        if failure is not None:
            return said, failure
    if said is None and spoken:  # the record ends in the middle of it
        said = Message(id=spoken, role="assistant", parts=tuple(pieces.values()), created_at="", status="error")
    return said, None


def _failure(tape: Tape, data: ev.EventData | None) -> ModelError | None:
    if isinstance(data, ev.ModelBackedOff):
        return ModelError(data.reason, code=data.code, retryable=True)
    if isinstance(data, ev.ModelSwitched):
        return ModelError(data.reason, code=data.code)
    if isinstance(data, ev.PartsWithheld):
        return ModelError(data.reason, code=data.code, parts=data.ids)
    if isinstance(data, ev.CompactionStarted) and data.trigger == "overflow":
        return ModelError(_why_too_long(tape), code="context_overflow")
    if isinstance(data, ev.TurnFailed):
        return ModelError(data.error.message, code=data.error.code, hint=data.error.hint)
    return None


def _why_too_long(tape: Tape) -> str:
    """In the provider's words, which the log has only where no room could be made: another model came, or the end."""
    for event in tape.ahead():
        data = event.data
        if isinstance(data, ev.ModelSwitched) and data.code == "context_overflow":
            return data.reason
        if isinstance(data, ev.TurnFailed) and data.error.code == "context_exhausted":
            return refusal_in(data.error.message)
    return "The conversation is too long."


def _items(tape: Tape, said: Message, *, whole: bool) -> Iterator[StreamItem]:
    """The parts of an answer, in the pieces in which they were logged, or each as a whole."""
    logged: dict[str, list[str]] = {}
    for event in tape.ahead():
        data = event.data
        if isinstance(data, ev.ModelOutputDelta) and data.message_id == said.id:
            logged.setdefault(data.part_id, []).append(data.delta)
    for part in said.parts:
        if isinstance(part, Text | Reasoning):
            kind = TextDelta if isinstance(part, Text) else ReasoningDelta
            pieces = [] if whole else logged.get(part.id, [])
            rest = part.text[sum(map(len, pieces)) :]
            for piece in (*pieces, rest):
                if piece:
                    yield kind(piece)
            if isinstance(part, Reasoning) and part.signature:
                yield ReasoningSealed(part.signature)
        elif isinstance(part, ToolCallPart):
            yield CallMade("", part.content.name, bytes(part.content.args).decode())


def _usage(tape: Tape, message_id: str) -> Usage:
    for event in tape.ahead():
        data = event.data
        if isinstance(data, ev.UsageRecorded) and data.message_id == message_id:
            return replace(data.usage, requests=0, cost_usd=None)
    return Usage()


def _aside(tape: Tape) -> tuple[str, Usage | None]:
    """What was answered beside the conversation before anything else happened."""
    usage: Usage | None = None
    for event in tape.ahead():
        data = event.data
        if isinstance(data, ev.UsageRecorded) and usage is None:
            usage = replace(data.usage, requests=0, cost_usd=None)
        elif isinstance(data, ev.ContextCompacted):
            return data.summary if data.summarised_by else "", usage
        elif isinstance(data, ev.PatchReviewed):
            return msgspec.json.encode({"verdict": data.verdict, "reason": data.reason}).decode(), usage
        elif isinstance(data, ev.CompactionFailed | ev.ModelOutputCompleted | ev.ToolCallStarted):
            return "", usage
    return "", usage
