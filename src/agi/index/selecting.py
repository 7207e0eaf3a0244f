"""Which parts of a workspace a text is about: files, line ranges and reasons, for whoever puts a context together.

    async with Selector(workspace, cache) as selector:
        await selector.refresh()
        await selector.link()  # needs an index of symbols; not waited for where time is short
        selection = await selector.select("the cache middleware is not thread-safe", limit=10)

`refresh` looks at what changed on the disk and may take a while the first time; `link` takes in who uses whom, which
takes longer; `select` answers from what there is by now and waits for neither. All work in threads, so the event loop
goes on. The cache is a folder of files that can be deleted: a damaged one is made anew.
Knows no session. May import: errors, index, workspace.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from msgspec import Struct

from agi.errors import AgiError, Invalid
from agi.index import history
from agi.index.asking import read_question
from agi.index.building import Built, bring_up_to_date
from agi.index.chunks import LARGEST_FILE, LINES, text_of
from agi.index.embedding import WEIGHT, Embedder, nearness
from agi.index.history import Past
from agi.index.lexical import Tables
from agi.index.postings import Postings
from agi.index.ranking import Ranked, State, rank
from agi.index.repo import RepoIndex
from agi.workspace.handle import Workspace

MOST_SELECTED = 500
_REORDERED = 100
_Result = TypeVar("_Result")
_DAMAGE = (sqlite3.Error, OSError, ValueError, TypeError, OverflowError)
"""What reading a file that is not as we write it may raise."""


class Lines(Struct, frozen=True):
    """Some lines of a file, the first and the last of them, counted from 1; the last may lie behind the file's end."""

    first: int
    last: int


class Selected(Struct, frozen=True):
    """A file the text may be about: what it is worth beside others, its best lines first, and what speaks for it."""

    path: str
    score: float
    lines: tuple[Lines, ...]
    why: tuple[str, ...]


class Selection(Struct, frozen=True):
    """The files, the best first; of how many, and whether those are all there are."""

    files: tuple[Selected, ...]
    of: int
    complete: bool


class Selector:
    """Selects from one workspace; several in several processes may share a cache folder."""

    def __init__(
        self,
        workspace: Workspace,
        cache: Path,
        *,
        index: RepoIndex | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._workspace = workspace
        self._kept = Postings(cache)
        self._index = index
        self._embedder = embedder
        self._refreshing = asyncio.Lock()
        self._state: tuple[tuple[int, int], State] | None = None
        self._complete = self._damaged = False

    async def refresh(self) -> Built:
        """Bring the index up to date; what another process is doing at the same time is left to it."""
        async with self._refreshing:
            built = await _in_thread(self._built)
            await self._read_history()
            self._complete = built.complete
            return built

    async def link(self) -> None:
        """Bring up to date who uses whom; until that was done once, files are ranked without it."""
        if self._index is not None:
            index = self._index
            await _in_thread(lambda stop: index.refresh(self._workspace, stop=stop))
            await _in_thread(lambda _: index.link())

    async def select(self, text: str, limit: int = 20) -> Selection:
        """The files a text is about, from what is indexed now."""
        if not 1 <= limit <= MOST_SELECTED:
            raise Invalid(f"limit is {limit}.", hint=f"Ask for 1 to {MOST_SELECTED} files.")
        wanted = limit if self._embedder is None else max(limit, _REORDERED)
        ranked, of = await _in_thread(lambda _: self._ranked(text, wanted))
        if self._embedder is not None and ranked:
            ranked = await self._reordered(self._embedder, text, ranked)
        return Selection(tuple(_selected(one) for one in ranked[:limit]), of, self._complete)

    def close(self) -> None:
        """Let go of the cache."""
        self._kept.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _built(self, stop: threading.Event) -> Built:
        for _ in range(2):
            try:
                if self._damaged:
                    self._kept.remove()
                    self._damaged = False
                return bring_up_to_date(self._workspace, self._kept, stop)
            except _DAMAGE as error:
                if "locked" in str(error):  # another process builds it
                    break
                self._damaged = True
        return Built(complete=False)

    async def _read_history(self) -> None:
        head = await history.head_of(self._workspace)
        try:
            known, data = await _in_thread(lambda _: self._kept.history())
            if head in (known, ""):
                return
            before = history.unpack(data) if known else []
            told = await history.read_log(self._workspace, head, known) if before else None
            if told is None:
                before, told = [], await history.read_log(self._workspace, head)
            if told is not None:
                output = told
                await _in_thread(lambda _: self._keep_history(head, output, before))
        except _DAMAGE:  # the past is a help, not a need
            self._damaged = True

    def _keep_history(self, head: str, output: bytes, before: Sequence[history.Commit]) -> None:
        commits = [*history.parse(output), *before][: history.MOST_COMMITS]
        self._kept.put_history(head, history.pack(commits))

    def _ranked(self, text: str, limit: int) -> tuple[list[Ranked], int]:
        try:
            state, kept = self.opened()
            return rank(state, kept, read_question(text), limit), len(state.paths)
        except _DAMAGE:  # the next refresh makes it anew
            self._complete, self._damaged = False, True
            return [], 0

    def opened(self) -> tuple[State, Postings]:
        """What a ranking works on: the tables of the index, read again when somebody wrote, and its postings."""
        version = self._kept.version()
        if self._state is None or self._state[0] != version:
            past = Past(history.unpack(self._kept.history()[1]))
            self._state = version, State(Tables(self._kept.files()), past)
        state = self._state[1]
        state.links = None if self._index is None else self._index.links
        return state, self._kept

    async def _reordered(self, embedder: Embedder, text: str, ranked: list[Ranked]) -> list[Ranked]:
        """The first ones in an order that also goes by meaning, as far as a server tells it."""
        first, rest = ranked[:_REORDERED], ranked[_REORDERED:]
        passages = await _in_thread(lambda _: {one.path: self._passage(one) for one in first})
        near = await nearness(embedder, text, passages)
        best = first[0].score or 1.0
        worth = {one.path: one.score / best + WEIGHT * near.get(one.path, 0.0) for one in first}
        return sorted(first, key=lambda one: -worth[one.path]) + rest

    def _passage(self, ranked: Ranked) -> str:
        """The best lines of a file, below its path."""
        first = ranked.chunks[0] * LINES if ranked.chunks else 0
        try:
            lines = text_of(self._workspace.read_bytes(ranked.path, LARGEST_FILE).data).split("\n")
        except (AgiError, OSError):
            return ""
        return "\n".join([ranked.path, *lines[first : first + LINES]])


def _selected(one: Ranked) -> Selected:
    lines = tuple(Lines(chunk * LINES + 1, (chunk + 1) * LINES) for chunk in one.chunks)
    return Selected(one.path, one.score, lines, one.why)


async def _in_thread(work: Callable[[threading.Event], _Result]) -> _Result:
    """Run `work` in a thread; canceling tells it to stop and waits until it has, since it uses what may be closed."""
    stop = threading.Event()
    running = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({running})
        raise
