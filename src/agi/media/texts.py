"""The text of a text file, and how it stands in a message: under its name, fenced, and not endlessly long.

Pure. May import: nothing of ours.
"""

from __future__ import annotations

import codecs
import re

LONGEST = 100_000
"""Characters of a text file that are shown; whoever wants more reads it by range."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, of which it is a longer form
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that stand in no text; tabs, line ends and the escape of colored logs do."""
_FENCE = re.compile(r"`{3,}")


def text_of(data: bytes) -> str | None:
    """The text, by its mark, as UTF-8, or as the common encoding of one byte a letter; None if it is none."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(codec)
            except UnicodeDecodeError:
                return None
    if _CONTROL.search(data):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def fenced(name: str, text: str, more: str = "") -> str:
    """A file's text as it is told, with its name; no line of it can end the fence. `more` says where the rest is."""
    shown = text[:LONGEST]
    longest = max((len(run) for run in _FENCE.findall(shown)), default=2)
    fence = "`" * (longest + 1)
    end = "" if shown.endswith("\n") or not shown else "\n"
    cut = f"\n[cut: the first {LONGEST:,} of {len(text):,} characters{more}]" if len(text) > LONGEST else ""
    return f"[file {name}]\n{fence}\n{shown}{end}{fence}{cut}"
