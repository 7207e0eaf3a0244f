"""Watching a workspace around a call: a look before, a look after, and what differs is written down.

May import: errors, protocol, workspace, checkpoints.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from msgspec import Struct

from agi.checkpoints import ledger
from agi.checkpoints.index import Index
from agi.checkpoints.ledger import Seen, Step
from agi.checkpoints.looking import Look, folder_at, look, look_at, root_of
from agi.checkpoints.nodes import IGNORED, PASSED, Change, Known, Node, ignored, is_ignored, permissions, reason_of
from agi.checkpoints.paths import shown
from agi.checkpoints.reading import read_node
from agi.checkpoints.store import Store, put_blob
from agi.errors import StorageError
from agi.protocol.checkpoints import CheckpointPolicy, Omission
from agi.workspace.handle import Workspace

BATCH = 32 * 1024 * 1024
"""How much is read in one transaction while a workspace is looked at for the first time."""
NAMED = 5
UNTOLD = frozenset({".git", ".agi", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
"""What may go without a word: caches, and what a sandbox puts in place of what is not there while a command runs."""


class Closed(Struct, frozen=True):
    """A step that changed something."""

    step: Step
    changes: tuple[Seen, ...]


class Begun(Struct, frozen=True):
    """A step under way, and earlier ones of the same session that nobody had closed."""

    step: Step
    left_over: tuple[Closed, ...] = ()


class Tracker:
    """One workspace, watched."""

    def __init__(self, store: Store, workspace: Workspace, policy: CheckpointPolicy) -> None:
        self.store = store
        self.workspace = workspace
        self.policy = policy
        self._last = Look()
        self._absent: frozenset[str] = frozenset()
        """Paths somebody asked about and at which there was nothing."""

    def begin(
        self,
        *,
        id: str,
        session: str,
        turn: str | None,
        call: str,
        cause: str = "call",
        named: Sequence[str] | None = None,
        also: Collection[str] = (),
    ) -> Begun:
        """Look at everything and keep it; what differs afterwards is the step's doing. A step that names all it can
        change needs a look at nothing else.
        """
        with self._looked(also, only=named, session=session) as (db, index):
            left = [one for one in ledger.left_calls(db, index.id, session) if one.session == session]
            closed = [_closed(db, ledger.close_step(db, one, cause="interrupted")) for one in left]
            step = ledger.open_step(
                db, id=id, session=session, turn=turn, call=call, workspace=index.id, cause=cause, named=named
            )
        return Begun(step, tuple(one for one in closed if one is not None))

    def end(self, step: Step, *, also: Collection[str] = ()) -> Closed | None:
        """Look again, and close the step; None if it changed nothing."""
        over = time.time_ns()
        with self._looked(also, only=step.named) as (db, _):
            return _closed(db, ledger.close_step(db, step, ended=over))

    def is_left_open(self, session: str) -> bool:
        """Whether a step of this session, or of a process that is gone, was never closed; a whole look can do that."""
        with self.store.reading() as db:
            row = db.execute("SELECT id FROM workspaces WHERE root=?", (os.fsencode(self.workspace.root),)).fetchone()
            return bool(row and ledger.left_calls(db, row[0], session))

    def look(self, also: Collection[str] = (), *, only: Collection[str] | None = None) -> None:
        """Find out what changed since the last look, whoever changed it; everywhere, or `only` at some paths."""
        with self._looked(also, only=only):
            pass

    @contextmanager
    def _looked(
        self, also: Collection[str], *, only: Collection[str] | None, session: str = ""
    ) -> Iterator[tuple[sqlite3.Connection, Index]]:
        """A look, and in the same transaction what follows from it; what was found is durable afterwards.

        A `session` that left a step open is looked at as a whole: that can close it.
        """
        done = False
        while not done:
            index = self.store.index(self.workspace.root)
            with self.store.lock, _forgotten_if_it_fails(index), self.store.writing(durable=False) as db:
                index.catch_up(db)
                try:
                    with root_of(self.workspace) as root:
                        if only is not None and not (session and ledger.left_calls(db, index.id, session)):
                            self._look_at(db, index, root, only)
                            done = True
                        else:
                            done = self._look(db, index, root, also)
                except OSError as error:
                    raise _not_looked_at(self.workspace, error) from error
                if done:
                    yield db, index
        if index.is_loose:
            self.store.harden(index)

    def omissions(self) -> tuple[Omission, ...]:
        """What is not covered, as of the last look."""
        found: dict[str, list[str]] = {}
        for path, reason in self._last.passed.items():
            if reason != IGNORED:
                found.setdefault(reason, []).append(path)
        with self.store.lock:
            index = self.store.index(self.workspace.root)
            for path in index.opaque:
                found.setdefault(reason_of(index.known[path].node), []).append(path)
        if self._last.closed:
            found.setdefault("too_many" if self._last.cut else "unreadable", []).extend(self._last.closed)
        return tuple(
            Omission(code=code, files=len(paths), paths=tuple(map(shown, sorted(paths)[:NAMED])))  # type: ignore[arg-type]
            for code, paths in sorted(found.items())
        )

    def _look(self, db: sqlite3.Connection, index: Index, root: int, also: Collection[str]) -> bool:
        """One look; False if there was too much to read for one transaction."""
        seen = look(self.workspace, root, index.known, index.rules, also)
        found = dict(_passed_or_gone(index, seen))
        read = 0
        for path, known in self._read(db, index, root, seen):
            found[path] = known
            read += _kept(known)
            if read > BATCH and not index.is_whole:
                index.update(db, _different(index, found), whole=False)
                return False
        found = _different(index, found)
        self._write_down(db, index, found, seen)
        for step in ledger.left_calls(db, index.id, ""):
            ledger.close_step(db, step, cause="interrupted")
        if found or not index.is_whole:
            index.update(db, found, whole=True)
        self._last = seen
        self._absent = frozenset(also) - seen.there
        return True

    def _look_at(self, db: sqlite3.Connection, index: Index, root: int, paths: Collection[str]) -> None:
        """A look at some paths."""
        seen = look_at(root, index.known, paths, self._absent)
        found: dict[str, Known | None] = dict.fromkeys(seen.missing & index.known.keys())
        found.update(self._read(db, index, root, seen))
        found = _different(index, found)
        self._write_down(db, index, found, seen)
        if found:
            index.update(db, found, whole=False)
        self._absent = frozenset(seen.missing)

    def _read(self, db: sqlite3.Connection, index: Index, root: int, seen: Look) -> Iterator[tuple[str, Known | None]]:
        """Read what is new or changed, folder by folder."""
        room = self.policy.max_total_bytes // 2 - index.kept
        for folder, paths in groupby(self._in_order(seen, room), key=lambda path: path.rpartition("/")[0]):
            try:
                with folder_at(root, folder) as fd:
                    for path in paths:
                        known = self._read_one(db, index, fd, path, seen, room + _kept(index.known.get(path)))
                        room += _kept(index.known.get(path)) - _kept(known)
                        yield path, known
            except OSError:
                continue  # gone, or closed, meanwhile: the next look will tell

    def _in_order(self, seen: Look, room: int) -> list[str]:
        """Folder by folder; but where not all of it fits, the smallest first, so that as many as possible do."""
        together = sum(stamp[1] for stamp in seen.fresh.values() if stamp[1] <= self.policy.max_file_bytes)
        if together > room:
            return sorted(seen.fresh, key=lambda path: seen.fresh[path][1])
        return sorted(seen.fresh, key=lambda path: path.rpartition("/")[::2])

    def _read_one(
        self, db: sqlite3.Connection, index: Index, fd: int, path: str, seen: Look, room: int
    ) -> Known | None:
        stamp = seen.fresh[path]
        if stat.S_ISDIR(stamp[0]):
            return Known(Node("folder", permissions(stamp[0])), None if path in seen.closed else stamp)
        largest = self.policy.max_file_bytes
        reason = "large" if stamp[1] > largest else "over_limit"
        got = read_node(fd, path.rpartition("/")[2], min(largest, room), reason)
        if got is None:
            return None
        known, data = got
        if known.node.is_kept:
            put_blob(db, known.node.key, data)
        return known

    def _write_down(self, db: sqlite3.Connection, index: Index, found: dict[str, Known | None], seen: Look) -> None:
        """Put the changes into the history, if somebody's step is under way."""
        if found and ledger.is_any_open(db, index.id):
            changes = list(self._changes(index, found))
            times = {one.path: seen.fresh[one.path][3] for one in changes if one.path in seen.fresh}
            ledger.add_changes(db, index.id, changes, times)

    def _changes(self, index: Index, found: dict[str, Known | None]) -> Iterator[Change]:
        new: set[str] = set()
        for path in sorted(found):
            was, now = index.known.get(path), found[path]
            if was is not None and is_ignored(was.node):
                if now is None or is_ignored(now.node):  # otherwise it only came into view
                    yield Change(path, was.node, None if now is None else now.node)
                continue
            before, after = _covered(was), _covered(now)
            if before is None and after is not None and not self._is_new(index, path, new):
                continue
            if path and before != after:
                new.add(path)
                yield Change(path, before, after)

    def _is_new(self, index: Index, path: str, new: Collection[str]) -> bool:
        """Whether it is certain that there was nothing before: not a file that only came into view."""
        if path in self._absent:
            return True
        known = index.known.get(path)
        if (known is not None and known.node.kind == "passed") or not index.is_whole:
            return False
        folder = path.rpartition("/")[0]
        above = index.known.get(folder)
        if above is None or above.node.kind != "folder":
            return folder in new
        return above.stamp is not None


@contextmanager
def _forgotten_if_it_fails(index: Index) -> Iterator[None]:
    """What is in memory is ahead of the disk if the transaction does not come to its end."""
    try:
        yield
    except BaseException:
        index.forget()
        raise


def _not_looked_at(workspace: Workspace, error: OSError) -> StorageError:
    hint = "Is the folder still there, and may it be read?"
    return StorageError(f"{workspace.root} could not be looked at: {error.strerror or error}.", hint=hint)


def _closed(db: sqlite3.Connection, step: Step | None) -> Closed | None:
    return None if step is None else Closed(step, tuple(ledger.changes_of(db, step)))


def _passed_or_gone(index: Index, seen: Look) -> Iterator[tuple[str, Known | None]]:
    """What is known and was not found, what is not looked at, and folders that can no longer be listed."""
    for path in index.known.keys() - seen.there - seen.passed.keys():
        if index.known[path].node.kind not in ("passed", "folder") or not _is_hidden(path, seen):
            yield path, None
    for path, reason in seen.passed.items():
        if path not in seen.there:
            told = reason == IGNORED and path.rpartition("/")[2] not in UNTOLD
            yield path, ignored(seen.stamps.get(path)) if told else PASSED
    for path in seen.closed & index.known.keys():
        yield path, Known(index.known[path].node)


def _is_hidden(path: str, seen: Look) -> bool:
    """Whether a folder above it could not be listed, so that not being seen says nothing."""
    return bool(seen.closed) and any(
        path[:at] in seen.closed for at in (0, *(at for at, char in enumerate(path) if char == "/"))
    )


def _covered(known: Known | None) -> Node | None:
    return None if known is None or known.node.kind == "passed" else known.node


def _different(index: Index, found: dict[str, Known | None]) -> dict[str, Known | None]:
    return {path: one for path, one in found.items() if index.known.get(path) != one}


def _kept(known: Known | None) -> int:
    """How many bytes of content a path takes."""
    return known.node.size if known is not None and known.node.kind == "file" else 0
