"""Where a session came from, if it was forked from another one. May import: nothing of ours."""

from __future__ import annotations

from msgspec import Struct


class ForkedFrom(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The session and the event at which another one was begun with what had been said so far."""

    session_id: str
    seq: int
    """The last event of that session that was looked at."""
    message_id: str = ""
    """The message there that was asked for, if one was."""
    turn_id: str = ""
    """The turn there that was asked for, if one was."""
    ancestors: tuple[str, ...] = ()
    """That session, the one it was forked from itself, and so on."""
