"""Where checkpoints are kept: one SQLite file, private, shared by all sessions and processes of a data folder.

Content is stored once, by its SHA-256, and checked when it is read. A write is durable when it returns, or did not
happen. What is written is the business of index, ledger and pruning. May import: errors, checkpoints.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agi.checkpoints.index import Index
from agi.checkpoints.nodes import key_of
from agi.errors import Damaged, DiskFull, StorageError

FILE = "objects.sqlite"
BUSY_S = 60.0
VERSION = 2
RECLAIMED = 2000
"""Pages given back to the disk at a time."""
REMEMBERED = 4
"""How many workspaces' files are kept in mind."""
_FULL = (sqlite3.SQLITE_FULL,)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ODD_FILE = "Remove it; agi makes the folder itself."

_SHAPE = """
CREATE TABLE origin (inode INTEGER NOT NULL);
CREATE TABLE blobs (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, packed INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE workspaces (id INTEGER PRIMARY KEY, root BLOB NOT NULL UNIQUE, whole INTEGER NOT NULL DEFAULT 0,
  generation INTEGER NOT NULL DEFAULT 0, used_at INTEGER NOT NULL DEFAULT 0,
  tracked_at TEXT NOT NULL DEFAULT '', tracked BLOB NOT NULL DEFAULT x'');
CREATE TABLE files (workspace INTEGER NOT NULL, path BLOB NOT NULL, kind TEXT NOT NULL, mode INTEGER NOT NULL,
  size INTEGER NOT NULL, key BLOB NOT NULL, stamp BLOB, PRIMARY KEY (workspace, path)) WITHOUT ROWID;
CREATE TABLE steps (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
  turn TEXT, call TEXT NOT NULL, workspace INTEGER NOT NULL, cause TEXT NOT NULL, owner TEXT NOT NULL, named BLOB,
  first INTEGER NOT NULL, last INTEGER, made_at INTEGER NOT NULL, began INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0);
CREATE INDEX steps_session ON steps (session);
CREATE INDEX steps_open ON steps (workspace) WHERE last IS NULL;
CREATE TABLE changes (number INTEGER PRIMARY KEY AUTOINCREMENT, workspace INTEGER NOT NULL, path BLOB NOT NULL,
  before_kind TEXT, before_mode INTEGER, before_size INTEGER, before_key BLOB,
  after_kind TEXT, after_mode INTEGER, after_size INTEGER, after_key BLOB, at INTEGER NOT NULL DEFAULT 0);
CREATE TABLE plans (step INTEGER NOT NULL, number INTEGER NOT NULL, path BLOB NOT NULL,
  before_kind TEXT, before_mode INTEGER, before_size INTEGER, before_key BLOB,
  after_kind TEXT, after_mode INTEGER, after_size INTEGER, after_key BLOB, PRIMARY KEY (step, number)) WITHOUT ROWID;
"""
_SINCE_1 = (("steps", "began"), ("steps", "ended"), ("changes", "at"))
"""Columns that version 1 had not."""


class Store:
    """One data folder's checkpoints, opened at first use; to be shared by everyone in the process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._is_durable: bool | None = None
        """How writes are made now; None is not known."""
        self._indexes: OrderedDict[Path, Index] = OrderedDict()

    def index(self, root: Path) -> Index:
        """What is known of a workspace's files; only to be used inside a transaction."""
        with self.lock:
            found = self._indexes.pop(root, None) or Index(root)
            self._indexes[root] = found
            if len(self._indexes) > REMEMBERED:
                self._indexes.popitem(last=False)
            return found

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept."""
        return self._db is not None or (self.folder / FILE).exists()

    def close(self) -> None:
        """Let go of the file; it is opened again when it is needed."""
        with self.lock:
            db, self._db = self._db, None
            self._indexes.clear()
            if db is not None:
                db.close()

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Alone in all processes: what is done inside is done together, or not at all.

        What is not `durable` survives a kill, but perhaps not a power cut.
        """
        with self.lock, _explained(self.folder / FILE):
            db = self._open()
            if self._is_durable is not durable:
                db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
                self._is_durable = durable
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def harden(self, index: Index) -> None:
        """Make all that was written so far durable: with a durable write, all before it is forced to disk.

        It must differ from what is there: what is written as it was, is not written.
        """
        with self.lock:
            with self.writing() as db:
                db.execute("UPDATE workspaces SET used_at=max(used_at+1, ?) WHERE id=?", (_now_ms(), index.id))
            index.is_loose = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """See one state of it all."""
        with self.lock, _explained(self.folder / FILE):
            db = self._open()
            db.execute("BEGIN")
            try:
                yield db
            finally:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")

    def reclaim(self) -> None:
        """Give what was freed back to the disk."""
        with self.lock, _explained(self.folder / FILE):
            db = self._open()
            left = _free(db)
            while left:  # in steps: the file beside the database would grow with all that is moved at once
                db.executescript(f"PRAGMA incremental_vacuum({RECLAIMED})")  # a script goes on to the last page of it
                before, left = left, _free(db)
                if left >= before:
                    break
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self._make()
                self._db, self._is_durable = _connect(self.folder / FILE), None
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise disk_full() from error
                message = f"{self.folder} cannot be used: {error.strerror}."
                raise StorageError(message, hint="See `agi doctor`.") from error
        return self._db

    def _make(self) -> None:
        """The folder and the file, for the owner alone; a link in their place would lead elsewhere."""
        path = self.folder / FILE
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.folder.is_symlink() or any(path.with_name(FILE + end).is_symlink() for end in ("", "-wal", "-shm")):
            raise StorageError(f"{self.folder} is, or holds, a link.", hint=_ODD_FILE, code="data_folder_linked")
        _create(path)
        _create(self.folder / ".gitignore", b"*\n")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _create(path: Path, data: bytes = b"") -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError), os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)


class _Foreign(Exception):
    """The file was not made here."""


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return _prepared(path)
    except _Foreign:
        why = "foreign"
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in _DAMAGED:
            raise
        why = "damaged"
    # It only holds what could be taken back; work goes on with a new one. The last such file is kept to be looked at.
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{end}", f"{path}.{why}{end}")
    _create(path)
    return _prepared(path)


def _refuse_foreign(db: sqlite3.Connection, path: Path) -> None:
    """A store that came with a repository could say that a revert was cut off, and have files written that way.

    Nobody can know beforehand which inode a file will get.
    """
    try:
        made_at = db.execute("SELECT inode FROM origin").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        made_at = None  # there is no such table
    if made_at is None or made_at[0] != _inode(path):
        raise _Foreign


def _inode(path: Path) -> int:
    return os.stat(path).st_ino & 0x7FFFFFFFFFFFFFFF


def _prepared(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema=OFF")  # the file may have come with a repository
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA journal_size_limit=67108864")
        os.chmod(path, 0o600)
        db.execute("BEGIN IMMEDIATE")
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in _SHAPE.split(";")[:-1]:
                db.execute(statement)
            db.execute("INSERT INTO origin VALUES (?)", (_inode(path),))
            db.execute(f"PRAGMA user_version={VERSION}")
        _refuse_foreign(db, path)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise StorageError(f"{path} was written by a newer version.", hint="Update agi.", code="database_too_new")
        if version < VERSION:
            for table, column in _SINCE_1:
                db.execute(f"ALTER TABLE {table} ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
            db.execute(f"PRAGMA user_version={VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _FULL:
            raise disk_full() from error
        if code in _DAMAGED:
            raise Damaged(f"{path} is damaged: {error}.", hint="Move it away; a new one is made.") from error
        raise StorageError(f"{path} cannot be used: {error}.", hint="See `agi doctor`.") from error


def disk_full() -> DiskFull:
    """Make the error of a checkpoint there is no room for."""
    return DiskFull(
        "The disk is full: what the files hold now could not be kept.",
        hint="Free some space, or set checkpoints.enabled to false and work without undo.",
    )


def put_blob(db: sqlite3.Connection, key: bytes, data: bytes) -> None:
    """Keep content under its key, once."""
    if db.execute("SELECT 1 FROM blobs WHERE key=?", (key,)).fetchone():
        return
    packed = zlib.compress(data, 1)
    small = len(packed) < len(data) - len(data) // 10
    db.execute("INSERT INTO blobs (key, packed, data) VALUES (?,?,?)", (key, small, packed if small else data))


def get_blob(db: sqlite3.Connection, key: bytes, size: int) -> bytes | None:
    """The content of a key, as long as it is known to be; None if it is not there, or is not what it was."""
    row = db.execute("SELECT packed, data FROM blobs WHERE key=?", (key,)).fetchone()
    if row is None:
        return None
    packed, data = row
    if packed:
        try:
            data = zlib.decompressobj().decompress(data, size + 1)
        except zlib.error:
            return None
    return data if isinstance(data, bytes) and key_of(data) == key else None


def _free(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA freelist_count").fetchone()[0])


def stored_bytes(db: sqlite3.Connection) -> int:
    """How much room the store takes, without what is free in it."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
