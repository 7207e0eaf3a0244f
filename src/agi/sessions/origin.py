"""Whose log it is: a data folder that came with a repository must not be believed.

A log can hold answers to approvals, grants and open turns; whoever opens a folder would run them. So each data folder
gets a random id when it is made, and the user's own folder keeps the list of ids made for this user. A log with another
id is read as text: its open turns are closed and its grants dropped before anything runs. A cache of an index is
marked in the same way; one without a known mark is thrown away unread, since opening a database means to believe it.
May import: errors, protocol, eventlog, views, sessions.closing.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from agi.errors import ConfigError
from agi.eventlog.base import Entry
from agi.eventlog.log import EventLog
from agi.protocol import events as ev
from agi.sessions.closing import after_cancel
from agi.views import queries
from agi.views.state import SessionState

FILE = "origin"
KNOWN = "origins"
CACHE = "cache"
REASON = "This log was made elsewhere; what was open in it is not carried on."


def refuse_links(folder: Path) -> None:
    """A repository must not make the harness write somewhere else through links."""
    for path in (folder, folder / "sessions"):
        if path.is_symlink():
            raise ConfigError(
                f"{path} is a link.", code="data_folder_linked", hint="Remove it; agi makes the folder itself."
            )


def is_ours(folder: Path, home_config: Path) -> bool:
    """Tell whether this user's harness made the data folder; a new one is marked as such."""
    origin = _read(folder / FILE)
    if origin is None and not _has_log(folder):
        claim(folder, home_config)
        return True
    return origin is not None and origin in _known(home_config)


def claim(folder: Path, home_config: Path) -> None:
    """Mark the folder as made by this user; where the user's folder cannot be written it stays unknown."""
    origin = secrets.token_hex(16)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = folder / f".{FILE}.{os.getpid()}"
    try:
        home_config.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(home_config / KNOWN, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as known:
            known.write(origin + "\n")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(origin + "\n")
        os.replace(beside, folder / FILE)
    except OSError:
        beside.unlink(missing_ok=True)


def own_cache(folder: Path, home_config: Path) -> None:
    """See to it that what a data folder holds as a cache was made by this user's harness; anything else goes."""
    cache = folder / CACHE
    if folder.is_symlink() or not folder.is_dir():
        return
    origin = None if cache.is_symlink() else _read(cache / FILE)
    if origin is not None and origin in _known(home_config):
        return
    if cache.is_symlink() or cache.is_file():
        with suppress(OSError):
            cache.unlink()
    else:
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
    return (folder / "agi.sqlite").exists() or (folder / "sessions").exists()


def _known(home_config: Path) -> set[str]:
    return set((_read(home_config / KNOWN, 1 << 20) or "").split())


def _read(path: Path, limit: int = 100) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        return file.read(limit).decode(errors="replace").strip()
