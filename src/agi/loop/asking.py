"""One model call: stream it, show it as it comes, and make the whole message of it.

May import: errors, protocol, models.base, loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Literal, Protocol

import msgspec
from msgspec import Raw

from agi.errors import AgiError, ModelError
from agi.loop.base import Plan
from agi.loop.guarding import Repetition
from agi.loop.shaping import TOOL, from_call
from agi.loop.spending import length_of, tokens_at_least
from agi.models.base import CallMade, Finished, ModelRequest, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.protocol.events import EventData, ModelOutputCompleted, ModelOutputDelta, UsageRecorded
from agi.protocol.ids import CALL, MESSAGE, PART, new_id
from agi.protocol.messages import Message, MessageStatus, StopReason, Usage
from agi.protocol.parts import Part, Reasoning, Text, ToolCallContent, ToolCallPart
from agi.protocol.times import to_rfc3339


class Hearer(Protocol):
    """Whoever is told what a model says: the journal, or somebody who keeps it to himself."""

    def defer(self, *data: EventData) -> None:
        """Remember events that become durable together with the next ones."""

    async def speak(self, delta: ModelOutputDelta) -> None:
        """Show a piece of the answer at once."""


class _Draft:
    """A message as it grows."""

    def __init__(self, plan: Plan, journal: Hearer) -> None:
        self.id = new_id(MESSAGE)
        self._plan = plan
        self._journal = journal
        self._created_at = to_rfc3339(time.time())
        self._done: list[Part] = []
        self._kind: Literal["text", "reasoning"] | None = None
        self._part_id = ""
        self._pieces: list[str] = []
        self._length = 0
        self.size = 0
        """Characters of all parts together."""
        self._repetition = Repetition()
        self.endless = False
        self._answered = False

    async def say(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if not text:
            return
        if kind != self._kind:
            self._close()
            self._kind, self._part_id, self._length = kind, new_id(PART), 0
            self._repetition = Repetition()
        await self._journal.speak(
            ModelOutputDelta(message_id=self.id, part_id=self._part_id, kind=kind, delta=text, offset=self._length)
        )
        self._pieces.append(text)
        self._length += len(text)
        self.size += len(text)
        self.endless = self._repetition.hear(text)

    def seal(self, signature: str) -> None:
        """The reasoning ends with its maker's signature; it is kept even if nothing was thought aloud."""
        if self._kind != "reasoning":
            self._close()
            self._kind, self._part_id = "reasoning", new_id(PART)
        self._close(signature)

    async def call(self, made: CallMade) -> None:
        if made.name == TOOL and self._plan.schema is not None:
            self._answered = True
            self._close()  # whatever was said before the answer is no part of it
            await self.say("text", from_call(made.arguments, self._plan.schema))
            return
        self._close()
        content = ToolCallContent(id=new_id(CALL), name=made.name, args=_arguments(made.arguments))
        self._done.append(ToolCallPart(content=content, id=new_id(PART)))

    def message(self, stop_reason: StopReason, usage: Usage | None, status: MessageStatus = "complete") -> Message:
        self._close()
        return Message(
            id=self.id,
            role="assistant",
            parts=tuple(self._done),
            created_at=self._created_at,
            session_id=self._plan.session_id,
            turn_id=self._plan.turn_id,
            status=status,
            agent=self._plan.agent,
            provider=self._plan.model.provider,
            model=self._plan.model.name,
            stop_reason=stop_reason,
            usage=usage,
        )

    @property
    def answered(self) -> bool:
        """Whether the answer was given by a call to the tool made for it, and nothing else is asked for."""
        return self._answered and not any(isinstance(part, ToolCallPart) for part in self._done)

    def drop_calls(self) -> None:
        """A call that was cut off must not be run."""
        self._done = [part for part in self._done if not isinstance(part, ToolCallPart)]

    @property
    def is_empty(self) -> bool:
        return not self._done and not self._pieces

    def _close(self, signature: str = "") -> None:
        text = "".join(self._pieces)
        if self._kind == "text":
            self._done.append(Text(text=text, id=self._part_id))
        elif self._kind == "reasoning":
            maker = self._plan.model
            part = Reasoning(
                text=text, id=self._part_id, provider=maker.provider, model=maker.name, signature=signature
            )
            self._done.append(part)
        self._kind, self._pieces = None, []


async def ask_model(plan: Plan, journal: Hearer, request: ModelRequest) -> Message:
    """Stream one answer. The finished message is deferred, so that it is logged together with what follows from it."""
    draft = _Draft(plan, journal)
    stream = plan.model.stream(request)
    try:
        finished = await _listen(stream, draft)
    except asyncio.CancelledError:
        draft.drop_calls()
        if not draft.is_empty:
            journal.defer(ModelOutputCompleted(message=draft.message("canceled", None)))
        raise
    except AgiError:
        draft.drop_calls()
        if not draft.is_empty:
            journal.defer(ModelOutputCompleted(message=draft.message("error", None, "error")))
        raise
    finally:
        await stream.aclose()
    if finished is None:
        draft.drop_calls()
        usage = _cost(plan, _used_at_least(request, draft))
        message = draft.message("loop_detected", usage, "error")
    else:
        usage = _cost(plan, finished.usage)
        answers = draft.answered and finished.stop_reason == "tool_calls"
        stop: StopReason = "end_turn" if answers else finished.stop_reason
        message = draft.message(stop, msgspec.structs.replace(usage, requests=0))
    journal.defer(
        ModelOutputCompleted(message=message),
        UsageRecorded(message_id=message.id, provider=message.provider, model=message.model, usage=usage),
    )
    return message


def _cost(plan: Plan, usage: Usage) -> Usage:
    once = msgspec.structs.replace(usage, requests=1)
    return msgspec.structs.replace(once, cost_usd=plan.facts.cost(plan.model.provider, plan.model.name, once))


def _used_at_least(request: ModelRequest, draft: _Draft) -> Usage:
    """Whoever hangs up is not told what it cost, but it was not nothing."""
    sent = len(request.system) + length_of(request.messages)
    return Usage(input_tokens=tokens_at_least(sent), output_tokens=tokens_at_least(draft.size))


async def _listen(stream: AsyncGenerator[StreamItem, None], draft: _Draft) -> Finished | None:
    """How the answer ended; None if it would not, and was cut off."""
    async for item in stream:
        if type(item) is TextDelta:
            await draft.say("text", item.text)
        elif type(item) is ReasoningDelta:
            await draft.say("reasoning", item.text)
        elif type(item) is CallMade:
            await draft.call(item)
        elif type(item) is ReasoningSealed:
            draft.seal(item.signature)
        else:
            assert isinstance(item, Finished)  # noqa: S101 - the union has no other member
            return item
        if draft.endless:
            return None
    raise ModelError("The model's stream ended without saying how.", code="stream_cut", retryable=True)


def _arguments(text: str) -> Raw:
    """What the model wrote, if it is JSON; else the same text as a JSON string, which no tool accepts."""
    written = text.strip() or "{}"
    try:
        msgspec.json.decode(written)
        return Raw(written.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return Raw(msgspec.json.encode(text.encode(errors="replace").decode()))
