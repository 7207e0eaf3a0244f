"""Files of a session: attachments that clients upload, artifacts that tools leave behind.

What is sent back is to be saved, not shown: a file's type is told only where it is harmless.
May import: errors, protocol, sessions, server.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from agi.errors import BadRequest, Invalid
from agi.protocol.commands import UploadAttachment
from agi.server.answers import Json, SentFile
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route
from agi.server.uploads import decoded
from agi.views.queries import Attachment

ANY = "application/octet-stream"
HARMLESS = frozenset(
    [
        *("application/json", "application/pdf", "text/csv", "text/markdown", "text/plain"),
        *("audio/flac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/wav", "audio/webm", "audio/x-wav"),
        *("image/gif", "image/jpeg", "image/png", "image/webp"),
    ]
)
"""Types that a browser does not run anything from."""
_BY_ENDING = {"json": "application/json", "png": "image/png", "txt": "text/plain", "log": "text/plain"}
_BY_ENDING |= {"patch": "text/plain", "diff": "text/plain", "md": "text/markdown", "csv": "text/csv"}


class Stored(Struct, frozen=True, kw_only=True):
    """The file is stored; messages refer to it by `ref`."""

    ref: str
    mime_type: str
    filename: str
    size: int
    sha256: str
    note: str | UnsetType = UNSET
    """That the file is not what it was said to be, and what it is kept as."""


class Attachments(Struct, frozen=True):
    """A session's attachments, oldest first."""

    attachments: list[Attachment]


async def upload(request: Request[UploadAttachment | None, None]) -> ASGIApp:
    """Store a file: base64 in JSON, or a form with the field `file`."""
    given = request.body
    if given is None:
        filename, mime_type, data = await _form_file(request)
    else:
        filename, mime_type, data = given.filename, given.mime_type, decoded(given.data)
    added = await request.harness.add_attachment(request.session_id, filename, mime_type, data)
    stored = Stored(
        ref=added.ref,
        mime_type=added.mime_type,
        filename=added.filename,
        size=added.size,
        sha256=added.sha256,
        note=added.note or UNSET,
    )
    return Json(stored, 201)


async def list_attachments(request: Request[None, None]) -> ASGIApp:
    """What was uploaded."""
    return Json(Attachments(request.harness.attachments(request.session_id)))


async def get_attachment(request: Request[None, None]) -> ASGIApp:
    """An attachment's bytes."""
    name = request.path["file"]
    found = request.harness.fetch_file(request.session_id, "attachments", name)
    known = {one.ref: one for one in request.harness.attachments(request.session_id)}
    attachment = known.get(f"attachments/{name}")
    if attachment is None:
        return SentFile(found.path, name, ANY)
    return SentFile(found.path, attachment.filename, _told_type(attachment.mime_type))


async def get_artifact(request: Request[None, None]) -> ASGIApp:
    """The bytes of a file that a tool left behind."""
    name = request.path["file"]
    found = request.harness.fetch_file(request.session_id, "artifacts", request.path["turn_id"], name)
    return SentFile(found.path, name, _told_type(_BY_ENDING.get(name.rpartition(".")[2].lower(), ANY)))


def _told_type(mime_type: str) -> str:
    if mime_type not in HARMLESS:
        return ANY
    return f"{mime_type}; charset=utf-8" if mime_type.startswith("text/") else mime_type


async def _form_file(request: Request[object, object]) -> tuple[str, str, bytes]:
    """The one file of a form."""
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException
    from starlette.requests import Request as FormRequest

    try:
        form = await FormRequest(request.scope, request.receive).form(max_files=1, max_fields=1)
    except (MultiPartException, HTTPException) as error:
        said = error.message if isinstance(error, MultiPartException) else error.detail
        raise BadRequest(f"The form cannot be read: {said}", hint="Send one file in the field `file`.") from error
    try:
        return await _checked_file(form)
    finally:
        await form.close()


async def _checked_file(form: Any) -> tuple[str, str, bytes]:
    file = form.get("file")
    if len(form) != 1 or not hasattr(file, "read") or not file.filename:
        raise Invalid("The form has no file.", code="file_missing", hint="Send one file in the field `file`.")
    if len(file.filename) > 255:
        raise Invalid("The file's name is too long.", code="filename_too_long", hint="At most 255 characters.")
    return file.filename, file.content_type or ANY, await file.read()


ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/attachments",
        handler=upload,
        name="uploadAttachment",
        summary="Store a file of at most 20 MiB with the session.",
        body=UploadAttachment,
        form=True,
        answers={201: Stored},
        errors=(404, 422, 507),
        example={"filename": "log.txt", "mime_type": "text/plain", "data": "aGVsbG8="},
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/attachments",
        handler=list_attachments,
        name="listAttachments",
        summary="List what was stored with the session.",
        answers={200: Attachments},
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/attachments/{file}",
        handler=get_attachment,
        name="getAttachment",
        summary="The bytes of an attachment.",
        answers={200: bytes},
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/artifacts/{turn_id}/{file}",
        handler=get_artifact,
        name="getArtifact",
        summary="The bytes of a file that a turn's tools left behind.",
        answers={200: bytes},
        errors=(404,),
    ),
)
