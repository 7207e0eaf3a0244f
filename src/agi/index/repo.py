"""The index of one workspace: refreshed when asked, then drawn as a map or given as scores.

Knows nothing of sessions: what they touched and mentioned is told as paths and words. Blocking, for use in a thread;
safe to share between threads. May import: errors, index, workspace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from agi.errors import AgiError
from agi.index.drawing import Drawn, Outline, draw
from agi.index.finding import Finding, Mark
from agi.index.focus import starts
from agi.index.graph import Graph
from agi.index.keeping import Keeping, Kept
from agi.index.kinds import kind_of
from agi.index.languages import language_of
from agi.index.links import Links
from agi.index.pagerank import pagerank
from agi.index.parsing import Parsing, Source
from agi.index.symbols import LARGEST_FILE, Symbols, is_source
from agi.workspace.handle import Workspace

SECONDS = 20.0
"""How long a refresh may take; what is missing then is found by the next."""
_BATCH_FILES = 64
_BATCH_BYTES = 2 << 20
_DIGEST = 16
_DRAWN = {"made": 0.02, "test": 0.3, "example": 0.5}
"""What a file of a kind counts for on the map, beside source."""


class Refreshed(Struct, frozen=True):
    """How far the index is: files there are, those still to be read, and whether there are more than it takes."""

    files: int
    waiting: int = 0
    truncated: bool = False


class RepoIndex:
    """Symbols, graph and ranks of a workspace."""

    def __init__(self, cache: Path | None = None, *, parsing: Parsing | None = None) -> None:
        self._finding = Finding()
        self._keeping = Keeping(cache)
        self._parsing = parsing or Parsing()
        self._graph = Graph()
        self._kept: dict[str, Kept] = {}
        self._stored: dict[str, Kept] | None = None
        self._others: frozenset[str] = frozenset()
        self._state = Refreshed(0)
        self.links: Links | None = None
        """Who uses whom as of the last `link`; None until all files were read once. Never waited for."""
        self._ranks: tuple[object, dict[str, float]] = (None, {})
        self._refreshing = threading.Lock()
        """Held by the one who refreshes, which may take long."""
        self._lock = threading.RLock()
        """Held while the state is changed or read, which does not."""

    def refresh(
        self, workspace: Workspace, *, seconds: float = SECONDS, stop: threading.Event | None = None
    ) -> Refreshed:
        """Take in what changed since the last time, as far as time allows."""
        until = time.monotonic() + seconds
        stop = stop or threading.Event()
        if not self._refreshing.acquire(timeout=seconds):
            return self._state
        try:
            if self._stored is None:
                self._stored = self._keeping.load()
            look = self._finding.look(workspace, stop)
            with self._lock:
                self._others = look.others
                gone = [path for path in self._kept if path not in look.marks]
                for path in gone:
                    del self._kept[path]
                    self._graph.remove(path)
                waiting = [path for path, mark in look.marks.items() if self._is_new(path, mark)]
            left = self._take_in(workspace, waiting, look.marks, until, stop)
            self._forget(gone, look.marks, is_complete=not left)
            self._state = Refreshed(len(look.marks), left, look.truncated)
            return self._state
        finally:
            self._refreshing.release()

    def link(self) -> None:
        """Work out the links of what is read, unless some of it is not: half a graph leads astray."""
        with self._lock:
            if self._state.files and not self._state.waiting:
                self.links = self._graph.links()

    def map(
        self,
        budget_tokens: int,
        focus_paths: Collection[str] = (),
        focus_words: Sequence[str] = (),
        known_paths: Collection[str] = (),
    ) -> Drawn:
        """Draw the map as of the last refresh. Files in `known_paths` are not drawn: the reader has them."""
        with self._lock:
            ranks, meant = self._ranked(focus_paths, focus_words)
            outlines = [
                Outline(path, rank, self._kept[path].symbols.definitions)
                for path, rank in sorted(_worth(ranks, focus_paths), key=lambda one: (-round(one[1], 12), one[0]))
                if path not in known_paths
            ]
            return draw(outlines, self._graph, meant, budget_tokens)

    def scores(self, focus_paths: Collection[str] = (), focus_words: Sequence[str] = ()) -> Mapping[str, float]:
        """The rank of every source file as of the last refresh; all of them add up to 1."""
        with self._lock:
            return dict(self._ranked(focus_paths, focus_words)[0])

    def neighbours(self, paths: Collection[str], most: int = 20) -> tuple[str, ...]:
        """The files that these use or that use them, the closest first."""
        with self._lock:
            near: dict[str, float] = {}
            for source, (targets, shares) in self._graph.edges().items():
                for target, share in zip(targets, shares, strict=True):
                    if source in paths and target not in paths:
                        near[target] = near.get(target, 0.0) + share
                    elif target in paths and source not in paths:
                        near[source] = near.get(source, 0.0) + share
            return tuple(sorted(near, key=lambda path: (-round(near[path], 12), path))[:most])

    def symbols(self, path: str) -> Symbols | None:
        """What is known of a file as of the last refresh."""
        with self._lock:
            kept = self._kept.get(path)
            return None if kept is None else kept.symbols

    def lacking(self) -> tuple[str, ...]:
        """Languages of files here whose grammar is not installed."""
        with self._lock:
            return tuple(sorted({language_of(path) for path, kept in self._kept.items() if not kept.symbols.language}))

    def files(self) -> tuple[str, ...]:
        """All source files that are known, and behind them those without symbols."""
        with self._lock:
            return (*sorted(self._kept), *sorted(self._others))

    def close(self) -> None:
        """End the process that parses, and let go of the cache."""
        with self._refreshing:
            self._parsing.close()
            self._keeping.close()

    def _is_new(self, path: str, mark: Mark) -> bool:
        kept = self._kept.get(path)
        stored = (self._stored or {}).get(path) if kept is None else None
        if stored is not None and stored.mark == mark and mark.changed_ns:
            self._kept[path] = stored
            self._graph.put(path, stored.symbols)
            return False
        return kept is None or not mark.changed_ns or kept.mark != mark

    def _take_in(
        self,
        workspace: Workspace,
        waiting: Sequence[str],
        marks: Mapping[str, Mark],
        until: float,
        stop: threading.Event,
    ) -> int:
        """Read and parse files until time is up; says how many are left."""
        at = 0
        while at < len(waiting) and time.monotonic() < until and not stop.is_set():
            batch: list[tuple[str, Mark, bytes, bytes]] = []
            size = 0
            while at < len(waiting) and len(batch) < _BATCH_FILES and size < _BATCH_BYTES:
                path = waiting[at]
                data = _content(workspace, path)
                batch.append((path, marks[path], data, blake2b(data, digest_size=_DIGEST).digest()))
                size += len(data)
                at += 1
            done = self._parse(batch, stop)
            if done < len(batch):
                return len(waiting) - at + len(batch) - done
        return len(waiting) - at

    def _parse(self, batch: Sequence[tuple[str, Mark, bytes, bytes]], stop: threading.Event) -> int:
        """Find the symbols of files, from what is kept if their content is known; says how many were done."""
        known: dict[str, Symbols] = {}
        asked: list[Source] = []
        for path, _, data, digest in batch:
            before = self._kept.get(path) or (self._stored or {}).get(path)
            if before is not None and before.digest == digest:
                known[path] = before.symbols
            elif is_source(data):
                asked.append(Source(path, data))
            else:
                known[path] = Symbols(language=language_of(path), partial=bool(data))
        known.update(zip((source.path for source in asked), self._parsing.read(asked, stop), strict=False))
        done = [(path, Kept(mark, digest, known[path])) for path, mark, _, digest in batch if path in known]
        with self._lock:
            for path, kept in done:
                self._kept[path] = kept
                self._graph.put(path, kept.symbols)
        self._keeping.save(done, ())
        return len(done)

    def _forget(self, gone: Sequence[str], marks: Mapping[str, Mark], *, is_complete: bool) -> None:
        """Drop what is kept of files that are no longer there; what was loaded is of use until all is read once."""
        lost = [path for path in self._stored or {} if path not in marks]
        if gone or lost:
            self._keeping.save((), {*gone, *lost})
        if is_complete:
            self._stored = {}

    def _ranked(
        self, focus_paths: Collection[str], focus_words: Sequence[str]
    ) -> tuple[dict[str, float], frozenset[str]]:
        files = sorted(self._kept)
        start, meant = starts(self._graph, files, focus_paths, focus_words)
        asked = (self._graph.version, frozenset(focus_paths), tuple(focus_words))
        if self._ranks[0] != asked:
            self._ranks = (asked, pagerank(files, self._graph.inflow(), start))
        return self._ranks[1], meant


def _worth(ranks: Mapping[str, float], meant: Collection[str]) -> list[tuple[str, float]]:
    """The ranks as a reader of the map would have them: a library that was copied in explains nothing."""
    return [(path, rank * (1.0 if path in meant else _DRAWN.get(kind_of(path), 1.0))) for path, rank in ranks.items()]


def _content(workspace: Workspace, path: str) -> bytes:
    """What a file holds; nothing if it vanished or may not be read, one byte too many if it is too large."""
    try:
        return workspace.read_bytes(path, LARGEST_FILE + 1).data
    except (AgiError, OSError):
        return b""
