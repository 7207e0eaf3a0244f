"""A database that was named: nothing but a log of ours is opened there, and nothing else is touched.

In the usual place a file that cannot be read is a damaged log, made again from its mirrors. Anywhere else it may be
somebody's notes: the first bytes say whether it is a database, its tables whose. May import: errors, eventlog.schema.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from agi.errors import ConfigError, StorageError
from agi.eventlog.schema import UNREADABLE

HEADER = b"SQLite format 3\0"
OURS = frozenset({"events", "meta", "leases"})
"""Tables that each log has, whatever version wrote it."""
CODE = "database_not_ours"
HINT = "Nothing was changed. Name a file that is not there yet, or a database that agi made."


def refuse_other(database: Path, folder: Path) -> None:
    """See to it that what is named is a log, or nothing yet; the usual place in `folder` is not asked about."""
    try:
        if database.resolve() == (folder / "agi.sqlite").resolve():
            return
        if not database.parent.is_dir():
            text = f"There is no folder {database.parent}, where the database is to be."
            raise ConfigError(text, code="no_folder", hint="Make it first, or name another file with --db.")
        if not database.exists():
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
    if header and (tables := _tables(database)) and not tables >= OURS:
        raise ConfigError(f"{database} is a database that agi did not make.", code=CODE, hint=HINT)


def _tables(database: Path) -> frozenset[str]:
    """The tables in a file, which is only looked at; none if it is damaged, which whoever opens it finds out."""
    log = database.with_name(database.name + "-wal")
    # Without a journal nothing is made beside it: to look at a database of others is to leave no trace.
    how = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(database))}?{how}", uri=True)) as db:
            return frozenset(name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'"))
    except UNREADABLE:
        return frozenset()
