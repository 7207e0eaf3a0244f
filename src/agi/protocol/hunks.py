"""A proposed change in pieces that can be accepted one by one. May import: protocol."""

from __future__ import annotations

from msgspec import Struct


class Hunk(Struct, frozen=True, kw_only=True):
    """One piece of a proposed change: some lines of a file, or all that becomes of a file."""

    id: str
    """By which an answer names it; counts for this question only."""
    path: str
    header: str
    """Where it is, such as `@@ -1,4 +1,5 @@`, or what becomes of the whole file: `new file`, `deleted`, `moved` …"""
    diff: str
