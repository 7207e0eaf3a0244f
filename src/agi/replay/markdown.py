"""A session as Markdown to read: who said what, what was called and what came of it.

What others wrote stands in fences longer than any run of backticks in it, or is quoted, so it cannot pass for ours.
May import: protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agi.protocol.messages import Message
from agi.protocol.parts import ErrorPart, Part, Reasoning, Text, ToolCallPart, ToolResultPart, plain_text
from agi.protocol.sessions import Session
from agi.protocol.showing import exact

LONGEST = 20_000
"""Characters of one result."""
_TICKS = re.compile("`+")
_WHO = {"user": "User", "assistant": "Agent", "tool": "Result", "system": "System"}


def markdown(session: Session, messages: Sequence[Message]) -> Iterator[str]:
    """The session, piece by piece."""
    yield f"# {exact(session.title or 'Untitled')}\n\n"
    yield f"{session.id} · {session.status} · agent {exact(session.agent)} · {session.created_at}\n"
    yield f"\n{session.last_seq} events, head `{session.head}`\n"
    for message in messages:
        if message.role != "tool":
            origin = f" (by the harness: {exact(message.origin)})" if message.origin else ""
            yield f"\n## {_WHO.get(message.role, message.role)}{origin}\n"
        for part in message.parts:
            yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, Text):
        yield f"\n{_visible(part.text)}\n"
    elif isinstance(part, Reasoning):
        if part.text:
            yield "\n" + "\n".join(f"> {line}" for line in _visible(part.text).split("\n")) + "\n"
    elif isinstance(part, ToolCallPart):
        arguments = bytes(part.content.args).decode(errors="replace")
        yield f"\n**{exact(part.content.name)}**\n\n{_fenced(arguments, 'json')}"
    elif isinstance(part, ToolResultPart):
        said = plain_text(part.content.parts) or part.content.error
        yield f"\n{'Result' if part.content.ok else 'Failed'}:\n\n{_fenced(said)}"
    elif isinstance(part, ErrorPart):
        yield f"\nError: {exact(part.content.message)}\n"
    else:
        yield f"\n[{part.__struct_config__.tag}]\n"


def _fenced(text: str, kind: str = "") -> str:
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[{len(text) - LONGEST} more characters]"
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(cut)), default=0))
    return f"{ticks}{kind}\n{_visible(cut)}\n{ticks}\n"


def _visible(text: str) -> str:
    """The text with every character that hides or commands a terminal shown as an escape."""
    return "\n".join("\t".join(exact(piece) for piece in line.split("\t")) for line in text.split("\n"))
