"""Sources for the start of a turn: a map of the repository, and the files a question may be about.

Who keeps the indexes is not known here; they come by their shape. What is not ready in time is left out, and goes on
being read in the background for the next turn, until `close`. May import: protocol, workspace, context.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Protocol

from agi.context.base import REPO_MAP, SELECTED, Ask, Piece
from agi.protocol.visible import visible
from agi.workspace.handle import Workspace

FEWEST_FILES = 30
"""A workspace with fewer source files is seen at a glance; neither a map nor a choice is worth its tokens."""
MOST_SELECTED = 10
SOURCE = "workspace"
MAP_HEADING = "A map of the repository, as it was when this was said: the most important files and what they define."
SELECTED_HEADING = "Files that this question may be about, the likeliest first; read what you need of them."
NOT_READY = "the index is not ready yet"
TOO_FEW = f"fewer than {FEWEST_FILES} source files"


class Progress(Protocol):
    """How far an index is."""

    @property
    def files(self) -> int:
        """Source files there are."""

    @property
    def waiting(self) -> int:
        """Those that are not read yet."""


class Drawing(Protocol):
    """A map."""

    @property
    def text(self) -> str:
        """What to show."""


class MapIndex(Protocol):
    """An index that can be drawn as a map; blocking, for use in a thread."""

    def refresh(self, workspace: Workspace, *, stop: threading.Event) -> Progress:
        """Take in what has changed."""

    def map(self, budget_tokens: int) -> Drawing:
        """Draw it."""


class RepoMap:
    """Tells a map of the repository as a whole: ranking it for one question takes longer than a turn should wait."""

    name = REPO_MAP

    def __init__(self, workspace: Workspace, index: MapIndex) -> None:
        self._workspace = workspace
        self._index = index
        self._stop = threading.Event()
        self._refreshing: asyncio.Task[Progress] | None = None
        self._last: Progress | None = None

    async def gather(self, ask: Ask) -> Piece:
        """The map, once the index is whole: then as of the last reading, and the next one is begun."""
        reading = self._refreshed()
        state = self._last
        if state is None or state.waiting:
            state = await asyncio.shield(reading)
        if state.files < FEWEST_FILES:
            return _nothing(REPO_MAP, TOO_FEW)
        if state.waiting:
            return _nothing(REPO_MAP, NOT_READY)
        drawn = await asyncio.to_thread(self._index.map, ask.tokens - len(MAP_HEADING) // 3)
        return Piece(name=REPO_MAP, source=SOURCE, heading=MAP_HEADING, text=visible(drawn.text))

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()

    def _refreshed(self) -> asyncio.Task[Progress]:
        """The reading that is under way, or a new one; it goes on when nobody waits for it any more."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._read(), name="reading the repository for its map")
            self._refreshing.add_done_callback(lambda task: None if task.cancelled() else task.exception())
        return self._refreshing

    async def _read(self) -> Progress:
        state = await asyncio.to_thread(self._index.refresh, self._workspace, stop=self._stop)
        if state.files >= FEWEST_FILES and not state.waiting:
            await asyncio.to_thread(self._index.map, 1)  # the first drawing ranks all files; those after it go by that
        self._last = state
        return state


class Range(Protocol):
    """Some lines."""

    @property
    def first(self) -> int:
        """The first of them, counted from 1."""

    @property
    def last(self) -> int:
        """The last of them."""


class Chosen(Protocol):
    """A file that was chosen."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def lines(self) -> Sequence[Range]:
        """Its best lines first."""

    @property
    def why(self) -> Sequence[str]:
        """What speaks for it."""


class Choice(Protocol):
    """The files that were chosen."""

    @property
    def files(self) -> Sequence[Chosen]:
        """The best first."""

    @property
    def of(self) -> int:
        """Of how many."""

    @property
    def complete(self) -> bool:
        """Whether those are all there are."""


class Chooser(Protocol):
    """Chooses files by a text."""

    async def refresh(self) -> object:
        """Take in what has changed."""

    async def link(self) -> object:
        """Take in who uses whom, which may take longer; what is chosen meanwhile is chosen without."""

    async def select(self, text: str, limit: int = ...) -> Choice:
        """What the text is about."""


class SelectedFiles:
    """Names the files a question may be about, with lines and reasons; what is in them, the agent reads itself."""

    name = SELECTED

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        self._refreshing: asyncio.Task[object] | None = None
        self._linking: asyncio.Task[object] | None = None

    async def gather(self, ask: Ask) -> Piece:
        """The files, from what is indexed by now; what is not, is read meanwhile, and who uses whom after it."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = _begun(self._chooser.refresh(), "reading the repository to choose files")
        if self._linking is None or self._linking.done():
            self._linking = _begun(self._link(self._refreshing), "reading who uses whom to choose files")
        chosen = await self._chooser.select(ask.text, MOST_SELECTED)
        if not chosen.complete:
            await asyncio.shield(self._refreshing)
            chosen = await self._chooser.select(ask.text, MOST_SELECTED)
        if chosen.of < FEWEST_FILES:
            return _nothing(SELECTED, TOO_FEW)
        if not chosen.files:
            return _nothing(SELECTED, "no file fits the question")
        lines = [_line(one) for one in chosen.files if one.path.isprintable()]
        return Piece(name=SELECTED, source=SOURCE, heading=SELECTED_HEADING, text=visible("\n".join(lines)))

    async def _link(self, refreshing: asyncio.Task[object]) -> object:
        await asyncio.shield(refreshing)
        return await self._chooser.link()

    def close(self) -> None:
        """Stop reading."""
        for task in (self._linking, self._refreshing):
            if task is not None:
                task.cancel()


def _begun(work: Coroutine[None, None, object], name: str) -> asyncio.Task[object]:
    """Work that goes on when nobody waits for it; what becomes of it is seen by whoever asks next."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return task


def _line(one: Chosen) -> str:
    ranges = ", ".join(f"{lines.first}-{lines.last}" for lines in one.lines[:3])
    why = f"  ({'; '.join(one.why[:3])})" if one.why else ""
    return " ".join(f"{one.path}{':' if ranges else ''}{ranges}{why}".split("\n"))


def _nothing(name: str, why: str) -> Piece:
    return Piece(name=name, source=SOURCE, refused=why)
