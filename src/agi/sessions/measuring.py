"""What takes room in a data folder: by kind, by session, and what a kill left behind. Looks, changes nothing.

To be called on a thread. May import: protocol, eventlog, views.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from msgspec import Struct, field

from agi.eventlog.deleting import deleted
from agi.eventlog.schema import connect
from agi.protocol.ids import SESSION, is_id
from agi.protocol.storage import Leftover, StorageUse
from agi.views.rows import as_text, as_written, checked

YOUNG_S = 3600.0
"""What is younger may be in the making."""
_SESSIONS = "SELECT id, title, updated_at, live FROM sessions ORDER BY updated_at, id"
_TEMPORARY = (".session.json.", ".events.ndjson.")
_REBUILDING = ".rebuilding"


class Kept(Struct, kw_only=True):
    """One session, and what it takes."""

    id: str
    title: str | None
    updated_at: int
    """When something happened in it last, in unix milliseconds."""
    is_live: bool
    mirror: int = 0
    files: int = 0
    """Bytes of its attachments and artifacts that nobody else holds."""


class Measured(Struct, kw_only=True):
    """A look at the whole folder."""

    use: StorageUse
    sessions: list[Kept]
    """Those that were quiet longest come first."""
    leftovers: list[Leftover] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def share(self, one: Kept) -> int:
        """What would be free without a session, about: its part of the database goes by the length of its log."""
        used = self.use.database - self.use.reusable
        return one.files + one.mirror + (used * one.mirror // self.use.mirrors if self.use.mirrors else 0)


def measure(folder: Path, database: Path, now: float | None = None) -> Measured:
    """Look at everything; raises Damaged where it is not known what belongs to whom."""
    with closing(connect(database)) as db:
        with as_written("a session"):
            rows = db.execute(_SESSIONS)
            sessions = [checked(Kept, id=i, title=t, updated_at=u, is_live=bool(v)) for i, t, u, v in rows]
        look = _Look(folder, db, time.time() if now is None else now)
        for one in sessions:
            look.take_session(one)
        look.take_strangers({one.id for one in sessions})
        look.take_temporary(database)
        free, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_size"))
    in_database = sum(_size(database.with_name(database.name + end)) for end in ("", "-wal", "-shm"))
    in_checkpoints = sum(size for _, size in _files(folder / "checkpoints"))
    total = in_database + sum(size for path, size in _files(folder) if not path.name.startswith(database.name))
    total += sum(_size(path) for path in folder.glob(f"{database.name}.*"))
    known = in_database + in_checkpoints + look.mirrors + look.attachments + look.artifacts
    use = StorageUse(
        sessions=len(sessions),
        database=in_database,
        reusable=free * size,
        mirrors=look.mirrors,
        attachments=look.attachments,
        artifacts=look.artifacts,
        checkpoints=in_checkpoints,
        other=max(0, total - known),
        total=total,
    )
    return Measured(use=use, sessions=sessions, leftovers=look.leftovers, unknown=look.unknown)


class _Look:
    """Adds up while it goes through the sessions' folders."""

    def __init__(self, folder: Path, db: sqlite3.Connection, now: float) -> None:
        self._folder = folder
        self._db = db
        self._now = now
        self._seen: set[int] = set()
        self.mirrors = self.attachments = self.artifacts = 0
        self.leftovers: list[Leftover] = []
        self.unknown: list[str] = []

    def take_session(self, one: Kept) -> None:
        """One that the database knows."""
        folder = self._folder / "sessions" / one.id
        if not is_id(one.id, SESSION) or folder.is_symlink():
            return  # none of ours; as a path it might lead anywhere
        one.mirror = _size(folder / "events.ndjson") + _size(folder / "session.json")
        self.mirrors += one.mirror
        self.attachments += self._own(one, folder / "attachments")
        self.artifacts += self._own(one, folder / "artifacts")
        named = self._db.execute("SELECT ref FROM attachments WHERE session_id=?", (one.id,))
        with as_written("an attachment"):
            refs = {as_text(row[0]) for row in named}
        for path, size in _files(folder / "attachments"):
            if f"attachments/{path.name}" not in refs and self._is_old(path):
                self._leave(path, size)
        for path, size in _files(folder, deep=False):
            if path.name.startswith(_TEMPORARY) and self._is_old(path):
                self._leave(path, size)

    def _own(self, one: Kept, folder: Path) -> int:
        """What a folder adds to the whole; what only this session holds counts as its own."""
        added = 0
        for path, size in _files(folder):
            state = os.lstat(path)
            one.files += size if state.st_nlink == 1 else 0
            added += 0 if state.st_ino in self._seen else size
            self._seen.add(state.st_ino)
        return added

    def take_strangers(self, known: set[str]) -> None:
        """Folders that the database does not know: of sessions that were removed, or never came to be."""
        gone = set(deleted(self._db))
        for path in _folders(self._folder / "sessions"):
            if path.name in known or not is_id(path.name, SESSION):
                continue
            is_half_made = not _size(path / "events.ndjson") and self._is_old(path)
            if path.name in gone or is_half_made:
                self._leave(path, sum(size for _, size in _files(path)))
            elif _size(path / "events.ndjson"):
                self.unknown.append(path.name)

    def take_temporary(self, database: Path) -> None:
        """Databases that were being rebuilt."""
        for path in database.parent.glob(f"{database.name}{_REBUILDING}*"):
            if self._is_old(path) and path.is_relative_to(self._folder):
                self._leave(path, _size(path))

    def _leave(self, path: Path, size: int) -> None:
        self.leftovers.append(Leftover(path=str(path.relative_to(self._folder)), bytes=size))

    def _is_old(self, path: Path) -> bool:
        try:
            return self._now - os.lstat(path).st_mtime > YOUNG_S
        except OSError:
            return False


def _folders(folder: Path) -> Iterator[Path]:
    if folder.is_dir() and not folder.is_symlink():
        yield from sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())


def _files(folder: Path, *, deep: bool = True) -> Iterator[tuple[Path, int]]:
    """The files of a folder and how large they are; links are not followed, and each file counts once."""
    seen: set[int] = set()
    for root, folders, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            try:
                state = os.lstat(path)
            except OSError:
                continue  # gone meanwhile
            if state.st_ino not in seen:
                seen.add(state.st_ino)
                yield path, state.st_size
        if not deep:
            folders.clear()


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
