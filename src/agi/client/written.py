"""How what is asked of a daemon is written: paths, queries, bodies. Pure. May import: nothing of ours."""

from __future__ import annotations

import msgspec
from msgspec import Struct


def path_of(session_id: str) -> str:
    """Where a session is."""
    return f"/v1/sessions/{quoted(session_id)}"


def query(**given: str) -> str:
    """What is said behind a path; what is empty is left out."""
    said = "&".join(f"{name}={quoted(text)}" for name, text in given.items() if text)
    return f"?{said}" if said else ""


def quoted(text: str) -> str:
    """Percent-encode everything that could mean something in a path or a query."""
    kept = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in text.encode(errors="surrogateescape"))


def encoded(command: Struct) -> bytes:
    """Write a command, leaving out what was not said."""
    fields = {name: getattr(command, name) for name in command.__struct_fields__}
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})
