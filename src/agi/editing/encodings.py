"""Bytes of a file as text and back, without loss.

UTF-8, UTF-16 and UTF-32 by their mark, UTF-8 without one, and what a file says of itself: a coding line, an XML or HTML
declaration, or the charset its project configured. Nothing is guessed: what cannot be decoded is refused with the
offset of the first wrong byte, and what cannot be encoded is not written. May import: errors.
"""

from __future__ import annotations

import codecs
import re

from msgspec import Struct

from agi.errors import Invalid

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, of which it is a longer form
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD = 1024
# Patterns are compiled when a file first seems to declare something: most never do.
_COMMENT = rb"[ \t\f]*(?:#|//|/\*|<!--|--|;|%|\"|').*?coding[:=][ \t]*([-\w.]+)"
_DECLARATIONS = (
    rb"\A" + _COMMENT,
    rb"\A[^\r\n]*(?:\r\n|\r|\n)" + _COMMENT,
    rb"\A\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([-\w.]+)",
    rb"\A@charset \"([-\w.]+)\"",
    rb"(?i)<meta[^>]+charset\s*=\s*[\"']?([-\w.]+)",
)
_STATELESS = r"ascii|utf-8|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|shift_jis\w*|euc_\w+|gbk?\d*|big5\w*|tis-620"
"""The codecs that write a character the same way wherever it stands, so that other lines stay as they are."""


class Encoding(Struct, frozen=True):
    """How a text is written: by which codec, behind which mark, and whether the file itself says so."""

    codec: str = "utf-8"
    mark: bytes = b""
    declared: bool = False


def decode(path: str, data: bytes, configured: str = "") -> tuple[str, Encoding]:
    """Read a whole file as text without its mark; `configured` is what its project says where the file says nothing."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _decoded(path, data, Encoding(codec, mark)), Encoding(codec, mark)
    declared = _declared(data)
    if declared and declared != "utf-8" and (data.isascii() or not _is_utf8(data)):
        return _decoded(path, data, Encoding(declared)), Encoding(declared, declared=True)
    if configured and not _is_utf8(data):
        return _decoded(path, data, Encoding(configured)), Encoding(configured)
    return _decoded(path, data, Encoding()), Encoding()


def encode(path: str, text: str, encoding: Encoding) -> bytes:
    """Write a text as its file is written; refuses a character the file's encoding does not have."""
    if encoding.declared:
        encoding = _as_declared_now(path, text, encoding)
    try:
        return encoding.mark + text.encode(encoding.codec)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        what = f"U+{ord(text[error.start]):04X} in line {line}"
        message = f"{path!r} is written in {encoding.codec}, which has no character {what}."
        raise Invalid(message, hint="Nothing was changed. Use another character.", code="not_encodable") from None


def declared_in(text: str) -> Encoding:
    """The encoding a whole new text asks for in its first lines; UTF-8 if it asks for none."""
    codec = _declared(text[:_HEAD].encode("utf-8", "replace"))
    return Encoding(codec, declared=True) if codec else Encoding()


def _decoded(path: str, data: bytes, encoding: Encoding) -> str:
    start = len(encoding.mark)
    try:
        text = data[start:].decode(encoding.codec)
    except UnicodeDecodeError as error:
        raise _not_text(path, data, start + error.start, encoding) from None
    if "\0" in text:  # valid in every encoding, but no text has one
        raise _not_text(path, data, start + len(text[: text.index("\0")].encode(encoding.codec)), encoding)
    if not encoding.codec.startswith("utf-"):
        _refuse_loss(path, data, text, encoding)
    return text


def _refuse_loss(path: str, data: bytes, text: str, encoding: Encoding) -> None:
    """Some legacy codecs read several byte sequences as one character, and would write only one of them back."""
    try:
        if text.encode(encoding.codec) == data:
            return
    except UnicodeEncodeError:
        pass
    raise Invalid(
        f"{path!r} cannot be read as {encoding.codec} and written back as it was.",
        hint="It was left alone. Use a command to convert it.",
        code="not_text",
    )


def _not_text(path: str, data: bytes, offset: int, encoding: Encoding) -> Invalid:
    name = "UTF-8" if encoding.codec == "utf-8" else encoding.codec
    return Invalid(
        f"{path!r} is not {name} text: byte 0x{data[offset]:02x} at offset {offset}.",
        hint="It was left alone. Use a command to look at it or to convert it.",
        code="not_text",
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _declared(data: bytes) -> str:
    """The codec a file names in its first lines, if we can write it; empty if it names none."""
    head = data[:_HEAD]
    if b"coding" not in head and b"charset" not in head.lower():
        return ""
    for pattern in _DECLARATIONS:
        if found := re.search(pattern, head):
            return known_codec(found[1].decode("ascii", "replace"))
    return ""


def known_codec(name: str) -> str:
    """Our name for an encoding; empty for one that does not exist, or whose lines cannot be changed one by one."""
    try:
        codec = codecs.lookup(name).name
        plain = b"a\r\n".decode(codec) == "a\r\n"
    except (LookupError, ValueError):
        return ""
    return codec if plain and re.fullmatch(_STATELESS, codec) else ""


def _as_declared_now(path: str, text: str, encoding: Encoding) -> Encoding:
    """A change of the declaration itself is followed where no other character depends on it."""
    now = _declared(text[:_HEAD].encode("utf-8", "replace"))
    if now in ("", encoding.codec):
        return encoding
    if not text.isascii():
        raise Invalid(
            f"The change would make {path!r} declare {now}, but it is written in {encoding.codec}.",
            hint="Nothing was changed. Convert the file with a command first.",
            code="not_encodable",
        )
    return Encoding(now, declared=True)
