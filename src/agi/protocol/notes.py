"""What the user pinned for a workspace: short texts that every session there may be told. May import: protocol."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.commands import Command, Path

LONGEST_NOTE = 1_000
MOST_NOTES = 50
"""Of one workspace."""

NoteText = Annotated[str, Meta(min_length=1, max_length=LONGEST_NOTE)]


class Note(Struct, frozen=True, kw_only=True):
    """Something the user wants known in a workspace."""

    id: str
    text: str
    created_at: str
    workspace_path: str


class AddNote(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pin a note; without a workspace, for the project."""

    text: NoteText
    workspace_path: Path | None = None
