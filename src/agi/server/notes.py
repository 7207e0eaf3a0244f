"""`/v1/notes`: what the user pinned for a workspace. May import: errors, config, protocol, server."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.config.notes import add_note, read_notes, remove_note
from agi.errors import Invalid
from agi.protocol.commands import Path as PathText
from agi.protocol.notes import AddNote, Note
from agi.server.answers import Json, NoContent
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class NotesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which workspace."""

    workspace_path: Annotated[PathText, Meta(description="An absolute path; default: the project.")] | UnsetType = UNSET


class Notes(Struct, frozen=True, kw_only=True):
    """A workspace's notes, the oldest first."""

    notes: tuple[Note, ...]


async def list_notes(request: Request[None, NotesQuery]) -> ASGIApp:
    """What is pinned."""
    asked = request.query.workspace_path
    path = str(request.harness.project) if asked is UNSET else _folder(asked)
    return Json(Notes(notes=await asyncio.to_thread(read_notes, request.harness.settings.home_config, path)))


async def add(request: Request[AddNote, None]) -> ASGIApp:
    """Pin a note."""
    asked = request.body.workspace_path
    path = str(request.harness.project) if asked is None else _folder(asked)
    home = request.harness.settings.home_config
    return Json(await asyncio.to_thread(add_note, home, path, request.body.text), 201)


async def remove(request: Request[None, None]) -> ASGIApp:
    """Unpin a note."""
    await asyncio.to_thread(remove_note, request.harness.settings.home_config, request.path["note_id"])
    return NoContent()


def _folder(text: str) -> str:
    if "\0" in text or not os.path.isabs(text):
        raise Invalid(f"{text[:80]!r} is not an absolute path.", code="path_invalid", hint="Begin it with /.")
    return text


ROUTES = (
    Route(
        method="GET",
        path="/v1/notes",
        handler=list_notes,
        name="listNotes",
        summary="The notes the user pinned for a workspace.",
        query=NotesQuery,
        answers={200: Notes},
        errors=(422,),
    ),
    Route(
        method="POST",
        path="/v1/notes",
        handler=add,
        name="addNote",
        summary="Pin a note for a workspace.",
        body=AddNote,
        answers={201: Note},
        errors=(422,),
        example={"text": "The staging database is read-only."},
    ),
    Route(
        method="DELETE",
        path="/v1/notes/{note_id}",
        handler=remove,
        name="removeNote",
        summary="Unpin a note.",
        answers={204: None},
        errors=(404,),
    ),
)
