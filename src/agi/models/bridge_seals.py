"""What a provider wants back with its own words, over the bridge: ids, signatures and details, as one opaque seal.

pydantic-ai keeps them on thoughts, texts and calls; we have one place for such things, the signature of a reasoning
part. Each seal says what it belongs to: the thought it closes, the text before it or the call after it.
Pure. May import: protocol.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from agi.protocol.parts import Json

_MARK = "bridge:"
"""Tells our seals from those of an adapter the same model may have been asked through."""


class Seal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`number` is the part's place in its answer: a thought that came in pieces is one thought again by it."""

    of: Literal["thought", "text", "call"]
    number: int
    id: str | None = None
    signature: str | None = None
    provider_name: str | None = None
    provider_details: Json | None = None


_decode = msgspec.json.Decoder(Seal).decode


def write_seal(seal: Seal) -> str:
    """The signature that keeps it; nothing if there is nothing to keep, or if it cannot be written."""
    if not (seal.id or seal.signature or seal.provider_details):
        return ""
    try:
        return _MARK + msgspec.json.encode(seal).decode()
    except (TypeError, ValueError, RecursionError):
        return ""


def read_seal(signature: str) -> Seal | None:
    """The seal in a signature, unless somebody else wrote it."""
    if not signature.startswith(_MARK):
        return None
    try:
        return _decode(signature[len(_MARK) :].encode())
    except (ValueError, RecursionError):
        return None
