"""Bytes of a file as text: strict UTF-8, so that what is written back is what was read. May import: errors."""

from __future__ import annotations

from agi.errors import Invalid

BOM = "\ufeff"
"""The mark some editors put at the beginning of a file; kept in the file, not shown."""


def decode(path: str, data: bytes, *, offset: int = 0) -> str:
    """Decode what was read from byte `offset` of a file, without a leading mark; refuse what is not text."""
    try:
        text = data.decode("utf-8")
        bad = len(data)
    except UnicodeDecodeError as error:
        text, bad = "", error.start
    # A NUL is valid UTF-8, but no text has one.
    nul = data.find(b"\0", 0, bad)
    bad = nul if nul >= 0 else bad
    if bad < len(data):
        message = f"{path!r} is not UTF-8 text: byte 0x{data[bad]:02x} at offset {offset + bad}."
        raise Invalid(message, hint="Use a command to look at it.", code="not_text")
    return text.removeprefix(BOM) if offset == 0 else text
