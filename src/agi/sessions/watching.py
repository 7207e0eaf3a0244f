"""Who watches the list of all sessions: what changes is read once, in rounds, and told to every watcher.

A watcher keeps the latest row of each session it has not been sent yet, so one that is slow is behind in nothing but
time. Where it stands is a cursor over all events of the log: `seq` is the number of the last one, `offset` how many
sessions had been deleted. To be imported late. May import: eventlog, protocol, views, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from agi.eventlog.base import Cursor
from agi.eventlog.hub import DELETED, EVERY
from agi.eventlog.log import EventLog
from agi.protocol.events import Event
from agi.protocol.overview import Removed, SessionRow, Snapshot
from agi.sessions.overview import Windows, above_of, read_state, row_of, waiting_below
from agi.sessions.sites import Site
from agi.views import queries

ROUND_S = 0.1
"""How much time lies between two rounds at least; what happens meanwhile is joined."""
AGAIN_S = 1.0
"""When a round that failed is tried again."""
PAGE = 100
MOST_EVENTS = 50_000
MOST_CHANGED = 500
"""A reader that has missed more than this starts over."""
QUIET = frozenset({"model_output_delta", "tool_output_delta"})
"""Events that change nothing in a row, except where one ends a wait for the provider."""

Change = SessionRow | Removed
Told = Snapshot | list[Change]
Unread = tuple[Told, Cursor]


class Watcher:
    """One reader: what it has not been sent yet, the latest of each session."""

    def __init__(self) -> None:
        self._changes: dict[str, Change] = {}
        self._cursor = Cursor()
        self._heard = asyncio.Event()

    def put(self, changes: dict[str, Change], cursor: Cursor) -> None:
        """Take a round; what is newer stands last."""
        for session_id, change in changes.items():
            self._changes.pop(session_id, None)
            self._changes[session_id] = change
        self._cursor = cursor
        self._heard.set()

    async def take(self) -> Unread:
        """Wait until something has changed, and give all of it."""
        await self._heard.wait()
        self._heard.clear()
        changes, self._changes = list(self._changes.values()), {}
        return changes, self._cursor


class Watching:
    """The rounds. Costs nothing while nobody watches."""

    def __init__(self, log: EventLog, site: Callable[[str], Site]) -> None:
        self._log = log
        self._site = site
        self._watchers: set[Watcher] = set()
        self._known: set[str] = set()
        self._backing_off: set[str] = set()
        self._changed: set[str] = set()
        self._deleted = False
        self._round: asyncio.TimerHandle | None = None
        self._last = 0.0

    async def watch(self, after: Cursor | None, limit: int) -> AsyncGenerator[Unread, None]:
        """What all sessions are like, or what changed since `after` if that can be told; then each change."""
        watcher = self._begin()
        try:
            cursor = self._cursor()
            missed = self._missed(after)
            if missed is None:
                yield await self._snapshot(limit), cursor
            else:
                yield list(self._rows(missed).values()), cursor
            while True:
                yield await watcher.take()
        finally:
            self._end(watcher)

    def close(self) -> None:
        """No more rounds."""
        for watcher in tuple(self._watchers):
            self._end(watcher)

    def _begin(self) -> Watcher:
        watcher = Watcher()
        if not self._watchers:
            self._log.listen(EVERY, self._hear)
            self._known = self._alive()
        self._watchers.add(watcher)
        return watcher

    def _end(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        if not self._watchers:
            self._log.hub.unlisten(EVERY, self._hear)
            if self._round is not None:
                self._round.cancel()
            self._round, self._changed = None, set()

    def _hear(self, event: Event) -> None:
        if event.type in QUIET and event.session_id not in self._backing_off:
            return
        if event.type == DELETED:
            self._deleted = True
        else:
            self._changed.add(event.session_id)
        if self._round is None:
            loop = asyncio.get_running_loop()
            self._round = loop.call_at(max(loop.time(), self._last + ROUND_S), self._go_round)

    def _go_round(self) -> None:
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        try:
            self._log.watch.catch_up()  # what is in the file was heard then, and this round tells of it
            cursor = self._cursor()
            changes = self._changes()
        except Exception:
            self._round = loop.call_later(AGAIN_S, self._go_round)  # what has changed is still to be told
            raise  # to the loop, which logs it
        self._round, self._changed, self._deleted = None, set(), False
        for watcher in self._watchers:
            watcher.put(changes, cursor)

    def _changes(self) -> dict[str, Change]:
        changes: dict[str, Change] = dict(self._rows(self._changed))
        if self._deleted:
            gone = self._known - self._alive()
            self._known -= gone
            changes |= {one: Removed(one) for one in gone}
        return changes

    def _cursor(self) -> Cursor:
        events, deletions = self._log.watch.position
        return Cursor(events, deletions, self._log.epoch)

    def _alive(self) -> set[str]:
        return {row[0] for row in self._log.db.execute("SELECT id FROM sessions WHERE listed=1")}

    def _missed(self, after: Cursor | None) -> set[str] | None:
        """The sessions in which something happened since; None if that cannot be told."""
        now = self._cursor()
        if after is None or (after.epoch, after.offset) != (now.epoch, now.offset):
            return None
        if not 0 <= now.seq - after.seq <= MOST_EVENTS:
            return None
        rows = self._log.db.execute("SELECT DISTINCT session_id FROM events WHERE id>?", (after.seq,)).fetchall()
        return {row[0] for row in rows} if len(rows) <= MOST_CHANGED else None

    def _rows(self, session_ids: set[str]) -> dict[str, SessionRow]:
        """These sessions as they stand now, and those they work for."""
        db, windows = self._log.db, Windows(self._site)
        below = waiting_below(db) if session_ids else {}
        wanted = dict.fromkeys([*session_ids, *(up for one in session_ids for up in above_of(db, one))])
        found: dict[str, SessionRow] = {}
        for session_id in wanted:
            state = read_state(db, session_id)
            if state is None or state.ephemeral:
                continue
            found[session_id] = row_of(state, self._log.epoch, windows, below.get(session_id, 0))
            self._known.add(session_id)
            note = self._backing_off.add if state.activity == "backing_off" else self._backing_off.discard
            note(session_id)
        return found

    async def _snapshot(self, limit: int) -> Snapshot:
        """The sessions touched last, in pages, with others at work in between; what changes then is told later."""
        db, windows, below = self._log.db, Windows(self._site), waiting_below(self._log.db)
        rows: list[SessionRow] = []
        before = None
        while len(rows) < limit:
            page = queries.list_sessions(db, limit=min(PAGE, limit - len(rows)), before=before)
            rows += [row_of(one, self._log.epoch, windows, below[one.id]) for one in page]
            if len(page) < PAGE:
                break
            before = queries.place_of(page[-1])
            await asyncio.sleep(0)
        total = db.execute("SELECT count(*) FROM sessions WHERE listed=1").fetchone()[0]
        return Snapshot(sessions=rows, total=total)
