"""What a person or a tool gave, as pydantic-ai takes it: text, and attachments the model can read.

Text files go along as text; what the model does not take, or what is not at hand, is at least spoken of.
Pure. May import: protocol; needs the extra.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic_ai.messages import BinaryContent
from pydantic_ai.profiles import ModelProfile

from agi.protocol.parts import Audio, File, Image, Part, Text

_TEXTS = frozenset(
    ("application/json", "application/xml", "application/yaml", "application/toml", "application/javascript")
)
Content = str | BinaryContent


def contents_of(parts: Iterable[Part], files: Mapping[str, bytes], profile: ModelProfile) -> list[Content]:
    """The parts in their order; neighbouring texts are joined."""
    found: list[Content] = []
    for part in parts:
        content = _content(part, files, profile)
        if isinstance(content, str) and found and isinstance(last := found[-1], str):
            found[-1] = f"{last}\n{content}"
        elif content:
            found.append(content)
    return found


def _content(part: Part, files: Mapping[str, bytes], profile: ModelProfile) -> Content:
    if isinstance(part, Text):
        return part.text
    if not isinstance(part, Image | Audio | File):
        return ""
    kind, data = _plain_type(part.mime_type), files.get(part.ref, b"")
    note = f"[attachment: {part.ref}, {part.mime_type}]"
    if written := _written(kind, data):
        return f"{note}\n{written}"
    attached = BinaryContent(data, media_type=kind)
    return attached if data and _takes(profile, attached) else note


def _takes(profile: ModelProfile, attached: BinaryContent) -> bool:
    try:
        if not attached.format:
            return False
    except ValueError:
        return False  # a type no provider has a name for
    if attached.is_image:
        return profile.get("supports_image_input", True)
    if attached.is_audio:
        return profile.get("supports_audio_file_input", True)
    if attached.is_video:
        return profile.get("supports_video_input", True)
    types = profile.get("supported_document_media_types")
    return profile.get("supports_document_input", True) and (types is None or attached.media_type in types)


def _written(kind: str, data: bytes) -> str:
    """What a text file says, or nothing if it is none."""
    if not (kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))):
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _plain_type(mime_type: str) -> str:
    kind = mime_type.partition(";")[0].strip().lower()
    return "image/jpeg" if kind == "image/jpg" else kind
