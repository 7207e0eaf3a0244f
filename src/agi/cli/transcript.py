"""A session as a text to read: who said what, which tools ran. May import: protocol, cli."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agi.cli.calls import summary
from agi.cli.display import Screen, line
from agi.cli.output import STDOUT, is_terminal
from agi.protocol.messages import Message
from agi.protocol.parts import ErrorPart, Part, Reasoning, Text, ToolCallPart, ToolResultPart
from agi.protocol.sessions import Session


def transcript(session: Session, messages: Sequence[Message]) -> Iterator[str]:
    """Tell a session, piece by piece."""
    show = Screen().show if is_terminal(STDOUT) else str
    yield f"# {line(session.title or 'Untitled', 200)}\n\n"
    yield f"{session.id} · {session.status} · {line(session.agent)} · {session.created_at}\n"
    for message in messages:
        shown = [text for part in message.parts if (text := _told(part))]
        if message.role == "tool":
            yield from (f"{text}\n" for text in shown)
        elif shown:
            yield f"\n## {_who(message)}\n\n"
            yield show("\n".join(shown) + "\n")
    for pending in session.pending_approvals:
        yield f"\n◆ waits for an answer: {summary(pending.name, pending.input)}\n"


def _who(message: Message) -> str:
    name = "you" if message.role == "user" and not message.origin else message.origin or message.agent or message.role
    model = f" ({line(message.model)})" if message.model else ""
    return f"{line(name)}{model} · {message.created_at[:19].replace('T', ' ')}"


def _told(part: Part) -> str:
    match part:
        case Text():
            return part.text.rstrip()
        case ToolCallPart():
            return f"→ {summary(part.content.name, part.content.args)}"
        case ToolResultPart():
            mark = "✓" if part.content.ok else "✗"
            return f"{mark} {line(part.content.name)}" + (f": {line(part.content.error)}" if part.content.error else "")
        case ErrorPart():
            return f"✗ {line(part.content.message, 500)}"
        case Reasoning():
            return ""
    return f"[{part.mime_type}: {line(part.ref)}]"
