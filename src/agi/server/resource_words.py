"""Seed 002's words: what an agent said and did, as the parts its frontend shows.

Thinking, tools and the final answer are told apart; each carries the id it can be recognised by. Optional fields are
left out rather than null. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from agi.protocol.messages import Message
from agi.protocol.parts import (
    Audio,
    ErrorPart,
    File,
    Image,
    Part,
    Reasoning,
    Text,
    ToolCallPart,
    ToolResultPart,
    plain_text,
)

SHOWN = 20_000
"""How many characters of a tool's output are told; the rest is in the log."""


class ResponsePart(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One thing the agent thought, did or said."""

    text: str
    timestamp: str | UnsetType = UNSET
    type: Literal["thinking", "tool", "final"] | UnsetType = UNSET
    part_id: str | UnsetType = UNSET
    call_id: str | UnsetType = UNSET


class HistoryMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One line of a conversation."""

    role: Literal["user", "assistant"]
    type: Literal["text", "tool", "tool_use"]
    content: str
    timestamp: str | None
    message_id: str | UnsetType = UNSET
    part_id: str | UnsetType = UNSET
    call_id: str | UnsetType = UNSET


def answer_parts(messages: Sequence[Message], final: Message | None) -> list[ResponsePart]:
    """What an agent said and did in one turn; `final` is the message that is its answer."""
    told: list[ResponsePart] = []
    for message in messages:
        if message.role == "user" or message.origin:
            continue
        spoken: Literal["thinking", "final"] = "final" if final is not None and message.id == final.id else "thinking"
        for part in message.parts:
            text = _said(part)
            if isinstance(part, ToolCallPart | ToolResultPart):
                told.append(
                    ResponsePart(
                        text=text,
                        timestamp=message.created_at,
                        type="tool",
                        part_id=part.id,
                        call_id=part.content.id,
                    )
                )
            elif text:
                kind = "thinking" if isinstance(part, Reasoning) else spoken
                told.append(ResponsePart(text=text, timestamp=message.created_at, type=kind, part_id=part.id))
    return told


def history_messages(messages: Iterable[Message]) -> list[HistoryMessage]:
    """A conversation as it was held, each thing once; what the harness said itself is left out."""
    told: dict[object, HistoryMessage] = {}
    for message in messages:
        if message.reverted or message.origin or message.role == "system":
            continue
        for key, line in _lines(message):
            told.setdefault(key, line)
    return list(told.values())


def _lines(message: Message) -> Iterator[tuple[object, HistoryMessage]]:
    role: Literal["user", "assistant"] = "user" if message.role == "user" else "assistant"
    for part in message.parts:
        text = _said(part)
        if isinstance(part, Reasoning) or not text:
            continue
        kind: Literal["text", "tool", "tool_use"] = "text"
        call_id: str | UnsetType = UNSET
        if isinstance(part, ToolCallPart | ToolResultPart):
            kind = "tool_use" if isinstance(part, ToolCallPart) else "tool"
            call_id = part.content.id
        line = HistoryMessage(
            role=role,
            type=kind,
            content=text,
            timestamp=message.created_at,
            message_id=message.id,
            part_id=part.id,
            call_id=call_id,
        )
        yield (part.id if call_id is UNSET else (kind, call_id)), line


def _said(part: Part) -> str:
    """A part as text."""
    if isinstance(part, Text | Reasoning):
        return part.text
    if isinstance(part, ToolCallPart):
        return _cut(f"{part.content.name} {bytes(part.content.args).decode(errors='replace')}")
    if isinstance(part, ToolResultPart):
        return _cut(plain_text(part.content.parts) or part.content.error or "(nothing was said)")
    if isinstance(part, ErrorPart):
        return part.content.message
    kind = {Image: "image", Audio: "audio", File: "file"}[type(part)]
    return f"[{kind}: {part.ref}]"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n[{len(text) - SHOWN} more characters]"
