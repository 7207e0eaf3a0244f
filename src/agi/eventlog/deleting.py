"""Removing sessions for good, and giving the room back to the disk in small steps.

A removal is remembered until its folder is gone too, so that one a kill cut off is not mistaken for a loss.
May import: errors, eventlog.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agi.eventlog.schema import connect

STEP_PAGES = 1000
"""Pages moved at a time: about 4 MB, so that neither others wait nor the file beside the database grows."""
PAUSE_S = 0.005
PATIENCE_MS = 500
_PREFIX = "deleted:"
_INCREMENTAL = 2
"""What SQLite calls a file whose free pages can be given back one by one."""


def remember(db: sqlite3.Connection, session_id: str) -> None:
    """Write down that a session was removed; inside the transaction that removes it."""
    db.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (_PREFIX + session_id,))


def deleted(db: sqlite3.Connection) -> list[str]:
    """The sessions that were removed, as far as it is remembered."""
    rows = db.execute("SELECT key FROM meta WHERE key>=? AND key<?", (_PREFIX, _PREFIX + "~"))
    return [str(row[0]).removeprefix(_PREFIX) for row in rows]


def forget(db: sqlite3.Connection, session_ids: Sequence[str]) -> None:
    """Nothing is left of them."""
    db.executemany("DELETE FROM meta WHERE key=?", [(_PREFIX + one,) for one in session_ids])


def reclaim(path: Path) -> bool:
    """Give free pages back to the disk; False if this file was made in a shape that cannot. On a thread of its own."""
    with closing(connect(path)) as db:
        if db.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
            return False
        db.execute(f"PRAGMA busy_timeout={PATIENCE_MS * 20}")
        left = _free(db)
        while left:
            db.executescript(f"PRAGMA incremental_vacuum({STEP_PAGES})")  # a script goes on to the last page of a step
            before, left = left, _free(db)
            if left >= before:
                break  # others free as much as we give back
            time.sleep(PAUSE_S)  # whoever waits to write goes first
        db.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # where somebody reads, it is done the next time
    return True


def _free(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA freelist_count").fetchone()[0])
