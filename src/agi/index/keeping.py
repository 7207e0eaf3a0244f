"""The symbols of a workspace on disk, so that the next process need not parse what this one did.

A cache and nothing more: it may be deleted at any time, a damaged or foreign one is made anew, and one that cannot be
written is done without. Several processes may share it. What it says is checked against each file's content.
May import: index.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import weakref
import zlib
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.index.caching import place
from agi.index.finding import MOST_FILES, Mark
from agi.index.languages import queries_text
from agi.index.symbols import Symbols

FILE = "symbols.sqlite"
_FORMAT = 1
_PATIENCE_S = 0.2
_APPLICATION = 0x61676978


class Kept(Struct, frozen=True):
    """What is known of a file: by what a change is noticed, the digest of its content, and its symbols."""

    mark: Mark
    digest: bytes
    symbols: Symbols


class Keeping:
    """The cache in a folder; without a folder, nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._db: sqlite3.Connection | None = None
        self._closing: weakref.finalize[..., Keeping] | None = None
        self._tried = False

    def load(self) -> dict[str, Kept]:
        """All that is kept and can be read."""
        found: dict[str, Kept] = {}
        try:
            db = self._opened()
            rows = (
                db.execute("SELECT path, size, changed, digest, symbols FROM files LIMIT ?", (MOST_FILES * 2,))
                if db
                else ()
            )
            for path, size, changed, digest, packed in rows:
                symbols = msgspec.msgpack.decode(zlib.decompress(packed), type=Symbols)
                found[os.fsdecode(path)] = Kept(Mark(size, changed), digest, symbols)
        except (sqlite3.Error, msgspec.MsgspecError, zlib.error, TypeError, ValueError, OverflowError):
            self._discard()
            return {}
        return found

    def save(self, changed: Iterable[tuple[str, Kept]], gone: Iterable[str]) -> None:
        """Keep some files and forget others; if that is not possible now, it is left."""
        rows = [
            (os.fsencode(path), kept.mark.size, kept.mark.changed_ns, kept.digest, _packed(kept.symbols))
            for path, kept in changed
        ]
        try:
            db = self._opened()
            if db is None:
                return
            with db:
                db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", rows)
                db.executemany("DELETE FROM files WHERE path = ?", [(os.fsencode(path),) for path in gone])
        except sqlite3.OperationalError:
            return  # busy, full or read-only: it is only a cache
        except sqlite3.Error:
            self._discard()

    def close(self) -> None:
        """Let go of the file; it is opened again when it is needed."""
        if self._closing is not None:
            self._closing()
        self._db, self._closing, self._tried = None, None, False

    def _opened(self) -> sqlite3.Connection | None:
        if self._db is None and self._folder is not None and not self._tried:
            self._tried = True
            try:
                self._use(_open(self._folder))
            except sqlite3.OperationalError:
                return None  # another is just making it: done without until the next start
            except (OSError, sqlite3.Error):
                self._discard()
                self._tried = True
                with suppress(OSError, sqlite3.Error):
                    self._use(_open(self._folder))
        return self._db

    def _use(self, db: sqlite3.Connection) -> None:
        self._db, self._closing = db, weakref.finalize(self, db.close)

    def _discard(self) -> None:
        """What is there is of no use: the next one begins anew."""
        self.close()
        if self._folder is not None:
            for end in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    os.unlink(self._folder / f"{FILE}{end}")


def _packed(symbols: Symbols) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(symbols), 1)


def _open(folder: Path) -> sqlite3.Connection:
    path = place(folder, FILE)
    db = sqlite3.connect(path, timeout=_PATIENCE_S, check_same_thread=False)
    try:
        _prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    wanted = _FORMAT ^ zlib.crc32(_made_by()) & 0x7FFFFFFF
    (made,) = db.execute("PRAGMA user_version").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if (made, application) == (wanted, _APPLICATION):
        return
    with db:
        db.execute("DROP TABLE IF EXISTS files")
        db.execute("CREATE TABLE files (path BLOB PRIMARY KEY, size, changed, digest, symbols) WITHOUT ROWID")
        db.execute(f"PRAGMA user_version = {wanted}")
        db.execute(f"PRAGMA application_id = {_APPLICATION}")


def _made_by() -> bytes:
    """Everything that decides what symbols a content has: queries and parsers.

    Which parsers, their folders in the site say; asking `importlib.metadata` took 30 ms of every start in a repository.
    """
    found = {name for place in sys.path for name in _listed(place) if _is_parser(name)}
    return blake2b("\n".join((queries_text(), *sorted(found))).encode(errors="replace")).digest()


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []  # an archive, say


def _is_parser(name: str) -> bool:
    return name.startswith("tree_sitter") and name.endswith(".dist-info")
