"""What messages are made of: ordered parts, told apart by `type`.

Text, reasoning and attachments carry their fields directly (seed 000); a tool call, a tool result and an error carry
them under `content` in seed 004's camelCase words, which is also what stands in the `message_parts.content` column.
May import: nothing of ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

Json = dict[str, object]
"""A JSON object as it came."""
FileName = Annotated[str, Meta(max_length=255)]
"""What people call a file, such as its path in the workspace; without one it goes by the name it was stored under."""


class Text(Struct, frozen=True, tag_field="type", tag="text", kw_only=True, omit_defaults=True):
    """Plain text or markdown."""

    text: str
    id: str = ""


class Reasoning(Struct, frozen=True, tag_field="type", tag="reasoning", kw_only=True, omit_defaults=True):
    """What the model thought aloud; replayed only to the provider and model that wrote it."""

    text: str
    id: str = ""
    provider: str = ""
    model: str = ""
    signature: str = ""


class Image(Struct, frozen=True, tag_field="type", tag="image", kw_only=True, omit_defaults=True):
    """A picture, stored as an attachment of the session."""

    ref: str
    mime_type: str
    id: str = ""
    name: FileName = ""


class Audio(Struct, frozen=True, tag_field="type", tag="audio", kw_only=True, omit_defaults=True):
    """A sound, stored as an attachment of the session."""

    ref: str
    mime_type: str
    id: str = ""
    name: FileName = ""


class File(Struct, frozen=True, tag_field="type", tag="file", kw_only=True, omit_defaults=True):
    """Any other file, stored as an attachment of the session."""

    ref: str
    mime_type: str
    id: str = ""
    name: FileName = ""


class Artifact(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Something a tool made: a file kept on disk, or a diff kept inline."""

    kind: Literal["file", "file_diff"]
    id: str = ""
    path: str = ""
    mime: str = ""
    size: int = 0
    sha256: str = ""
    patch_format: str = ""
    patch: str = ""
    summary: dict[str, int] | None = None


class ToolCallContent(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Which tool, with what; `args` is the JSON object exactly as the model wrote it."""

    id: str
    name: str
    args: Raw
    started_at: int = 0


class ToolCallPart(Struct, frozen=True, tag_field="type", tag="tool_call", kw_only=True, omit_defaults=True):
    """The model asks for a tool."""

    content: ToolCallContent
    id: str = ""


class ToolResultContent(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What came of a call: `parts` is what the model is shown, `result` the same for programs."""

    id: str
    name: str
    ok: bool
    parts: tuple[Text | Image | Audio | File, ...] = ()
    result: Json | UnsetType = UNSET
    artifact: Artifact | UnsetType = UNSET
    error: str = ""
    finished_at: int = 0


class ToolResultPart(Struct, frozen=True, tag_field="type", tag="tool_result", kw_only=True, omit_defaults=True):
    """The answer to one tool call."""

    content: ToolResultContent
    id: str = ""


class ErrorContent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong, for people."""

    message: str
    code: str = ""


class ErrorPart(Struct, frozen=True, tag_field="type", tag="error", kw_only=True, omit_defaults=True):
    """A failure, kept where the answer would have been."""

    content: ErrorContent
    id: str = ""


InputPart = Text | Image | Audio | File
"""What a person may send."""

Part = Text | Reasoning | Image | Audio | File | ToolCallPart | ToolResultPart | ErrorPart
"""Every kind of part."""


_FILES = (Image, Audio, File)


def refs_in(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """The refs of the files that parts show, results included, once for every time."""
    found: list[str] = []
    for part in parts:
        if isinstance(part, ToolResultPart):
            found += [one.ref for one in part.content.parts if not isinstance(one, Text)]
        elif isinstance(part, _FILES):
            found.append(part.ref)
    return tuple(found)


def plain_text(parts: tuple[Part, ...] | list[Part]) -> str:
    """Join the text parts, leaving out everything else."""
    return "".join(part.text for part in parts if isinstance(part, Text))
