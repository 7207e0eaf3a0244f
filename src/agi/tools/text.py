"""Bytes of a file as text: strict UTF-8, so that what is written back is what was read. May import: errors."""

from __future__ import annotations

from agi.errors import Invalid

BOM = "\ufeff"
"""The mark some editors put at the beginning of a file; kept in the file, not shown."""


def decode(path: str, data: bytes, *, offset: int = 0) -> str:
    """Decode what was read from byte `offset` of a file, without a leading mark; refuse what is not text."""
    nul = data.find(b"\0")
    if nul >= 0:
        raise _not_text(path, offset + nul, "a NUL byte")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_text(path, offset + error.start, f"byte 0x{data[error.start]:02x}") from None
    return text.removeprefix(BOM) if offset == 0 else text


def _not_text(path: str, at: int, what: str) -> Invalid:
    hint = "Use a command to look at it."
    return Invalid(f"{path!r} is not UTF-8 text: {what} at offset {at}.", hint=hint, code="not_text")
