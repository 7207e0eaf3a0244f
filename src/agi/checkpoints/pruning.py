"""Keeping the store within its size: the sessions that were quiet longest go first.

What the present files hold stays, and with it what is needed to take the running call back. May import: checkpoints.
"""

from __future__ import annotations

import sqlite3

from agi.checkpoints.store import Store, stored_bytes

_OLDEST = (
    "SELECT session FROM steps WHERE session<>? GROUP BY session HAVING count(last)=count(*)"
    " ORDER BY max(made_at), max(number) LIMIT 1"
)
_OWN_OLDEST = "SELECT number FROM steps WHERE session=? AND last IS NOT NULL ORDER BY number LIMIT ?"
_UNUSED_WORKSPACE = (
    "SELECT id FROM workspaces w WHERE id<>? AND EXISTS (SELECT 1 FROM files WHERE workspace=w.id)"
    " AND NOT EXISTS (SELECT 1 FROM steps WHERE workspace=w.id AND last IS NULL) ORDER BY used_at LIMIT 1"
)
_NO_LONGER_COVERED = (
    "DELETE FROM changes WHERE NOT EXISTS (SELECT 1 FROM steps s WHERE s.workspace=changes.workspace"
    " AND s.first<changes.number AND (s.last IS NULL OR s.last>=changes.number))"
)
_UNUSED = (
    "DELETE FROM blobs WHERE key NOT IN (SELECT key FROM files UNION SELECT before_key FROM changes WHERE before_key"
    " IS NOT NULL UNION SELECT after_key FROM changes WHERE after_key IS NOT NULL UNION SELECT before_key FROM plans"
    " WHERE before_key IS NOT NULL UNION SELECT after_key FROM plans WHERE after_key IS NOT NULL)"
)


def prune(store: Store, limit: int, session: str, workspace: int) -> int:
    """Make room if more than `limit` bytes are used; says how many steps had to go. This session's go last."""
    with store.reading() as db:
        if stored_bytes(db) <= limit:
            return 0
    goal = limit - limit // 5
    removed = 0
    with store.writing() as db:
        _sweep(db)
        while stored_bytes(db) > goal:
            gone = _let_go(db, session, workspace)
            if gone < 0:
                break
            removed += gone
            _sweep(db)
    store.reclaim()
    return removed


def forget(store: Store, session: str) -> None:
    """Remove a session's checkpoints; what only they needed goes when room is made."""
    if store.exists:
        with store.writing() as db:
            db.execute("DELETE FROM plans WHERE step IN (SELECT number FROM steps WHERE session=?)", (session,))
            db.execute("DELETE FROM steps WHERE session=?", (session,))
            db.execute(_NO_LONGER_COVERED)


def sessions_in(store: Store) -> list[str]:
    """The sessions of which something is kept that is not under way."""
    if not store.exists:
        return []
    with store.reading() as db:
        rows = db.execute("SELECT DISTINCT session FROM steps WHERE last IS NOT NULL")
        return [row[0] for row in rows]


def sweep(store: Store) -> None:
    """Remove what nothing needs any more, and give the room back to the disk."""
    if store.exists:
        with store.writing() as db:
            _sweep(db)
        store.reclaim()


def _let_go(db: sqlite3.Connection, session: str, workspace: int) -> int:
    """Remove what is needed least; says how many steps that was, -1 if nothing is left to go."""
    row = db.execute(_OLDEST, (session,)).fetchone()
    if row is not None:
        return db.execute("DELETE FROM steps WHERE session=?", row).rowcount
    row = db.execute(_UNUSED_WORKSPACE, (workspace,)).fetchone()
    if row is not None:
        db.execute("DELETE FROM files WHERE workspace=?", row)
        db.execute("UPDATE workspaces SET whole=0, generation=generation+1 WHERE id=?", row)
        return 0
    own = db.execute("SELECT count(*) FROM steps WHERE session=? AND last IS NOT NULL", (session,)).fetchone()[0]
    rows = db.execute(_OWN_OLDEST, (session, max(1, own // 4))).fetchall() if own > 1 else []
    db.executemany("DELETE FROM steps WHERE number=?", rows)
    return len(rows) or -1


def _sweep(db: sqlite3.Connection) -> None:
    db.execute(_NO_LONGER_COVERED)
    db.execute(_UNUSED)
