"""What is known of a workspace's files, so that one that did not change is never read twice.

Kept in memory by whoever looks, and beside it in the store; another process's look makes the memory old, which the
generation tells. May import: checkpoints.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from agi.checkpoints.ignoring import RuleBook
from agi.checkpoints.nodes import Kind, Known, Node, Stamp

_STAMP = struct.Struct("<4qQ")
_KINDS = frozenset(get_args(Kind))


class Index:
    """The files of one workspace, by path."""

    def __init__(self, root: Path) -> None:
        self._root = os.fsencode(root)
        self.rules = RuleBook()
        self.id = 0
        self.known: dict[str, Known] = {}
        self.opaque: set[str] = set()
        """Those of them of which no content is kept."""
        self.is_whole = False
        """Whether everything was looked at once; before that, nothing can be said to be new."""
        self.kept = 0
        """How many bytes the files that are covered have together."""
        self.is_loose = False
        """Whether some of it may not be on the disk yet, whoever found it; nobody may change a file before it is."""
        self._generation = -1

    def catch_up(self, db: sqlite3.Connection) -> None:
        """Load what another process found, if one did; to be called inside a transaction."""
        self.id, whole, generation = self._row(db)
        self.is_whole = bool(whole)
        if generation == self._generation:
            return
        self._generation, self.is_loose = generation, True
        rows = db.execute("SELECT path, kind, mode, size, key, stamp FROM files WHERE workspace=?", (self.id,))
        self.known = {os.fsdecode(path): _known(*rest) for path, *rest in rows}
        self.kept = sum(one.node.size for one in self.known.values() if one.node.kind == "file")
        self.opaque = {path for path, one in self.known.items() if one.node.kind == "opaque"}

    def forget(self) -> None:
        """What is in memory may be wrong: a transaction did not come to its end."""
        self._generation = -1

    def update(self, db: sqlite3.Connection, found: dict[str, Known | None], *, whole: bool) -> None:
        """Take over what was found; None for what is gone."""
        gone = [path for path, one in found.items() if one is None]
        there = [(path, one) for path, one in found.items() if one is not None]
        self.kept += sum(one.node.size for _, one in there if one.node.kind == "file")
        self.kept -= sum(self.known[path].node.size for path in found if self._is_kept(path))
        self.known.update(there)
        self.opaque.difference_update(found)
        self.opaque.update(path for path, one in there if one.node.kind == "opaque")
        for path in gone:
            self.known.pop(path, None)
        db.executemany(
            "DELETE FROM files WHERE workspace=? AND path=?", [(self.id, os.fsencode(path)) for path in gone]
        )
        db.executemany("INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?,?)", self._rows(there))
        self._generation, self.is_loose = self._generation + 1, True
        self.is_whole = self.is_whole or whole
        db.execute("UPDATE workspaces SET generation=?, whole=? WHERE id=?", (self._generation, self.is_whole, self.id))

    def _is_kept(self, path: str) -> bool:
        return path in self.known and self.known[path].node.kind == "file"

    def _rows(self, there: Iterable[tuple[str, Known]]) -> list[tuple[object, ...]]:
        return [
            (self.id, os.fsencode(path), node.kind, node.mode, node.size, node.key, _packed(one.stamp))
            for path, one in there
            for node in (one.node,)
        ]

    def _row(self, db: sqlite3.Connection) -> tuple[int, int, int]:
        question = "SELECT id, whole, generation FROM workspaces WHERE root=?"
        found: tuple[int, int, int] | None = db.execute(question, (self._root,)).fetchone()
        if found is None:
            db.execute("INSERT INTO workspaces (root) VALUES (?)", (self._root,))
            found = self._row(db)
        return found


def _packed(stamp: Stamp | None) -> bytes | None:
    return None if stamp is None else _STAMP.pack(*stamp)


def _known(kind: str, mode: int, size: int, key: bytes, stamp: bytes | None) -> Known:
    node = Node(kind if kind in _KINDS else "passed", mode, size, key)  # type: ignore[arg-type]  # looked at just now
    return Known(node, None if stamp is None else _STAMP.unpack(stamp))
