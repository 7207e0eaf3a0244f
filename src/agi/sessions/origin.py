"""Whose log it is: a data folder that came with a repository must not be believed.

A log can hold answers to approvals, grants and open turns; whoever opens a folder would run them. So each data folder
gets a random id when it is made, and the user's own folder keeps the list of ids made for this user. A log with another
id is read as text: its open turns are closed and its grants dropped before anything runs. The id stands in the database
too, since that can be swapped alone, and opening a database means to believe it: its triggers would go on writing what
nobody said. One without a known id is set aside and made again from events that are only text: the mirrors' and its
own. A cache of an index is marked in the same way, and thrown away.
May import: errors, protocol, eventlog, views, sessions.closing.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

from agi.errors import Damaged, StorageError
from agi.eventlog.base import Entry, Projection
from agi.eventlog.links import DATABASE, refuse_links_within
from agi.eventlog.log import EventLog
from agi.eventlog.repair import ORIGIN as FILE
from agi.eventlog.repair import Repair, is_used, rebuild_from_text
from agi.eventlog.schema import UNREADABLE, connect, refuse_no_file, unreadable
from agi.protocol import events as ev
from agi.views import queries
from agi.views.state import SessionState

KNOWN = "origins"
CACHE = "cache"
LENGTH = 32
"""Of an id, in characters."""
LAST = 8 << 20
"""How much of the list of ids is read, from its end: some 250,000."""
IN_USE = "Close what has it open. If that is an agi of yours, see to it that your folder of settings can be written."
REASON = "This log was made elsewhere; what was open in it is not carried on."


def is_ours(folder: Path, home_config: Path) -> bool:
    """Tell whether this user's harness made the data folder; a new one is marked as such."""
    origin = _read(folder / FILE)
    if origin is None and not _has_log(folder):
        claim(folder, home_config)
        return True
    if origin is not None and origin in _known(home_config):
        return True
    refuse_links_within(folder)
    return False


def doubted(folder: Path, home_config: Path, projection: Projection) -> Repair | None:
    """Make a database that this user's harness did not make again, from text; None if it is believed.

    In a folder of this user's, one that another process has open is left, and so is one in which nothing can be read:
    that is damage, and what there is left of it is not to be lost. Call it within `alone_at`, and open the database
    within it too: else others who start take it for one that nobody has.
    """
    database = folder / DATABASE
    if not database.exists():
        return None
    refuse_no_file(database)
    known, found = _known(home_config), _mark_of(database)
    is_own = _read(folder / FILE) in known
    if found in known or (is_own and found is None):
        return None
    if is_used(database):
        if is_own:
            return None
        raise StorageError(
            f"{database} was made elsewhere, and is in use; try again.", code="database_in_use", hint=IN_USE
        )
    return rebuild_from_text(folder, database, projection, _remember(home_config))


def mark(database: Path, origin: str) -> None:
    """Write into the database whose it is."""
    if origin:
        with closing(connect(database)) as db:
            db.execute(
                "INSERT INTO meta VALUES ('origin', ?) ON CONFLICT (key) DO UPDATE SET value=excluded.value", (origin,)
            )


def mark_new(database: Path, folder: Path, home_config: Path) -> None:
    """Mark a database that was just made, or made again, as this user's, if it is not marked so already."""
    known, origin = _known(home_config), _read(folder / FILE)
    if _mark_of(database) not in known:
        mark(database, origin if origin is not None and origin in known else _remember(home_config))


def claim(folder: Path, home_config: Path) -> str:
    """Mark the folder as made by this user; where the user's folder cannot be written it stays unknown."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = folder / f".{FILE}.{os.getpid()}"
    origin = _remember(home_config)
    if origin:
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
                file.write(origin + "\n")
            os.replace(beside, folder / FILE)
        except OSError:
            beside.unlink(missing_ok=True)
    return origin


def _remember(home_config: Path) -> str:
    """A new id, on the user's list; empty where that cannot be written."""
    origin = os.urandom(LENGTH // 2).hex()
    try:
        home_config.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(home_config / KNOWN, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as known:
            known.write(origin + "\n")
    except OSError:
        return ""
    return origin


def own_cache(folder: Path, home_config: Path) -> None:
    """See to it that what a data folder holds as a cache was made by this user's harness; anything else goes."""
    cache = folder / CACHE
    if folder.is_symlink() or not folder.is_dir():
        return
    origin = None if cache.is_symlink() or (cache / FILE).is_dir() else _read(cache / FILE)
    if origin is not None and origin in _known(home_config):
        return
    if cache.is_symlink() or cache.is_file():
        with suppress(OSError):
            cache.unlink()
    else:
        import shutil  # late: it brings archives along

        shutil.rmtree(cache, ignore_errors=True)
    if not os.path.lexists(cache):  # what cannot be removed is never marked
        claim(cache, home_config)


async def disown(log: EventLog) -> int:
    """Close what a foreign log left open and drop what it granted; returns how many sessions were touched."""
    touched = 0
    rows = log.db.execute(
        "SELECT id FROM sessions WHERE live OR json_array_length(json_extract(state, '$.grants'))>0"
        " OR id IN (SELECT session_id FROM pool WHERE open) ORDER BY id"
    )
    for (session_id,) in rows.fetchall():
        state = queries.session_state(log.db, session_id)
        await log.append(session_id, [*_closed(log, state), (None, ev.Notice(code="foreign_log", message=REASON))])
        touched += 1
    return touched


def _closed(log: EventLog, state: SessionState) -> list[Entry]:
    entries: list[Entry] = [(None, ev.GrantsDropped(reason=REASON))] if state.grants else []
    turn = state.turn
    if state.compaction is not None:
        entries.append((None, ev.CompactionFailed(trigger="manual", code="canceled", reason=REASON)))
    if turn is not None:
        from agi.sessions.closing import after_cancel  # late: hardly any log comes from elsewhere

        history = queries.turn_messages(log.db, state.id, turn.id)
        entries += [(turn.id, data) for data in after_cancel(turn, history, REASON)]
        entries.append((turn.id, ev.TurnCanceled(reason=REASON, usage=turn.usage)))
    entries += [(queued.turn_id, ev.TurnCanceled(reason=REASON)) for queued in state.queue]
    if turn is not None or state.queue:
        entries.append((None, ev.SessionCanceled()))
    if state.draft is not None and state.draft.status == "active":
        entries.append((None, ev.DraftClosed(reason=REASON)))
    return entries


def _has_log(folder: Path) -> bool:
    return (folder / DATABASE).exists() or (folder / "sessions").exists()


def _mark_of(database: Path) -> str | None:
    """Whose a database says it is, None if it says nothing at all; whatever it holds, it is not asked for long."""
    try:
        with closing(sqlite3.connect(database, timeout=20)) as db:
            db.execute("PRAGMA trusted_schema=OFF")
            db.text_factory = lambda text: text.decode(errors="replace")  # an id that is no text is not known
            db.set_progress_handler(lambda: 1, 100_000)
            if db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
                return None
            row = db.execute("SELECT value FROM meta WHERE key='origin'").fetchone()
            return str(row[0]) if row else ""
    except UNREADABLE as error:
        return None if isinstance(unreadable(database, error), Damaged) else ""


def _known(home_config: Path) -> set[str]:
    """The ids on the user's list; the newest, should it be very long."""
    words = (_read(home_config / KNOWN, LAST, from_end=True) or "").split()
    return {word for word in words if len(word) == LENGTH}  # the first may be half a word


def _read(path: Path, limit: int = 100, *, from_end: bool = False) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        raise StorageError(f"{path} is a folder, not a file.", hint="Move it away; agi makes its files itself.")
    with os.fdopen(fd, "rb") as file:
        if from_end:
            file.seek(max(0, os.fstat(fd).st_size - limit))
        return file.read(limit).decode(errors="replace").strip()
