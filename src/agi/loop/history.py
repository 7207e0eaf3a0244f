"""The normaliser: every request to a provider is built here, so that each tool call has exactly one result, in order.

Whatever was canceled, lost or cut off in the log, what the provider is told is well formed. The log is not changed.
Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.protocol.parts import (
    Audio,
    File,
    Image,
    InputPart,
    Part,
    Reasoning,
    Text,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    plain_text,
)
from agi.protocol.tools import ToolCall

NOTHING: Mapping[str, str] = MappingProxyType({})
WITHHELD = "[The attachment {} is left out here: the model's provider did not accept it.]"
LEFT_OUT = "[This output of {} characters was left out to make room. Call the tool again for what is needed of it.]"
LOST = "No result: the call was interrupted before it could answer. What it did is not known."


class Heard(NamedTuple):
    """What one message says, by itself."""

    message: Message
    """Without what is withheld."""
    speaks: bool
    """Whether it is told for itself: it is finished, and no result."""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[tuple[str, Message], ...] = ()
    """Each result as a message of its own, by its call; the first of each counts."""


def normalise(
    messages: Sequence[Message], withheld: Mapping[str, str] = NOTHING, known: Known[Message, Heard] | None = None
) -> tuple[Message, ...]:
    """Leave out what was never finished, pair each call with one result, drop results nobody asked for.

    `withheld` names refs, reasoning parts and calls that are not told any more; a note says so in their place.
    `known` keeps what each message says for the next request.
    """
    known = Known() if known is None else known
    found = known.of(messages, lambda message: _heard(_without(message, withheld)), dict(withheld))
    results: dict[str, Message] = {}
    for id, result in (one for heard in found for one in heard.results):
        results.setdefault(id, result)
    told: list[Message] = []
    for heard in _each_call_once([heard for heard in found if heard.speaks]):
        told.append(heard.message)
        told += [_answer(heard.message, call, results) for call in heard.calls]
    return tuple(told)


def _heard(message: Message) -> Heard:
    if message.role == "tool":
        return Heard(message, False, results=tuple(_results((message,)).items()))
    return Heard(message, _is_whole(message), tuple(calls_of(message)))


def _each_call_once(found: list[Heard]) -> list[Heard]:
    """Leave out calls that were told before: a fork or a repeated write must not make two of one."""
    ids = [call.id for heard in found for call in heard.calls]
    seen: set[str] = set()
    if len(set(ids)) == len(ids):
        return found
    again = [_heard(_once(heard.message, seen)) for heard in found]
    return [heard for heard in again if heard.speaks]


def _once(message: Message, seen: set[str]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            if part.content.id in seen:
                continue
            seen.add(part.content.id)
        parts.append(part)
    whole = len(parts) == len(message.parts)
    return message if whole else msgspec.structs.replace(message, parts=tuple(parts))


def _without(message: Message, withheld: Mapping[str, str]) -> Message:
    told = [_told(part, withheld) for part in message.parts] if withheld else []
    parts = tuple(part for part in told if part is not None)
    return message if not withheld or parts == message.parts else msgspec.structs.replace(message, parts=parts)


def _told(part: Part, withheld: Mapping[str, str]) -> Part | None:
    if isinstance(part, Reasoning):
        return None if part.id in withheld else part
    if isinstance(part, Image | Audio | File):
        return _shown(part, withheld)
    if not isinstance(part, ToolResultPart):
        return part
    content = part.content
    if content.id in withheld:
        shown: tuple[InputPart, ...] = (Text(text=LEFT_OUT.format(len(plain_text(content.parts)))),)
    else:
        shown = tuple(_shown(one, withheld) for one in content.parts)
    return msgspec.structs.replace(part, content=msgspec.structs.replace(content, parts=shown))


def _shown(part: InputPart, withheld: Mapping[str, str]) -> InputPart:
    if isinstance(part, Text) or part.ref not in withheld:
        return part
    return Text(text=WITHHELD.format(part.ref.rpartition("/")[2]))


def calls_of(message: Message) -> list[ToolCall]:
    """The tool calls a message makes, in order."""
    return [
        ToolCall(part.content.id, part.content.name, part.content.args)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]


def unanswered(history: Sequence[Message]) -> list[ToolCall]:
    """The calls of a turn's last answer that have no result yet; `history` is that turn's own messages."""
    for place in range(len(history) - 1, -1, -1):
        message = history[place]
        if message.role == "assistant" and _is_whole(message):
            answered = _results(history[place + 1 :])
            return [call for call in calls_of(message) if call.id not in answered]
    return []


def _is_whole(message: Message) -> bool:
    if message.role != "assistant":
        return True
    says = any(
        not isinstance(part, Reasoning) and not (isinstance(part, Text) and not part.text) for part in message.parts
    )
    return message.status == "complete" and says


def _results(messages: Iterable[Message]) -> dict[str, Message]:
    """The first result of each call, as a message of its own."""
    found: dict[str, Message] = {}
    for message in messages:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    alone = message if len(message.parts) == 1 else msgspec.structs.replace(message, parts=(part,))
                    found.setdefault(part.content.id, alone)
    return found


def _answer(asked: Message, call: ToolCall, results: dict[str, Message]) -> Message:
    found = results.get(call.id)
    if found is not None:
        return found
    content = ToolResultContent(id=call.id, name=call.name, ok=False, parts=(Text(text=LOST),), error=LOST)
    return msgspec.structs.replace(
        asked, id=f"{asked.id}-{call.id}", role="tool", parts=(ToolResultPart(content=content),)
    )
