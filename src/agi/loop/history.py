"""The normaliser: every request to a provider is built here, so that each tool call has exactly one result, in order.

Whatever was canceled, lost or cut off in the log, what the provider is told is well formed. The log is not changed.
Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

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


def normalise(messages: Iterable[Message], withheld: Mapping[str, str] = NOTHING) -> tuple[Message, ...]:
    """Leave out what was never finished, pair each call with one result, drop results nobody asked for.

    `withheld` names refs, reasoning parts and calls that are not told any more; a note says so in their place.
    """
    found = (_without(message, withheld) for message in messages) if withheld else messages
    kept = [message for message in found if _is_whole(message)]
    results = _results(kept)
    told: list[Message] = []
    seen: set[str] = set()
    for message in (_once(message, seen) for message in kept if message.role != "tool"):
        if _is_whole(message):
            told.append(message)
            told.extend(_answer(message, call, results) for call in calls_of(message))
    return tuple(told)


def _once(message: Message, seen: set[str]) -> Message:
    """Leave out calls that were told before: a fork or a repeated write must not make two of one."""
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
    parts = [_told(part, withheld) for part in message.parts]
    return msgspec.structs.replace(message, parts=tuple(part for part in parts if part is not None))


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


def attached(messages: Iterable[Message]) -> list[str]:
    """The refs of all files that messages and results show, each once."""
    found: dict[str, None] = {}
    for message in messages:
        for part in message.parts:
            shown = part.content.parts if isinstance(part, ToolResultPart) else (part,)
            found.update((one.ref, None) for one in shown if isinstance(one, Image | Audio | File))
    return list(found)


def unanswered(history: Sequence[Message]) -> list[ToolCall]:
    """The calls of a turn's last answer that have no result yet; `history` is that turn's own messages."""
    answered = set(_results(history))
    for message in reversed(history):
        if message.role == "assistant" and _is_whole(message):
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
