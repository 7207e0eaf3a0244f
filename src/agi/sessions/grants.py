"""What people allowed for longer than one call: listed and revoked, of sessions and of workspaces alike.

A session's are in its log; a workspace's are in the user's own settings. May import: errors, protocol, config,
eventlog, views.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from agi.config.grants import add_grants, read_grants, remove_grant
from agi.errors import ConfigError, NotFound
from agi.eventlog.log import EventLog
from agi.protocol.events import GrantRevoked
from agi.protocol.grants import Grant
from agi.views import queries

_decode = msgspec.json.Decoder(list[Grant]).decode
_IN_SESSIONS = (
    "SELECT json_extract(state, '$.grants') FROM sessions WHERE json_array_length(json_extract(state, '$.grants'))>0"
)


def list_grants(log: EventLog, home_config: Path) -> list[Grant]:
    """All of this project's sessions, and of every workspace of the user."""
    return [*read_grants(home_config), *_of_sessions(log.db)]


def session_grants(log: EventLog, session_id: str) -> list[Grant]:
    """What was allowed for the rest of one session; raises NotFound."""
    return list(queries.session_state(log.db, session_id).grants)


def keep_grants(home_config: Path, workspace: str, grants: tuple[Grant, ...]) -> None:
    """Remember for a workspace what the answer to a question allowed; the answer itself counts already."""
    try:
        add_grants(home_config, workspace, grants)
    except ConfigError as error:
        error.message = f"The call was approved once, but it cannot be remembered: {error.message}"
        raise


async def revoke_session_grant(log: EventLog, session_id: str, grant_id: str) -> None:
    """Ask again about what was allowed for the rest of a session."""

    def check(db: sqlite3.Connection) -> None:
        if all(grant.id != grant_id for grant in queries.session_state(db, session_id).grants):
            raise NotFound(
                f"The session has no grant {grant_id[:80]!r}.",
                code="grant_not_found",
                hint="Its grants are listed under /v1/sessions/{session_id}/grants.",
            )

    check(log.db)
    await log.append(session_id, [(None, GrantRevoked(grant_id=grant_id))], check=check)


async def revoke_grant(log: EventLog, home_config: Path, grant_id: str) -> None:
    """Ask again about what was allowed, wherever it is kept; raises NotFound."""
    for grant in _of_sessions(log.db):
        if grant.id == grant_id:
            await revoke_session_grant(log, grant.session_id, grant_id)
            return
    remove_grant(home_config, grant_id)


def _of_sessions(db: sqlite3.Connection) -> list[Grant]:
    return [grant for (found,) in db.execute(_IN_SESSIONS) for grant in _decode(found)]
