"""What a client of `/v1/rpc` is told unasked: what drafts and workers of its projects say, ask and come to.

One that was there before the client is followed from now on, one that comes later from its beginning, so nothing is
missed and nothing repeated. May import: errors, protocol, eventlog, sessions, server.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from agi.errors import AgiError
from agi.eventlog.base import ENDINGS, Cursor
from agi.eventlog.follow import Batch
from agi.protocol import rpc
from agi.protocol.drafts import PooledAgent
from agi.protocol.events import Event
from agi.protocol.resources import Resource
from agi.server.chat_words import joined
from agi.server.rpc_words import Who, draft_status, notification, rpc_words
from agi.server.sockets import Socket
from agi.sessions.harness import Harness
from agi.sessions.pool import UNREADABLE

PAUSE_S = 0.01
BURST = 4
"""After so many batches in such haste a follower pauses, so that a torrent of deltas is joined into few messages.

Long enough that many clients of one draft pause too: the more there are, the longer each of them waits for its turn.
"""
STANDS = ENDINGS | {"draft_opened", "draft_closed", "context_compacted", "compaction_undone"}
"""After one of these it is told how a draft stands."""


class Following:
    """The sessions one client is told about."""

    def __init__(self, socket: Socket, harness: Harness) -> None:
        self._socket = socket
        self._harness = harness
        self._projects: set[str] = set()
        """The folders of the projects this client speaks of."""
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, int] = {}
        """How far sessions were told that came to their end; a worker can be retried."""
        self._changed = asyncio.Event()
        self._told: tuple[PooledAgent, ...] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._unwatch: Callable[[], None] | None = None

    def attend(self, project: Resource) -> None:
        """Tell the client of a project from now on."""
        if project.path not in self._projects:
            self._projects.add(project.path)
            self._follow_new(from_now=True, only=project.path)

    def begin(self) -> None:
        """Tell the client whenever the pool changes."""
        self._unwatch = self._harness.crew.pool.watch(self._changed.set)
        self._told = tuple(self._harness.crew.pool.agents())
        self._keeper = asyncio.create_task(self._keep_up(), name="rpc pool")

    async def close(self) -> None:
        """Follow nothing any more."""
        if self._unwatch is not None:
            self._unwatch()
        tasks = [*self._followers.values(), *([self._keeper] if self._keeper else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_up(self) -> None:
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                self._follow_new(from_now=False)
                agents = tuple(self._harness.crew.pool.agents())
                if agents != self._told:
                    self._told = agents
                    await self._socket.say(notification(rpc.PoolStatus(agents=agents)))
        except OSError:
            return  # the client has gone; whoever reads the socket notices too

    def _follow_new(self, *, from_now: bool, only: str = "") -> None:
        for agent in self._harness.crew.pool.agents():
            if agent.session_id in self._followers:
                continue
            path = self._harness.state(agent.session_id).project_path
            if path in self._projects and only in ("", path):
                self._follow(agent.session_id, from_now=from_now)

    def _follow(self, session_id: str, *, from_now: bool) -> None:
        log = self._harness.log
        after = log.last_seq(session_id) if from_now else self._ended.get(session_id, 0)
        cursor = Cursor(after, None, log.epoch)
        task = asyncio.create_task(self._tell_all(session_id, cursor), name=f"rpc {session_id}")
        self._followers[session_id] = task
        task.add_done_callback(lambda done: self._followers.pop(session_id, None))

    async def _tell_all(self, session_id: str, cursor: Cursor) -> None:
        """Tell what happens in a session until it is over or nobody listens."""
        loop = asyncio.get_running_loop()
        hasty, told_at = 0, 0.0
        who = Who.of(self._harness.state(session_id))
        if who is None:
            return
        try:
            async with contextlib.aclosing(self._harness.follow(session_id, cursor)) as batches:  # type: ignore[type-var]
                async for batch in batches:
                    now = loop.time()
                    hasty = hasty + 1 if now - told_at < PAUSE_S else 0
                    told_at = now
                    if (end := await self._tell(who, batch)) is not None:
                        self._ended[session_id] = end
                        return
                    if hasty >= BURST:
                        await asyncio.sleep(PAUSE_S)  # what comes meanwhile is joined
        except AgiError as error:  # the log is damaged here; the client is told why there is no more
            told = rpc.ChannelMessage(
                session_id=session_id,
                project=who.project,
                task_slug=who.task_slug,
                role=who.role,
                kind="error",
                content=error.message,
                code=error.code,
                hint=error.hint,
            )
            with contextlib.suppress(OSError):
                await self._socket.say(notification(told))
        except OSError:
            return  # the client has gone; whoever reads the socket notices too

    async def _tell(self, who: Who, batch: Batch) -> int | None:
        """Tell one batch; gives the last event of a session that is over by now."""
        last: int | None = None
        for delivery in joined(batch.deliveries):
            item = delivery.item
            told = rpc_words(who, item)
            if told:
                await self._socket.say(told)
            if isinstance(item, Event) and item.type in STANDS:
                last = item.seq if await self._tell_how_it_stands(who.session_id, item) else None
        return last

    async def _tell_how_it_stands(self, session_id: str, event: Event) -> bool:
        """Tell how a draft stands; True if it, or a worker, is over."""
        try:
            state = self._harness.state(session_id)
            if state.draft is None:
                return event.type in ENDINGS and state.turn is None and not state.queue
            await self._socket.say(notification(draft_status(self._harness.crew.drafts.draft(session_id))))
        except UNREADABLE:
            return True
        return event.type == "draft_closed"
