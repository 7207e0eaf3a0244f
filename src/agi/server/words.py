"""The translation tables: an event of the log in seed 000's words (`/events`) and in seed 004's (`/stream`).

Seed 000's are the log's own, in their envelope. Seed 004's are dotted, without an envelope; an event that only one of
the two seeds knows keeps its name, dotted, and its data. Knows no connection. May import: protocol, eventlog, views,
server.sse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.eventlog.base import LiveDelta
from agi.eventlog.hub import Item
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.messages import Message
from agi.protocol.parts import Artifact, Audio, File, Image, Json, Text
from agi.server.sse import Words, frame
from agi.views.folding import fold

_encode = msgspec.json.Encoder().encode


class PartDelta(Struct, frozen=True, kw_only=True, rename="camel"):
    """`message.part.delta`: a piece of a message, beginning at character `offset` of its part."""

    part_id: str
    type: ev.DeltaKind
    delta: str
    message_id: str
    offset: int


class ToolCalled(Struct, frozen=True, kw_only=True):
    """`tool.call`: a tool begins to run, or a verification as the tool `verify`."""

    id: str
    name: str
    args: Raw


class ToolDelta(Struct, frozen=True, kw_only=True):
    """`tool.delta`: a piece of what a tool says while it runs."""

    id: str
    chunk: str
    channel: str
    offset: int


class ToolDone(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`tool.result`: what came of it; `parts` is what the model is shown."""

    id: str
    name: str
    ok: bool
    parts: tuple[Text | Image | Audio | File, ...] = ()
    result: Json | UnsetType = UNSET
    artifact: Artifact | UnsetType = UNSET
    error: str = ""
    interrupted: bool = False
    blocked: bool = False


class StreamError(Struct, frozen=True, kw_only=True):
    """`error`: why a turn failed; `turn.failed` follows."""

    message: str
    code: str
    hint: str
    turn_id: str | None


def envelope_words(item: Item) -> bytes:
    """Seed 000's words."""
    return kept(item, "events", _envelope)


def dotted_words(epoch: int) -> Words:
    """Seed 004's words, for a log of this epoch."""

    def make(item: Item) -> bytes:
        return _dotted(item, epoch)

    return lambda item: kept(item, "stream", make)


def dotted(kind: str) -> str:
    """The dotted word for an event that has no other: `context_compacted` is `context.compacted`."""
    return kind.replace("_", ".", 1)


def kept(item: Item, surface: str, make: Callable[[Item], bytes]) -> bytes:
    """What a surface sends of an item, made once for all readers of this surface."""
    frames = item.frames
    if frames is None:
        frames = item.frames = {}
    found = frames.get(surface)
    if found is None:
        found = frames[surface] = make(item)
    return found


def _envelope(item: Item) -> bytes:
    if isinstance(item, Event):
        return frame(item.type, item.envelope())
    event = Event.of(item.seq, item.ts, item.session_id, item.turn_id, item.data)
    return frame(event.type, event.envelope())


def _dotted(item: Item, epoch: int) -> bytes:
    if isinstance(item, LiveDelta):
        return frame("message.part.delta", _encode(_part_delta(item.data)))
    if item.type == "session_created" and (state := fold(None, item)) is not None:
        return frame("session.created", _encode(state.public(epoch)))
    translate = _TRANSLATIONS.get(item.type)
    if translate is None or item.data is None:
        return frame(dotted(item.type), _with_turn(item))
    return translate(item, item.data)


def _with_turn(event: Event) -> bytes:
    """The event's data, and which turn it is about, since there is no envelope to say so."""
    if event.turn_id is None:
        return event.raw
    rest = event.raw.lstrip()[1:]
    comma = b"" if rest.strip() == b"}" else b","
    return b'{"turn_id":"%b"%b%b' % (event.turn_id.encode(), comma, rest)


def _nothing(event: Event, data: ev.EventData) -> bytes:
    return b""


def _message_added(event: Event, data: ev.MessageAdded) -> bytes:
    return frame("message.created", _encode(_placed(data.message, event)))


def _model_output_delta(event: Event, data: ev.ModelOutputDelta) -> bytes:
    return frame("message.part.delta", _encode(_part_delta(data)))


def _model_output_completed(event: Event, data: ev.ModelOutputCompleted) -> bytes:
    return frame("message.completed", _encode(_placed(data.message, event)))


def _tool_call_started(event: Event, data: ev.ToolCallStarted) -> bytes:
    call = data.tool_call
    return frame("tool.call", _encode(ToolCalled(id=call.id, name=call.name, args=call.input)))


def _tool_output_delta(event: Event, data: ev.ToolOutputDelta) -> bytes:
    delta = ToolDelta(id=data.tool_call_id, chunk=data.chunk, channel=data.channel, offset=data.offset)
    return frame("tool.delta", _encode(delta))


def _tool_call_completed(event: Event, data: ev.ToolCallCompleted) -> bytes:
    return frame("tool.result", _encode(tool_done(data)))


def tool_done(data: ev.ToolCallCompleted) -> ToolDone:
    """A call with its result, for clients."""
    result = data.tool_result
    return ToolDone(
        id=data.tool_call_id,
        name=data.name,
        ok=result.ok,
        parts=result.parts,
        result=result.result,
        artifact=result.artifact,
        error=result.error,
        interrupted=data.interrupted,
        blocked=data.blocked,
    )


def _verification_started(event: Event, data: ev.VerificationStarted) -> bytes:
    return frame("tool.call", _encode(verification_call(data)))


def verification_call(data: ev.VerificationStarted) -> ToolCalled:
    """A verification that begins, as a call of the tool `verify`."""
    args = Raw(_encode({"command": data.command, "attempt": data.attempt, "baseline": data.baseline}))
    return ToolCalled(id=data.verification_id, name="verify", args=args)


def _verification_completed(event: Event, data: ev.VerificationCompleted) -> bytes:
    done = verification_done(data)
    return b"" if done is None else frame("tool.result", _encode(done))


def verification_done(data: ev.VerificationCompleted) -> ToolDone | None:
    """What a verification found, as a result of the tool `verify`; None if it is told elsewhere."""
    if data.known or data.tool_call_id:
        return None  # nothing ran now, or the call that ran it has its own result
    result: Json = {
        "command": data.command,
        "attempt": data.attempt,
        "baseline": data.baseline,
        "status": data.status,
        "pre_existing": data.pre_existing,
        "exit_code": data.exit_code,
        "artifacts": data.artifacts,
    }
    return ToolDone(
        id=data.verification_id,
        name="verify",
        ok=data.status == "passed",
        parts=(Text(text=data.output),) if data.output else (),
        result=result,
        error=data.reason,
    )


def _turn_failed(event: Event, data: ev.TurnFailed) -> bytes:
    error = data.error
    told = StreamError(message=error.message, code=error.code, hint=error.hint, turn_id=event.turn_id)
    # The first of the two has no id: whoever comes back after it must still be told the second.
    return frame("error", _encode(told)) + b"\n" + frame("turn.failed", _with_turn(event))


def _placed(message: Message, event: Event) -> Message:
    """The message with where it belongs, which the envelope would have said."""
    return msgspec.structs.replace(message, session_id=event.session_id, turn_id=event.turn_id)


def _part_delta(data: ev.ModelOutputDelta) -> PartDelta:
    return PartDelta(
        part_id=data.part_id, type=data.kind, delta=data.delta, message_id=data.message_id, offset=data.offset
    )


# Each function takes the data type it is listed under, which the table's type cannot say.
_TRANSLATIONS: dict[str, Callable[[Event, Any], bytes]] = {
    "message_added": _message_added,
    "turn_started": _nothing,
    "model_output_delta": _model_output_delta,
    "model_output_completed": _model_output_completed,
    "tool_call_started": _tool_call_started,
    "tool_output_delta": _tool_output_delta,
    "tool_call_completed": _tool_call_completed,
    "verification_started": _verification_started,
    "verification_completed": _verification_completed,
    "turn_failed": _turn_failed,
}

STREAM_WORDS: dict[str, tuple[str, type]] = {
    "message_added": ("message.created", Message),
    "model_output_delta": ("message.part.delta", PartDelta),
    "model_output_completed": ("message.completed", Message),
    "tool_call_started": ("tool.call", ToolCalled),
    "tool_output_delta": ("tool.delta", ToolDelta),
    "tool_call_completed": ("tool.result", ToolDone),
}
"""The words of `/stream` with a payload of their own, by the event they come from; for the document."""
