"""Composing a message from what a client sent: checked parts with ids of ours, and a title for a new session.

May import: errors, protocol, media, sessions.attachments.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agi.errors import Invalid, NotFound
from agi.protocol.commands import EditMessage, PostMessage
from agi.protocol.ids import MESSAGE, PART, new_id
from agi.protocol.messages import Message, Role
from agi.protocol.parts import Audio, File, Image, InputPart, Text
from agi.protocol.times import to_rfc3339
from agi.sessions.attachments import kind_of

if TYPE_CHECKING:
    from agi.media.sniffing import Kind

TITLE = 60
_Attached = type[Image] | type[Audio] | type[File]
_SHAPES: dict[str, _Attached] = {"image": Image, "audio": Audio, "pdf": File, "video": File}


def compose(session_id: str, role: Role, parts: Sequence[InputPart], *, client: str = "") -> Message:
    """Make the message."""
    return Message(
        id=new_id(MESSAGE),
        role=role,
        parts=tuple(parts),
        created_at=to_rfc3339(time.time()),
        session_id=session_id,
        status="complete",
        client=client,
    )


async def message_parts(command: PostMessage | EditMessage, folder: Path) -> tuple[InputPart, ...]:
    """The parts of a posted message, checked; files are looked at in a thread."""
    if all(isinstance(part, Text) for part in command.parts or ()):
        return checked_parts(command, folder)
    return await asyncio.to_thread(checked_parts, command, folder)


def checked_parts(command: PostMessage | EditMessage, folder: Path) -> tuple[InputPart, ...]:
    """The parts of a posted message; files it refers to must be in the session's folder."""
    if (command.parts is None) == (command.content is None):
        raise Invalid(
            "A message has either `parts` or `content`.", code="message_empty", hint="Send exactly one of the two."
        )
    if command.content is not None:
        return (Text(text=command.content, id=new_id(PART)),)
    return tuple(_checked(part, folder) for part in command.parts or ())


def title_of(message: Message) -> str:
    """A title from the first words."""
    text = next((part.text for part in message.parts if isinstance(part, Text) and part.text.strip()), "Untitled")
    return clean_title(text)


def clean_title(text: str) -> str:
    """A text as a title: one short line in which every character can be seen."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(plain.split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "…"


def _checked(part: InputPart, folder: Path) -> InputPart:
    if isinstance(part, Text):
        return Text(text=part.text, id=new_id(PART))
    place, _, name = part.ref.partition("/")
    if place != "attachments":
        raise NotFound(
            f"{part.ref[:80]!r} is no attachment of this session.",
            code="attachment_not_found",
            hint="Upload it with POST …/attachments and send back its ref.",
        )
    return _as_it_is(part, kind_of(folder, f"attachments/{name}"))


def _as_it_is(part: Image | Audio | File, found: Kind | None) -> InputPart:
    """The part as what its bytes are; what cannot be looked into, and text, is called what its sender calls it."""
    shape: _Attached = type(part)
    mime = part.mime_type
    if found is not None and found.family in _SHAPES:
        mime, shape = found.mime, _SHAPES[found.family]
    elif found is not None and found.family == "text":
        mime, shape = (mime if shape is File else found.mime), File
    return shape(ref=part.ref, mime_type=mime, id=new_id(PART), name=part.name)
