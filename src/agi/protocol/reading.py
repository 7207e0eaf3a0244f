"""Decoders that are made by their first use: making one looks at every type behind it, and a start reads few of them.

May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

Reads = Callable[[bytes | str], Any]


def reader(kind: Any) -> Reads:
    """Reads JSON of one type; raises what msgspec raises."""
    made: Reads | None = None

    def read(text: bytes | str) -> Any:
        nonlocal made
        if made is None:
            made = msgspec.json.Decoder(kind).decode
        return made(text)

    return read
