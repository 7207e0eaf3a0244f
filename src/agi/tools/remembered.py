"""What a tool may ask of earlier work: this session, and others of the same workspace; never of any other.

Who answers is sessions' business. May import: protocol.
"""

from __future__ import annotations

from typing import Protocol

from agi.protocol.search import Found, Recalled, Search


class SessionMemory(Protocol):
    """The memory of one workspace, as a session's tools see it."""

    session_id: str
    """The session that asks."""

    async def search(self, asked: Search) -> Found:
        """Hits of this workspace, whatever the search says about workspaces; raises what is wrong with it."""

    async def recall(self, wanted: str, elsewhere: str | None) -> Recalled:
        """A message or call in full, of this session or (`elsewhere`) another one; raises NotFound."""
