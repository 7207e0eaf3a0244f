"""What the machine brings: Python, the data folder and its database, the disk, other programs. Looks, changes nothing.

To be imported late. May import: counts, extras, config, client.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from agi.client.findings import Finding, broken, note, ok, warning
from agi.config.files import PROJECT_DIR
from agi.counts import counted
from agi.extras import EXTRAS, how_to_add, is_missing

FROM_MIRRORS = "Stop agi and run `agi repair --from-mirrors`."
"""What every other command says of a database that is damaged."""
OLDEST_PYTHON = (3, 11)
SLOW_SYNC_MS = 50.0
SYNCS = 5


def python() -> Finding:
    """Whether this Python is new enough."""
    text = f"{'.'.join(map(str, sys.version_info[:3]))} on {sys.platform}"
    if sys.version_info < OLDEST_PYTHON:
        return broken("python", text, "agi needs Python 3.11 or newer.")
    return ok("python", text)


def sqlite() -> Finding:
    """Which SQLite there is."""
    return ok("sqlite", sqlite3.sqlite_version)


def folders(project: Path) -> Iterator[Finding]:
    """Whether the project and its data folder can be worked in, by their owner alone."""
    if os.access(project, os.W_OK | os.X_OK):
        yield ok("project", str(project))
    else:
        yield broken("project", f"{project} cannot be written to.", "Check its permissions.")
    folder = project / PROJECT_DIR
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        yield ok("data folder", "not there yet; the first session makes it")
        return
    mode = f"{folder} (mode {found.st_mode & 0o777:03o})"
    if not os.path.isdir(folder) or os.path.islink(folder):
        yield broken("data folder", f"{folder} is not a folder.", "Put it elsewhere; agi keeps its data there.")
    elif found.st_uid != os.getuid():
        yield broken("data folder", f"{folder} belongs to another user.", "Take it over, or work in your own copy.")
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield broken("data folder", f"{mode} cannot be read and written.", f"Run `chmod 700 {folder}`.")
    elif found.st_mode & 0o077:
        what = "write to" if found.st_mode & 0o022 else "look into"
        yield warning("data folder", f"{mode}: others can {what} it.", f"Run `chmod 700 {folder}`.")
    else:
        yield ok("data folder", mode)


def database(project: Path) -> Finding:
    """Whether the log can be read and is whole."""
    folder = project / PROJECT_DIR
    path = folder / "agi.sqlite"
    if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
        return broken("database", f"{folder} cannot be looked into.", "Check who may read it.")
    if not path.exists():
        lost = any((folder / "sessions").glob("sess_*/events.ndjson"))
        return broken("database", "missing", FROM_MIRRORS) if lost else ok("database", "not there yet")
    if not path.is_file():  # SQLite calls a folder a bad disk, and waits at a pipe
        what = "a folder, not a database" if path.is_dir() else "not a regular file, and no database"
        return broken("database", f"{path} is {what}", "Move it away, and run `agi repair`.")
    try:
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        try:
            said = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)")]
            # A connection that only reads cannot look into an index of words.
            verdict = next((one for one in said if one != "ok" and "inverted index" not in one), "")
            count = db.execute("SELECT count(*) FROM sessions").fetchone()[0]
            is_text = bool(verdict) or _is_text(db)
        finally:
            db.close()
    except sqlite3.Error as error:
        mend = FROM_MIRRORS if os.access(path, os.R_OK) else "Check who may read it."
        return broken("database", f"{path}: {error}", mend)
    if verdict:
        return broken("database", f"{path}: {verdict}", FROM_MIRRORS)
    if not is_text:
        text = f"{path}: a text in it is not as it was written"
        return broken("database", text, FROM_MIRRORS)
    return ok("database", f"can be read, {counted(count, 'session')}; `agi log verify` looks at every event")


def _is_text(db: sqlite3.Connection) -> bool:
    """Whether all texts are some, which a look at the pages does not tell."""
    tables = db.execute("SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0").fetchall()
    try:
        for (name,) in tables:
            of_log = name in ("events", "texts")  # of which each text was written as one
            for row in db.execute(f'SELECT * FROM "{name}"'):  # noqa: S608 - read only, and quick_check liked it
                if of_log and any(isinstance(value, bytes) for value in row):
                    return False
    except sqlite3.OperationalError as error:
        if "Could not decode" not in str(error):
            raise
        return False
    return True


def sync_time(project: Path) -> Finding:
    """How long the disk takes to make something durable: every step of a turn waits for that."""
    try:
        descriptor = os.open(project, os.O_TMPFILE | os.O_RDWR, 0o600)
    except (OSError, AttributeError):
        return note("disk", "the time of a sync could not be measured here")
    try:
        times = sorted(_timed_sync(descriptor) for _ in range(SYNCS))
    finally:
        os.close(descriptor)
    text = f"a sync takes {times[SYNCS // 2]:.1f} ms"
    if times[SYNCS // 2] > SLOW_SYNC_MS:
        return warning("disk", text, "That slows every step of a turn; a local disk is faster.")
    return ok("disk", text)


def program(name: str, otherwise: str, called: str = "") -> Finding:
    """Whether another program is there."""
    where = shutil.which(name)
    return ok(called or name, where) if where else note(called or name, f"not found: {otherwise}")


def extras() -> Iterator[Finding]:
    """Which extras are there, and the command that adds each that is not."""
    missing = [extra for extra in EXTRAS if is_missing(extra)]
    if there := [extra for extra in EXTRAS if extra not in missing]:
        yield ok("extras", ", ".join(there))
    for extra in missing:
        yield note("extras", f"{extra} is not installed", f"To have it, run `{how_to_add(extra)}`.")


def _timed_sync(descriptor: int) -> float:
    began = time.perf_counter()
    os.write(descriptor, bytes(4096))
    os.fsync(descriptor)
    return (time.perf_counter() - began) * 1000
