"""Content blocks of Anthropic's Messages format: what the parts of our messages are in a request.

Text that is blank is never sent, thinking only as its maker sealed it, attachments by what their bytes are and not by
what they are called. Which block goes into which message is `anthropic_format`'s business. May import: protocol,
models.anthropic_events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import UNSET, Raw, Struct, UnsetType

from agi.models.anthropic_events import SealedThinking, decode_seal
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, File, Image, Part, Reasoning, Text, ToolCallPart, ToolResultPart

MAX_IMAGE = 5 * 1024 * 1024 * 3 // 4
"""Bytes of an image that is sent: it may have 5 MiB once it is written in base64."""
MAX_ATTACHED = 28 * 1024 * 1024 * 3 // 4
"""Bytes of all attachments that are sent: a request may have 32 MB."""
MOST_ATTACHED = 100
"""How many attachments are sent."""

_UNFIT = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class CacheControl(Struct, frozen=True):
    """Everything up to the block that carries this is worth keeping at the provider."""

    type: str = "ephemeral"


class TextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str
    cache_control: CacheControl | UnsetType = UNSET


class Source(Struct, frozen=True, tag_field="type", tag="base64"):
    """The bytes of an attachment."""

    media_type: str
    data: bytes


class ImageBlock(Struct, frozen=True, tag_field="type", tag="image"):
    """A picture."""

    source: Source
    cache_control: CacheControl | UnsetType = UNSET


class DocumentBlock(Struct, frozen=True, tag_field="type", tag="document"):
    """A PDF."""

    source: Source
    cache_control: CacheControl | UnsetType = UNSET


Shown = TextBlock | ImageBlock | DocumentBlock


class ResultBlock(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """What came of one call."""

    tool_use_id: str
    content: list[Shown]
    is_error: bool | UnsetType = UNSET
    cache_control: CacheControl | UnsetType = UNSET


class ThinkingBlock(Struct, frozen=True, tag_field="type", tag="thinking"):
    """What the model thought, as it gave it."""

    thinking: str
    signature: str


class RedactedBlock(Struct, frozen=True, tag_field="type", tag="redacted_thinking"):
    """What the model thought, unreadable."""

    data: str


class CallBlock(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call the model made."""

    id: str
    name: str
    input: Raw


UserBlock = Shown | ResultBlock
Thought = ThinkingBlock | RedactedBlock
Block = UserBlock | Thought | CallBlock


def affordable(messages: Sequence[Message], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The attachments that fit into one request, the latest first; the rest are told as notes."""
    kept: dict[str, bytes] = {}
    room, left = MAX_ATTACHED, MOST_ATTACHED
    for ref in _refs(messages) if files else ():
        data = files.get(ref)
        if data is not None and len(data) <= room and left:
            kept[ref] = data
            room, left = room - len(data), left - 1
    return kept


def user_blocks(parts: Sequence[Part], files: Mapping[str, bytes]) -> list[UserBlock]:
    """What a person or a tool shows: words, attachments and results, in order."""
    blocks: list[UserBlock] = []
    for part in parts:
        if isinstance(part, ToolResultPart):
            blocks.append(_result(part, files))
        elif (shown := _show(part, files)) is not None:
            blocks.append(shown)
    return blocks


def assistant_blocks(parts: Sequence[Part], provider: str, model: str) -> list[Block]:
    """What the model said, thought (if it was this model) and called. Thoughts alone, or at the end, are refused."""
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Text) and part.text.strip():
            blocks.append(TextBlock(part.text))
        elif isinstance(part, ToolCallPart):
            blocks.append(_call(part))
        elif isinstance(part, Reasoning) and (part.provider, part.model) == (provider, model):
            blocks += _thought(part)
    while blocks and isinstance(blocks[-1], Thought):
        blocks.pop()
    return blocks


def fit(name: str) -> str:
    """An id or a name as the format takes it: a model may have called a tool that no rules allow."""
    return _UNFIT.sub("_", name)[:128] or "_"


def _refs(messages: Sequence[Message]) -> list[str]:
    """What the messages refer to, the last first, each once for every time it is sent."""
    parts = [part for message in messages if message.role != "assistant" for part in message.parts]
    shown = [piece for part in parts for piece in (part.content.parts if isinstance(part, ToolResultPart) else (part,))]
    return [part.ref for part in reversed(shown) if isinstance(part, Image | File)]


def _call(part: ToolCallPart) -> CallBlock:
    """Arguments must be an object; what else a model wrote is put into one."""
    written = bytes(part.content.args)
    if not written.lstrip().startswith(b"{"):
        written = b'{"malformed":%b}' % written
    return CallBlock(fit(part.content.id), fit(part.content.name), Raw(written))


def _thought(part: Reasoning) -> list[Thought]:
    """A block as it came; one that was cut off before it was signed would be refused."""
    try:
        seal = decode_seal(part.signature)
    except (ValueError, RecursionError):
        return []
    if isinstance(seal, SealedThinking):
        return [ThinkingBlock(part.text, seal.signature)] if seal.signature else []
    return [RedactedBlock(seal.data)]


def _result(part: ToolResultPart, files: Mapping[str, bytes]) -> ResultBlock:
    result = part.content
    content = [shown for piece in result.parts if (shown := _show(piece, files)) is not None]
    if not content:
        content = [TextBlock(result.error if result.error.strip() else "(no output)")]
    return ResultBlock(fit(result.id), content, UNSET if result.ok else True)


def _show(part: Part, files: Mapping[str, bytes]) -> Shown | None:
    if isinstance(part, Text):
        return TextBlock(part.text) if part.text.strip() else None
    if not isinstance(part, Image | Audio | File):
        return None
    note = f"[attachment: {part.ref}, {part.mime_type}]"
    data = files.get(part.ref, b"")
    block = None if isinstance(part, Audio) or not data else _attached(data, note)
    return block or TextBlock(note)


def _attached(data: bytes, note: str) -> Shown | None:
    """An attachment by its first bytes: the provider refuses one that is not what it is said to be."""
    media_type = next((known for start, known in _IMAGES if data.startswith(start)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media_type = "image/webp"
    if media_type:
        return ImageBlock(Source(media_type, data)) if len(data) <= MAX_IMAGE else None
    if data.startswith(b"%PDF-"):
        return DocumentBlock(Source("application/pdf", data))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else TextBlock(f"{note}\n{text}")
