"""Forking: another session that begins with what was said in this one, up to a point. The source is only read.

The new log is whole by itself. Files of the source are linked, not copied, where the disk can do that: they are
written once, so both sessions may hold them, and removing one leaves the other its own.
May import: errors, protocol, eventlog, views, sessions.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from agi.errors import Damaged, DiskFull, StorageError
from agi.eventlog.base import Check, Entry
from agi.eventlog.chain import broken_at
from agi.eventlog.log import EventLog
from agi.eventlog.mirror import session_folder
from agi.eventlog.rows import SELECT, from_row, read_whole
from agi.eventlog.schema import FROM_MIRRORS, connect
from agi.protocol import events as ev
from agi.protocol.commands import ForkSession
from agi.protocol.forks import ForkedFrom
from agi.protocol.ids import SESSION, new_id
from agi.protocol.times import to_rfc3339
from agi.sessions.carrying import Carried, carry
from agi.views import queries
from agi.views.cuts import Cut, cut_at
from agi.views.folding import fold
from agi.views.segments import segments
from agi.views.state import SessionState

TITLE = 500
MARK = " (fork)"


async def fork_session(log: EventLog, source_id: str, command: ForkSession) -> str:
    """Make the fork; gives its id once it is on disk. Raises what is wrong with the point."""
    queries.session_state(log.db, source_id)
    session_id = new_id(SESSION)
    made, carried = await asyncio.to_thread(_prepare, log, source_id, session_id, command)
    entries: list[Entry] = [(None, made), *carried.entries]
    forked = made.forked_from
    assert isinstance(forked, ForkedFrom)  # noqa: S101 - it was just made
    entries.append((None, ev.SessionForked(session_id=source_id, seq=forked.seq, messages=carried.messages)))
    try:
        # Looked for in the transaction: a source that is removed meanwhile may have taken its files with it.
        await log.append(session_id, lambda db: entries, check=_is_there(source_id))
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, log.folder / "sessions" / session_id, ignore_errors=True)
        raise
    await log.mirrored()
    return session_id


def _is_there(session_id: str) -> Check:
    def check(db: sqlite3.Connection) -> None:
        queries.session_state(db, session_id)

    return check


def _prepare(log: EventLog, source_id: str, session_id: str, command: ForkSession) -> tuple[ev.SessionCreated, Carried]:
    """On a thread of its own: events never change, so what is read up to a number is one state of the session."""
    with closing(connect(log.path)) as db:
        now = queries.session_state(db, source_id)
        cut = cut_at(db, source_id, command)
        if seq := broken_at(islice(read_whole(db, source_id), cut.seq), cut.seq):
            what = f"event {seq} is not as it was written, and a fork would vouch for it"
            raise Damaged(f"The log of {source_id} is damaged: {what}.", hint=FROM_MIRRORS)
        carried = carry(db, now, cut, segments(now.reverts, cut.seq), session_id)
        made = _created(_settings_at(db, source_id, cut.seq) or now, now, session_id, command, cut)
    sessions = log.folder / "sessions"
    _link_files(session_folder(sessions, source_id), session_folder(sessions, session_id), carried)
    return made, carried


def _settings_at(db: sqlite3.Connection, session_id: str, seq: int) -> SessionState | None:
    """The session's own settings as they were then."""
    where = "WHERE session_id=? AND seq<=? AND type IN ('session_created', 'session_updated') ORDER BY seq"
    state: SessionState | None = None
    for row in db.execute(f"{SELECT} {where}", (session_id, seq)):
        state = fold(state, from_row(row))
    return state


def _created(
    then: SessionState, now: SessionState, session_id: str, command: ForkSession, cut: Cut
) -> ev.SessionCreated:
    above = now.forked_from.ancestors if now.forked_from else ()
    follows = command.provider is None or command.provider == then.provider
    return ev.SessionCreated(
        id=session_id,
        agent=command.agent or then.agent,
        workspace_path=then.workspace_path,
        project_path=then.project_path,
        created_at=to_rfc3339(time.time()),
        title=command.title or (now.title and now.title.removesuffix(MARK)[: TITLE - len(MARK)] + MARK),
        provider=command.provider or (None if command.model else then.provider),
        model=command.model or (then.model if follows else None),
        system_prompt=then.system_prompt,
        auto_run=then.auto_run,
        budget=then.budget,
        resource=then.resource,
        forked_from=ForkedFrom(
            session_id=now.id,
            seq=cut.seq,
            message_id=command.message_id or "",
            turn_id=command.turn_id or "",
            ancestors=(now.id, *above),
        ),
    )


def _link_files(source: Path, target: Path, carried: Carried) -> None:
    try:
        for ref in carried.attachments:
            place, _, name = ref.partition("/")
            if place == "attachments" and name and "/" not in name:
                _link(source / place / name, target / place / name)
        for turn_id in carried.turns:
            for name in _names_in(source / "artifacts" / turn_id):
                _link(source / "artifacts" / turn_id / name, target / "artifacts" / turn_id / name)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("The disk is full; nothing was forked.", hint="Free some space and try again.") from error
        raise StorageError(f"The files could not be linked: {error.strerror}.", hint="See `agi doctor`.") from error


def _names_in(folder: Path) -> Iterator[str]:
    """The plain files of a folder that is no link."""
    if folder.is_symlink() or not folder.is_dir():
        return
    with os.scandir(folder) as found:
        yield from sorted(one.name for one in found if one.is_file(follow_symlinks=False))


def _link(source: Path, target: Path) -> None:
    """Hold the same file under another name; what is gone stays gone, as it is for the source."""
    if source.is_symlink() or not source.is_file():
        return
    for folder in (target.parent.parent.parent, target.parent.parent, target.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(source, target, follow_symlinks=False)  # this disk knows no links, or the file has too many
        target.chmod(0o600)
