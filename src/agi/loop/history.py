"""The normaliser: every request to a provider is built here, so that each tool call has exactly one result, in order.

Whatever was canceled, lost or cut off in the log, what the provider is told is well formed. The log is not changed.
Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agi.protocol.messages import Message
from agi.protocol.parts import Audio, File, Image, Reasoning, Text, ToolCallPart, ToolResultContent, ToolResultPart
from agi.protocol.tools import ToolCall

LOST = "No result: the call was interrupted before it could answer. What it did is not known."


def normalise(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Leave out what was never finished, pair each call with one result, drop results nobody asked for."""
    kept = [message for message in messages if _is_whole(message)]
    results = _results(kept)
    told: list[Message] = []
    for message in kept:
        if message.role != "tool":
            told.append(message)
            told.extend(_answer(message, call, results) for call in calls_of(message))
    return tuple(told)


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
    """The first result of each call."""
    found: dict[str, Message] = {}
    for message in messages:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    found.setdefault(part.content.id, message)
    return found


def _answer(asked: Message, call: ToolCall, results: dict[str, Message]) -> Message:
    found = results.get(call.id)
    if found is not None:
        return found
    content = ToolResultContent(id=call.id, name=call.name, ok=False, parts=(Text(text=LOST),), error=LOST)
    return msgspec.structs.replace(
        asked, id=f"{asked.id}-{call.id}", role="tool", parts=(ToolResultPart(content=content),)
    )
