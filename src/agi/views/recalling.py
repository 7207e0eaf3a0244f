"""One message, or one tool call with its result, in full: of a session, or of another of the same workspace.

Reads the tables, not the index: whatever is in the log can be brought back, also what a model is no longer shown.
May import: errors, protocol, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from agi.errors import NotFound
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, File, Image, Part, Text, ToolCallPart, ToolResultContent, ToolResultPart
from agi.protocol.search import Recalled
from agi.views import queries
from agi.views.queries import JOINED, gather_messages
from agi.views.segments import counts, segments
from agi.views.tables import QUEUED

_BY_ID = JOINED + ' WHERE m.id=? AND m.session_id=? ORDER BY p."index"'
_BY_CALL = (
    "SELECT DISTINCT m.id, m.position FROM messages m JOIN message_parts p ON p.message_id=m.id WHERE m.session_id=?"
    " AND p.type IN ('tool_call', 'tool_result') AND substr(p.content, 1, ?)=? ORDER BY m.position"
)


def recall(db: sqlite3.Connection, session_id: str, wanted: str, elsewhere: str | None = None) -> Recalled:
    """Find it by its id, in the session or (`elsewhere`) in another one of its workspace; raises NotFound."""
    own = queries.session_state(db, session_id)
    for found in _places(db, session_id, wanted, elsewhere):
        there = own if found == session_id else queries.session_state(db, found)
        if there.project_path != own.project_path:
            continue
        messages = _of_call(db, found, wanted) or _of_message(db, found, wanted)
        if not messages:
            continue
        position = int(db.execute("SELECT position FROM messages WHERE id=?", (messages[0].id,)).fetchone()[0])
        return Recalled(
            id=wanted,
            session_id=found,
            title=there.title,
            ts=messages[0].created_at,
            what=_what(messages, wanted),
            text=_text(messages, wanted),
            files=tuple(_files(messages)),
            reverted=position < QUEUED and not counts(position, segments(there.reverts)),
        )
    raise NotFound(
        f"There is nothing with the id {wanted[:80]!r} in {'that' if elsewhere else 'this'} session.",
        code="not_recalled",
        hint="Search for it with a query; a hit of another session is brought back with its id and its session_id.",
    )


def _places(db: sqlite3.Connection, session_id: str, wanted: str, elsewhere: str | None) -> list[str]:
    """Where to look: messages have ids of their own, calls have those that their provider gave them."""
    if elsewhere is not None:
        row = db.execute("SELECT id FROM sessions WHERE id=?", (elsewhere,)).fetchone()
        return [elsewhere] if row else []
    row = db.execute("SELECT session_id FROM messages WHERE id=?", (wanted,)).fetchone()
    return [session_id, *([row[0]] if row and row[0] != session_id else [])]


def _of_message(db: sqlite3.Connection, session_id: str, message_id: str) -> list[Message]:
    return gather_messages(session_id, db.execute(_BY_ID, (message_id, session_id)))


def _of_call(db: sqlite3.Connection, session_id: str, call_id: str) -> list[Message]:
    """The message that made a call and the one that holds its result, each with just that part."""
    begins = '{"id":' + msgspec.json.encode(call_id).decode()  # as the tables write it: the id comes first
    rows = db.execute(_BY_CALL, (session_id, len(begins), begins)).fetchall()
    whole = [message for row in rows for message in _of_message(db, session_id, row[0])]
    kept = [
        replace(
            message,
            parts=tuple(
                part
                for part in message.parts
                if isinstance(part, ToolCallPart | ToolResultPart) and part.content.id == call_id
            ),
        )
        for message in whole
    ]
    return [message for message in kept if message.parts]


def _what(messages: list[Message], wanted: str) -> str:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart | ToolResultPart) and part.content.id == wanted:
                return f"a call of {part.content.name}"
    role = messages[0].role
    return f"what the {role} said" if role != "tool" else "the result of a tool call"


def _text(messages: list[Message], wanted: str) -> str:
    said = [_part_text(part) for message in messages for part in message.parts]
    parts = [part for message in messages for part in message.parts]
    is_call = any(isinstance(part, ToolCallPart) and part.content.id == wanted for part in parts)
    if is_call and not any(isinstance(part, ToolResultPart) for part in parts):
        said.append("[it has no result]")
    return "\n\n".join(text for text in said if text)


def _files(messages: list[Message]) -> Iterator[Image | Audio | File]:
    """What was attached to messages, or came with results."""
    for part in (part for message in messages for part in message.parts):
        inner = part.content.parts if isinstance(part, ToolResultPart) else (part,)
        yield from (one for one in inner if isinstance(one, Image | Audio | File))


def _part_text(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image | Audio | File):
        return f"[{part.mime_type} file {part.ref}]"
    if isinstance(part, ToolCallPart):
        args = bytes(part.content.args).decode(errors="replace")
        return f"[call {part.content.id}] {part.content.name} {args}"
    if isinstance(part, ToolResultPart):
        return _result_text(part.content)
    return ""


def _result_text(result: ToolResultContent) -> str:
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    files = [f"[{part.mime_type} file {part.ref}]" for part in result.parts if not isinstance(part, Text)]
    head = f"[result of {result.id}{'' if result.ok else ', which failed'}]"
    return "\n".join((head, *texts, *files)) if texts or files else f"{head}\n{result.error}".rstrip()
