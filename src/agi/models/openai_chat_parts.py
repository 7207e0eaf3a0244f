"""The parts of a message in OpenAI's Chat Completions format: text, and attachments as this format takes them.

Pictures, sounds and PDF files go along as they are, text files as text; what the format does not know, or what is not
at hand, is at least spoken of. Pure. May import: protocol.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable, Mapping

from msgspec import Struct

from agi.protocol.parts import Audio, File, Image, Part, Text

_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_SOUNDS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_TEXTS = frozenset(
    ("application/json", "application/xml", "application/yaml", "application/toml", "application/javascript")
)


class _Text(Struct, frozen=True):
    text: str
    type: str = "text"


class _Url(Struct, frozen=True):
    url: str


class _Image(Struct, frozen=True):
    image_url: _Url
    type: str = "image_url"


class _Sound(Struct, frozen=True):
    data: str
    format: str


class _Audio(Struct, frozen=True):
    input_audio: _Sound
    type: str = "input_audio"


class _Document(Struct, frozen=True):
    filename: str
    file_data: str


class _File(Struct, frozen=True):
    file: _Document
    type: str = "file"


Content = str | list[_Text | _Image | _Audio | _File]


def content_of(parts: Iterable[Part], files: Mapping[str, bytes]) -> Content:
    """What a person sent: one string where it is only text, else a list in the order it was sent."""
    found = [content for part in parts if (content := _content(part, files)) is not None]
    texts = [content.text for content in found if isinstance(content, _Text)]
    return "\n".join(texts) if len(texts) == len(found) else found


def text_of(parts: Iterable[Part], files: Mapping[str, bytes]) -> str:
    """The same where only text may stand, as in a tool's result: all but text files is spoken of."""
    found = (_text(part, files) for part in parts)
    return "\n".join(text for text in found if text)


def _content(part: Part, files: Mapping[str, bytes]) -> _Text | _Image | _Audio | _File | None:
    data = files.get(part.ref) if isinstance(part, Image | Audio | File) else None
    if data and isinstance(part, Image | Audio | File):
        kind = _plain_type(part.mime_type)
        if kind in _IMAGES:
            return _Image(_Url(_data_url(kind, data)))
        if kind in _SOUNDS:
            return _Audio(_Sound(_base64(data), _SOUNDS[kind]))
        if kind == "application/pdf":
            return _File(_Document(part.ref.rpartition("/")[2], _data_url(kind, data)))
    text = _text(part, files)
    return _Text(text) if text else None


def _text(part: Part, files: Mapping[str, bytes]) -> str:
    if isinstance(part, Text):
        return part.text
    if not isinstance(part, Image | Audio | File):
        return ""
    note = f"[attachment: {part.ref}, {part.mime_type}]"
    written = _written(_plain_type(part.mime_type), files.get(part.ref, b""))
    return f"{note}\n{written}" if written else note


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


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{_base64(data)}"


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
