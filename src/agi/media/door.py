"""The door: a file that somebody brings is looked at before it is kept. What its bytes are counts, not what is said.

To be run in a thread: pictures are decoded once here, so that a damaged one is refused at once and not later by a
provider. May import: errors, its siblings.
"""

from __future__ import annotations

from msgspec import Struct

from agi.errors import Invalid
from agi.media.pictures import check_picture
from agi.media.sniffing import UNKNOWN, Kind, is_encrypted, sniff

NOT_SAID = "application/octet-stream"
"""The type of a file whose sender does not know what it is."""
_MEDIA = ("image/", "audio/", "video/", "text/")
_TEXTS = frozenset(
    ("application/json", "application/xml", "application/yaml", "application/toml", "application/javascript")
)
_SAME = {"image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav"}
_SAME |= {"audio/vnd.wave": "audio/wav", "audio/x-m4a": "audio/mp4", "audio/m4a": "audio/mp4"}
_SAME |= {"audio/x-flac": "audio/flac", "image/x-ms-bmp": "image/bmp", "application/x-pdf": "application/pdf"}
_CONVERT = "Convert it to PNG or JPEG first."


class Admitted(Struct, frozen=True):
    """A file that may be kept: its type, and what its sender should know."""

    kind: Kind
    mime: str
    note: str = ""


def admit(declared: str, data: bytes) -> Admitted:
    """Look at a file; raises Invalid for one that nobody could use as what it is."""
    said, kind = _SAME.get(declared, declared), sniff(data)
    if kind.family == "image":
        check_picture(data)
    elif kind.mime.startswith("image/") and kind.family == "other":
        raise Invalid(f"A {kind.name} cannot be shown to models.", code="image_unsupported", hint=_CONVERT)
    elif kind.family == "pdf" and is_encrypted(data):
        said_so = "The PDF is protected by a password, and no provider opens such a file."
        raise Invalid(said_so, code="pdf_encrypted", hint="Save it without the password and attach that.")
    if kind == UNKNOWN and (said.startswith(_MEDIA) or said == "application/pdf"):
        told = f"The file is said to be {said[:80]}, but its bytes are nothing of the kind."
        raise Invalid(told, code="attachment_damaged", hint="See whether it opens elsewhere, and send it again.")
    return _named(said, kind)


def same_type(declared: str) -> str:
    """A type by the one name we have for it."""
    plain = declared.partition(";")[0].strip().lower()
    return _SAME.get(plain, plain)


def is_text_type(mime: str) -> bool:
    """Whether a type is one of text, as far as its name tells."""
    return mime.startswith("text/") or mime in _TEXTS or mime.endswith(("+json", "+xml", "+yaml"))


def _named(said: str, kind: Kind) -> Admitted:
    """Text may be called what its sender calls it, and so may what we cannot look into; all else has one name."""
    if said == kind.mime:
        return Admitted(kind, said)
    if said == NOT_SAID:
        return Admitted(kind, kind.mime)
    if kind.family == "text" and is_text_type(said):
        return Admitted(kind, said)
    if kind.family == "other" and not said.startswith(_MEDIA) and said != "application/pdf":
        return Admitted(kind, said)
    note = f"It is said to be {said[:80]}, but by its bytes it is {kind.mime} ({kind.name}); it is kept as that."
    return Admitted(kind, kind.mime, note)
