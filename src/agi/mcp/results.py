"""What a server answered, as a result: its text cleaned, its pictures and other files kept with the turn.

Text goes through the one limiter afterwards, like every result's. May import: protocol, tools, mcp.
"""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from typing import Any

import msgspec
from msgspec import Struct

from agi.mcp.base import Server
from agi.mcp.defining import clean, depth_of, scrubbed
from agi.protocol.parts import Image, Json, Text
from agi.protocol.tools import ToolCall, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.kinds import HEAD, kind_name, picture
from agi.tools.output import ArtifactFile

LARGEST_PICTURE = 3_750_000
"""A larger one no provider takes; it is kept as a file."""
WIDEST_PICTURE = 8_000
DEEPEST = 100
_EMPTY = "Done; it answered with nothing."
_ASKS = (
    "{} wants to ask the user something before it goes on, which is refused here. Ask the user yourself, and call it "
    "again with what you were told."
)


class _Shown(Struct):
    """What is made of the pieces of an answer."""

    texts: list[str]
    pictures: list[Image]
    files: list[ArtifactFile]


async def to_result(context: ToolContext, call: ToolCall, server: Server, answer: Any, *, changed: bool) -> ToolResult:
    """The result of a call."""
    if not hasattr(answer, "content"):
        return failed(call, _ASKS.format(server.name))
    shown = await asyncio.to_thread(_shown, context, answer.content)
    facts = _facts(answer.structured_content)
    if not shown.texts and facts is not None and not shown.files:
        shown.texts.append(msgspec.json.format(msgspec.json.encode(answer.structured_content), indent=2).decode())
    text = "\n".join(shown.texts) or ("" if shown.files else _EMPTY)
    ok = not answer.is_error
    refs = tuple(file.ref for file in shown.files)
    result = ToolResult(
        id=call.id,
        ok=ok,
        parts=(*([Text(text=text)] if text else []), *shown.pictures),
        error="" if ok else clean(text, 2_000) or "It failed, and did not say why.",
        artifacts=refs,
        changed=changed,
    )
    if facts is not None:
        result = msgspec.structs.replace(result, result=facts)
    if shown.files:
        result = msgspec.structs.replace(result, artifact=shown.files[0].artifact())
    return result


def contents_text(context: ToolContext, contents: list[Any]) -> tuple[str, tuple[Image, ...], tuple[ArtifactFile, ...]]:
    """The contents of a resource, or the messages of a prompt, as text and files."""
    shown = _shown(context, contents)
    return "\n".join(shown.texts), tuple(shown.pictures), tuple(shown.files)


def _shown(context: ToolContext, contents: list[Any]) -> _Shown:
    shown = _Shown([], [], [])
    for piece in contents:
        kind = getattr(piece, "type", "contents")
        if kind == "text":
            shown.texts.append(scrubbed(piece.text))
        elif kind in ("image", "audio"):
            _keep(context, shown, piece.data, piece.mime_type)
        elif kind == "resource_link":
            shown.texts.append(f"[resource {clean(piece.uri, 500)}: {clean(piece.name, 200)}; mcp_read shows it]")
        elif kind == "resource":
            _add_contents(context, shown, piece.resource)
        elif kind == "contents":
            _add_contents(context, shown, piece)
    return shown


def _add_contents(context: ToolContext, shown: _Shown, contents: Any) -> None:
    shown.texts.append(f"[resource {clean(str(contents.uri), 500)}]")
    if hasattr(contents, "text"):
        shown.texts.append(scrubbed(contents.text))
    else:
        _keep(context, shown, contents.blob, contents.mime_type or "application/octet-stream")


def _keep(context: ToolContext, shown: _Shown, data: str, mime: str) -> None:
    """Keep a file; what it is, is told by its bytes and not by the server."""
    try:
        content = b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        shown.texts.append("[a file that cannot be read: its base64 is malformed]")
        return
    found = picture(content[:HEAD])
    mime = found.mime if found else clean(mime, 100) or "application/octet-stream"
    suffix = found.name.lower() if found else "wav" if mime == "audio/wav" else "bin"
    try:
        file = ArtifactFile(context, f"mcp.{suffix}", mime=mime)
    except OSError as error:
        shown.texts.append(f"[a file that could not be kept: {error.strerror}]")
        return
    file.write(content)
    file.close()
    shown.files.append(file)
    told = f"{found.name} picture" if found else f"{mime}: {kind_name(content[:HEAD])}"
    if found and len(content) <= LARGEST_PICTURE and max(found.width, found.height) <= WIDEST_PICTURE:
        shown.pictures.append(Image(ref=file.ref, mime_type=mime))
        shown.texts.append(f"[{told}, {len(content):,} bytes]")
    else:
        shown.texts.append(f"[{told}, {len(content):,} bytes, kept as {file.ref}]")


def _facts(structured: Any) -> Json | None:
    """What the server says for programs, if it is fit to be kept."""
    if structured is None or depth_of(structured, DEEPEST + 1) > DEEPEST:
        return None
    facts: Json = structured if isinstance(structured, dict) else {"value": structured}
    try:
        msgspec.json.encode(facts)
    except (OverflowError, TypeError, ValueError, UnicodeEncodeError):
        return None
    return facts
