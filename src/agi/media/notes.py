"""What a model is told in the place of a file it is not shown. The same file gives the same words.

Pure. May import: its siblings.
"""

from __future__ import annotations

import re

from agi.media.headers import picture
from agi.media.sniffing import Kind

_OWN = re.compile(r"attachments/[0-9a-f]{20}-(.+)", re.ASCII)
_WORDS = {
    "image": ("image", "cannot see images"),
    "audio": ("audio", "cannot hear audio"),
    "video": ("video", "cannot watch video"),
    "pdf": ("PDF", "cannot read PDF files"),
}


def name_of(ref: str, given: str = "") -> str:
    """A file's name as its sender knows it: as given, else from the ref it is stored under; on one line."""
    own = _OWN.fullmatch(ref)
    name = given.strip() or (own[1] if own else ref.rpartition("/")[2])
    return "".join(letter if letter.isprintable() and letter not in "[]" else "_" for letter in name)


def described(name: str, kind: Kind, data: bytes) -> str:
    """A file in a few words, such as `image diagram.png (800×600, 120 KB)`."""
    word = _WORDS[kind.family][0] if kind.family in _WORDS else "file"
    facts = [size_of(len(data))]
    found = picture(data) if kind.family == "image" else None
    if found is not None and found.width:
        facts.insert(0, f"{found.width}×{found.height}")
    if kind.family == "other":
        facts.insert(0, kind.name)
    return f"{word} {name} ({', '.join(facts)})"


def cannot_take(name: str, kind: Kind, data: bytes) -> str:
    """The model takes no such thing."""
    able = _WORDS[kind.family][1] if kind.family in _WORDS else "cannot be given such a file"
    return f"[{described(name, kind, data)} was attached; this model {able}]"


def not_shown(name: str, kind: Kind, data: bytes, why: str) -> str:
    """It could be taken, but not this one, or not now."""
    return f"[{described(name, kind, data)} was attached; it is not shown: {why}]"


def missing(name: str) -> str:
    """The file is no longer there."""
    return f"[{name} was attached; its file is not there any more]"


def size_of(count: int) -> str:
    """A number of bytes for people, in steps of 1,000."""
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1_000:.0f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
