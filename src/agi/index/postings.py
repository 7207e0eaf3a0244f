"""Where the index is kept: one SQLite file that says which chunks have which term. It can be deleted at any time.

A posting is one number of 32 bits, the chunk's number and how often it has the term; a term's postings are a row of
bytes per batch of files. A file that changed gets new chunks in a new batch, and its old ones are dead: nothing is
rewritten. Once a third is dead, the whole is made anew. Several processes may share the file: one writes at a time,
the others read what is committed. Contents and scores are not its business. May import: index.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from agi.index.caching import place

FILE = "words.sqlite"
VERSION = 1
MOST_CHUNKS = 1 << 24
_BUSY_S = 2.0
_SHAPE = """
CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, first INTEGER NOT NULL, lengths BLOB NOT NULL)
  WITHOUT ROWID;
CREATE TABLE postings (term TEXT NOT NULL, batch INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (term, batch))
  WITHOUT ROWID;
CREATE TABLE history (id INTEGER PRIMARY KEY CHECK (id = 1), head TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE counted (id INTEGER PRIMARY KEY CHECK (id = 1), chunks INTEGER NOT NULL, dead INTEGER NOT NULL,
  batches INTEGER NOT NULL);
INSERT INTO counted VALUES (1, 0, 0, 0);
"""


class Indexed(Struct, frozen=True):
    """A file as it was indexed: how it looked on the disk, the number of its first chunk, the lengths of all."""

    path: str
    stamp: str
    first: int
    lengths: Sequence[int]


class Counted(Struct, frozen=True):
    """How many chunks were ever numbered, how many of them are dead, and in how many batches they came."""

    chunks: int
    dead: int
    batches: int


class Postings:
    """One index file, opened at first use; a file that is damaged, or of another version, is made anew."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._inode = 0

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            db, self._db = self._db, None
            if db is not None:
                db.close()

    def remove(self) -> None:
        """Delete the file; the next use makes a new one."""
        with self._lock:
            self.close()
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(f"{self.path}{ending}")

    def version(self) -> tuple[int, int]:
        """Another answer than before says that somebody wrote."""
        with self._reading() as db:
            row = db.execute("SELECT chunks * 1000003 + dead * 1009 + batches FROM counted").fetchone()
            head = db.execute("SELECT head FROM history").fetchone()
            return self._inode, hash((row[0], head))

    def counted(self) -> Counted:
        """What is in it, in numbers."""
        with self._reading() as db:
            return Counted(*db.execute("SELECT chunks, dead, batches FROM counted").fetchone())

    def files(self) -> list[Indexed]:
        """All files that are indexed."""
        with self._reading() as db:
            rows = db.execute("SELECT path, stamp, first, lengths FROM files").fetchall()
        if not all(0 <= row[2] <= MOST_CHUNKS for row in rows):
            raise sqlite3.DatabaseError("a chunk has no number of ours")  # tables are as long as the largest
        return [Indexed(path, stamp, first, array("H", lengths)) for path, stamp, first, lengths in rows]

    def of(self, terms: Iterable[str]) -> Iterator[tuple[str, array[int]]]:
        """The postings of each term that has any, as numbers: the chunk's shifted by 8, and the count in the low 8."""
        with self._reading() as db:
            for term in terms:
                data = b"".join(row[0] for row in db.execute("SELECT data FROM postings WHERE term = ?", (term,)))
                if data:
                    yield term, array("I", data)

    def history(self) -> tuple[str, bytes]:
        """What was kept of the commits, and the commit it begins with."""
        with self._reading() as db:
            row = db.execute("SELECT head, data FROM history").fetchone()
        return (row[0], row[1]) if row else ("", b"")

    def put_history(self, head: str, data: bytes) -> None:
        """Keep what was learned of the commits."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO history VALUES (1, ?, ?)", (head, data))

    def change(self, gone: Iterable[str], files: Sequence[Indexed], postings: Mapping[str, array[int]]) -> None:
        """Take out files, put in others with their postings: together, or not at all."""
        with self._writing() as db:
            chunks, dead, batches = db.execute("SELECT chunks, dead, batches FROM counted").fetchone()
            if files and any(file.first < chunks for file in files):
                raise Overtaken
            for path in {*gone, *(file.path for file in files)}:
                row = db.execute("SELECT length(lengths) / 2 FROM files WHERE path = ?", (path,)).fetchone()
                dead += row[0] if row else 0
                db.execute("DELETE FROM files WHERE path = ?", (path,))
            rows = ((file.path, file.stamp, file.first, array("H", file.lengths).tobytes()) for file in files)
            db.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", rows)
            # In the order of the keys, so that pages fill one after the other.
            filed = ((term, batches, postings[term].tobytes()) for term in sorted(postings))
            db.executemany("INSERT INTO postings VALUES (?, ?, ?)", filed)
            chunks = max([chunks, *(file.first + len(file.lengths) for file in files)])
            db.execute("UPDATE counted SET chunks = ?, dead = ?, batches = ?", (chunks, dead, batches + 1))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._open()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._open()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        """The connection; a new one where the file was deleted or replaced meanwhile."""
        if self._db is not None and _inode(self.path) == self._inode:
            return self._db
        self.close()
        path = place(self.path.parent, FILE)
        db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            _prepare(db)
        except BaseException:
            db.close()
            raise
        self._db, self._inode = db, _inode(self.path)
        return db


class Overtaken(Exception):
    """Another process gave these chunk numbers away; look again."""


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA journal_mode=WAL")
    # A power cut may cost the newest batches, which are then indexed again.
    db.execute("PRAGMA synchronous=OFF")
    db.execute("PRAGMA mmap_size=268435456")
    db.execute("BEGIN IMMEDIATE")
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found != VERSION:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.execute("ROLLBACK")
            raise sqlite3.DatabaseError("of another version")
        for statement in _SHAPE.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version={VERSION}")
    db.execute("COMMIT")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return -1
