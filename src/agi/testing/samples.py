"""Sessions, events and messages as values, for tests of what is made of them. May import: protocol."""

from __future__ import annotations

from agi.protocol.events import Event, EventData
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.protocol.sessions import Session

TIME = "2026-11-17T14:02:00.000Z"


def session(**fields: object) -> Session:
    """A session in which nothing happened, but for these fields."""
    default: dict[str, object] = {
        "id": "sess_1",
        "session_id": "sess_1",
        "title": None,
        "agent": "build",
        "provider": "scripted",
        "model": "script",
        "workspace_path": "/shop",
        "project_path": "/shop",
        "system_prompt": None,
        "auto_run": True,
        "created_at": TIME,
        "updated_at": TIME,
        "status": "active",
        "activity": "idle",
        "last_turn_id": "turn_1",
        "last_seq": 10,
        "epoch": 1,
        "queue": (),
        "pending_approvals": (),
        "usage": Usage(),
    }
    return Session(**{**default, **fields})  # type: ignore[arg-type]


def event(seq: int, data: EventData, turn_id: str | None = "turn_1") -> Event:
    """An event that says this."""
    return Event.of(seq, TIME, "sess_1", turn_id, data)


def message(id: str, text: str, role: str = "user", **fields: object) -> Message:
    """Something said."""
    parts = (Text(text=text, id=f"part_{id}"),)
    return Message(id=id, role=role, parts=parts, created_at=TIME, status="complete", **fields)  # type: ignore[arg-type]
