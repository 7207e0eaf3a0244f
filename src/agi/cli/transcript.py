"""A session as a text to read: who said what, which tools ran, what commands said. May import: protocol, cli."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from agi.cli.calls import output_of, summary
from agi.cli.display import Screen, line
from agi.cli.excerpts import excerpt
from agi.cli.output import STDOUT, is_terminal
from agi.cli.times import local_time
from agi.protocol.messages import Message
from agi.protocol.parts import ErrorPart, Part, Reasoning, Text, ToolCallPart, ToolResultContent, ToolResultPart
from agi.protocol.sessions import Session

CUT = {
    "canceled": "canceled here",
    "interrupted": "cut off here: the process stopped",
    "error": "cut off here: the model failed",
    "max_tokens": "cut off here: the model's limit",
}
"""What is said of an answer that is not whole, by how it ended."""


def transcript(session: Session, messages: Sequence[Message], *, ids: bool = False) -> Iterator[str]:
    """Tell a session, piece by piece; with the ids of its messages, if they are wanted."""
    show = Screen().show if is_terminal(STDOUT) else str
    yield f"# {line(session.title or 'Untitled', 200)}\n\n"
    yield f"{session.id} · {session.status} · {line(session.agent)} · {local_time(session.created_at)}\n"
    if (source := session.forked_from) is not None:
        yield f"forked from {source.session_id}, event {source.seq}\n"
    for message in messages:
        shown = [text for part in message.parts if (text := _told(part))]
        if message.role == "assistant" and message.stop_reason in CUT:
            shown.append(f"[{CUT[message.stop_reason]}]")
        if message.role == "tool":
            yield from (f"{text}\n" for text in shown)
        elif shown:
            name = f" · {message.id}" if ids else ""
            yield f"\n## {_who(message)}{name}{' [taken back]' if message.reverted else ''}\n\n"
            yield show("\n".join(shown) + "\n")
    for pending in session.pending_approvals:
        yield f"\n◆ waits for an answer: {summary(pending.name, pending.input)}\n"


def _who(message: Message) -> str:
    name = "you" if message.role == "user" and not message.origin else message.origin or message.agent or message.role
    model = f" ({line(message.model)})" if message.model else ""
    return f"{line(name)}{model} · {local_time(message.created_at)}"


def _told(part: Part) -> str:
    match part:
        case Text():
            return part.text.rstrip()
        case ToolCallPart():
            return f"→ {summary(part.content.name, part.content.args)}"
        case ToolResultPart():
            return "\n".join((*(f"    {one}" for one in _output(part.content)), _outcome(part.content)))
        case ErrorPart():
            return f"✗ {line(part.content.message, 500)}"
        case Reasoning():
            return ""
    return f"[{part.mime_type}: {line(part.ref)}]"


def _outcome(content: ToolResultContent) -> str:
    if content.ok:
        return f"✓ {line(content.name)}"
    return f"✗ {line(content.name)}" + (f": {line(content.error)}" if content.error else "")


def _output(content: ToolResultContent) -> list[str]:
    """What a command said; what other tools found is for the model."""
    ran = content.result is not UNSET and not content.result.keys().isdisjoint(("exit_code", "commands"))
    return excerpt(output_of(content.parts)) if ran else []
