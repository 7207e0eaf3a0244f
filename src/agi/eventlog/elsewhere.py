"""A database that was named: nothing but a log of ours is opened there, and nothing else is touched.

In the usual place a file that cannot be read is a damaged log, made again from its mirrors. Anywhere else it may be
somebody's notes: the first bytes say whether it is a database, its tables whose. May import: errors, eventlog.schema.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from agi.errors import ConfigError, StorageError
from agi.eventlog.schema import UNREADABLE

HEADER = b"SQLite format 3\0"
OURS = {
    "events": {"session_id", "seq", "ts", "turn_id", "type", "data"},
    "meta": {"key", "value"},
    "leases": {"session_id", "owner", "generation", "expires_at"},
}
"""Tables that each log has, whatever version wrote it, with columns that they have in each."""
ALONE = "mode=ro&vfs=unix-none"
"""Without locks, and for itself alone, SQLite keeps the index of a journal in memory and makes no file for it."""
CODE = "database_not_ours"
HINT = "Nothing was changed. Name a file that is not there yet, or a database that agi made."


class Held(Struct, frozen=True, kw_only=True):
    """What a database says of itself."""

    names: frozenset[str]
    """Of its tables, and whatever else is listed with them."""
    is_log: bool
    """Whether the tables of a log are among them."""
    is_marked: bool
    """Whether a program wrote into its header which version of which program made it."""


def refuse_other(database: Path, folder: Path) -> None:
    """See to it that what is named is a log, or nothing yet; the usual place in `folder` is not asked about."""
    try:
        if database.resolve() == (folder / "agi.sqlite").resolve():
            return
        if not database.parent.is_dir():
            text = f"There is no folder {database.parent}, where the database is to be."
            raise ConfigError(text, code="no_folder", hint="Make it first, or name another file with --db.")
        if not database.exists():
            if database.is_symlink():
                raise ConfigError(f"{database} is a link that leads to nothing.", code=CODE, hint=HINT)
            return
        if not database.is_file():
            raise ConfigError(f"{database} is not a regular file.", code=CODE, hint=HINT)
        with database.open("rb") as file:
            header = file.read(len(HEADER))
    except OSError as error:
        raise StorageError(f"{database} cannot be read: {error.strerror}.", hint="Check who may read it.") from error
    except RuntimeError as error:  # in older versions of Python
        text = f"{database} cannot be read: its links lead round in a circle."
        raise StorageError(text, hint="Remove them, or name another file with --db.") from error
    if header and header != HEADER:
        raise ConfigError(f"{database} is not a database.", code=CODE, hint=HINT)
    if not header:
        return
    held = held_in(database)
    if held is None:
        text = f"{database} is a database that cannot be read, so nobody can tell whose it is."
        hint = "Nothing was changed. If agi made it, move it away: it is made again from the mirrors in .agi."
        raise ConfigError(text, code=CODE, hint=hint)
    if (held.names or held.is_marked) and not held.is_log:
        raise ConfigError(f"{database} is a database that agi did not make.", code=CODE, hint=HINT)


def held_in(database: Path) -> Held | None:
    """What is in a file, which is only looked at; None if that cannot be read, which whoever opens it finds out."""
    database = database.resolve()  # where its journal lies, whatever leads to it
    how = _looking(database)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(database))}?{how}", uri=True)) as db:
            if how == ALONE:
                db.execute("PRAGMA locking_mode=EXCLUSIVE")
            names = frozenset(str(name) for (name,) in db.execute("SELECT name FROM sqlite_master"))
            marks = [db.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("user_version", "application_id")]
            is_log = all(wanted <= _columns(db, table) for table, wanted in OURS.items())
            return Held(names=names, is_log=is_log, is_marked=any(marks))
    except UNREADABLE:
        return None


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")}


def _looking(database: Path) -> str:
    """How to open it so that nothing is made beside it: to look at a database of others is to leave no trace."""
    journal, shared = (database.with_name(database.name + ending) for ending in ("-wal", "-shm"))
    try:
        size = journal.stat().st_size
    except FileNotFoundError:  # there is none, or whoever had it open has just closed it
        size = 0
    if not size:
        return "mode=ro&immutable=1"
    if shared.exists():
        return "mode=ro"
    return ALONE  # nobody has it open, or there would be an index of the journal
