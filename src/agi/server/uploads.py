"""Files inside JSON: base64 becomes bytes. May import: errors."""

from __future__ import annotations

import binascii

from agi.errors import Invalid


def decoded(text: str) -> bytes:
    """The bytes; raises Invalid for what is no base64."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise Invalid(f"The body is not acceptable: `data`: not base64 ({error}).", hint="Encode the bytes.") from error
