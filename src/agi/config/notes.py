"""Notes the user pinned for a workspace: kept beside the user's own settings, never in the project.

By the workspace's real path, as what is trusted and allowed is. Only a person adds or removes one: no tool can. An
entry that makes no sense says nothing. May import: errors, protocol, config.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from agi.config.store import Document, read_document, update_document
from agi.errors import Invalid, NotFound
from agi.protocol.ids import NOTE, new_id
from agi.protocol.notes import LONGEST_NOTE, MOST_NOTES, Note
from agi.protocol.times import to_rfc3339

NOTES_NAME = "notes.json"
_KEY = "workspaces"


class _Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    text: str
    created_at: str


def read_notes(home_config: Path, workspace: str | Path) -> tuple[Note, ...]:
    """A workspace's notes, the oldest first; what cannot be read is left out."""
    path = os.path.realpath(workspace)
    entries = _entries(read_document(home_config, NOTES_NAME)).get(path, [])
    return tuple(
        Note(id=one.id, text=one.text, created_at=one.created_at, workspace_path=path) for one in entries[:MOST_NOTES]
    )


def add_note(home_config: Path, workspace: str | Path, text: str) -> Note:
    """Pin a note; raises Invalid if it is empty or too long, or there are too many."""
    path, said = os.path.realpath(workspace), text.strip()
    if not said or len(said) > LONGEST_NOTE or "\0" in said:
        hint = f"Write 1 to {LONGEST_NOTE} characters of text."
        raise Invalid(f"A note of {len(said)} characters is not kept.", code="note_invalid", hint=hint)
    note = Note(id=new_id(NOTE), text=said, created_at=to_rfc3339(time.time()), workspace_path=path)

    def add(document: Document) -> None:
        entries = _entries(document)
        known = entries.setdefault(path, [])
        if len(known) >= MOST_NOTES:
            hint = "Remove one first: `agi notes` lists them, `agi notes rm ID` removes one."
            raise Invalid(f"There are {MOST_NOTES} notes for {path} already.", code="too_many_notes", hint=hint)
        known.append(_Entry(id=note.id, text=note.text, created_at=note.created_at))
        document[_KEY] = Raw(msgspec.json.encode(entries))

    update_document(home_config, add, NOTES_NAME)
    return note


def remove_note(home_config: Path, note_id: str) -> None:
    """Unpin a note, of whichever workspace; raises NotFound if it was not there."""

    def remove(document: Document) -> None:
        entries = _entries(document)
        kept = {path: [one for one in known if one.id != note_id] for path, known in entries.items()}
        if kept == entries:
            hint = "`agi notes` and GET /v1/notes list them."
            raise NotFound(f"There is no note {note_id[:80]!r}.", code="note_not_found", hint=hint)
        document[_KEY] = Raw(msgspec.json.encode({path: known for path, known in kept.items() if known}))

    update_document(home_config, remove, NOTES_NAME)


def _entries(document: Document) -> dict[str, list[_Entry]]:
    found = msgspec.json.decode(document[_KEY]) if _KEY in document else {}
    listed = found if isinstance(found, dict) else {}
    return {path: _read_all(entries) for path, entries in listed.items()}


def _read_all(entries: object) -> list[_Entry]:
    return [one for entry in entries if (one := _read(entry))] if isinstance(entries, list) else []


def _read(entry: object) -> _Entry | None:
    try:
        one = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError:
        return None
    return one if 0 < len(one.text) <= LONGEST_NOTE else None
