"""The desk: one client and the session that is open on it, with everything a screen needs to show and to do.

Knows no screen: whoever draws is told that something changed. May import: errors, protocol, client, tui.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from agi.client.base import Client, ModelList
from agi.config.daemon import DaemonRecord
from agi.errors import AgiError, Conflict, NotFound
from agi.protocol.commands import Approve, Cancel, CreateSession, PostMessage, ResolvePreflight
from agi.protocol.events import Event
from agi.protocol.messages import Mode
from agi.protocol.parts import InputPart, Text
from agi.protocol.sessions import Session
from agi.tui.conversation import Conversation
from agi.tui.drafts import Drafts
from agi.tui.entries import Call
from agi.tui.link import Link
from agi.tui.standing import Standing

PAGE = 100
"""Messages that are fetched at once."""
LONGEST_PROMPT = 1_000_000
"""Characters that a draft takes as a prompt; a longer one goes the way of messages with files."""
FILLS = ("turn_completed", "turn_failed", "turn_canceled", "context_compacted", "compaction_undone")
"""After these, the window is fuller or emptier."""
BELOW = ("worker_started", "worker_completed", "turn_completed", "turn_failed", "turn_canceled")
"""After these, a worker that asked may do so no longer."""
REACH_BACK = 1000
"""Events before the end that are heard again where a turn runs: the text it is saying is in no message yet."""

Wish = tuple[str, str, str]


class Desk:
    """What is open, and what can be done with it. Every verb raises AgiError with what went wrong."""

    def __init__(
        self,
        client: Client,
        project: Path,
        *,
        changed: Callable[[], None],
        daemon: Callable[[], DaemonRecord | None] | None = None,
        agent: str | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> None:
        self.client = client
        self.project = project
        self.agent = agent
        self.provider = provider
        self.model = model
        """What the next session is begun with."""
        self.conversation = Conversation()
        self.standing: Standing | None = None
        self.connected = True
        self.lost_at = 0.0
        """When the connection broke off."""
        self.has_older = False
        self.busy_since: float | None = None
        self.windows: dict[str, int] = {}
        """How much models take in, by name."""
        self.answering: ModelList | None = None
        """Who answers here, once that was asked."""
        self._asked_about: Wish | None = None
        self.percent: float | None = None
        """How full the window is, as the daemon says."""
        self.drafts = Drafts(daemon, self._pool_changed)
        self._changed = changed
        self._link: Link | None = None
        self._older = asyncio.Lock()
        self._measuring: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._look_again = False
        client.watch_connection(self._connection)

    @property
    def session_id(self) -> str:
        """The session that is open; empty while none is."""
        return self.standing.session.id if self.standing else ""

    @property
    def context(self) -> float | None:
        """How full the model's window is, in percent; None if nobody knows."""
        if self.percent is not None:
            return self.percent
        window = self.windows.get(self.standing.model if self.standing else "")
        tokens = self.standing.context_tokens if self.standing else None
        return None if not window or tokens is None else 100 * tokens / window

    async def open(self, session_id: str) -> None:
        """Go on with a session; nothing is begun or changed by looking."""
        session = await self.client.session(session_id)
        page = await self.client.message_page(session_id, limit=PAGE)
        await self.leave()
        self.standing = Standing(session)
        self.conversation = Conversation()
        self.conversation.load(page.messages, queued={one.message_id for one in session.queue})
        self.has_older = page.has_more
        self._mark_pending()
        back = REACH_BACK if self.standing.is_busy else 0
        self._watch(session, after=max(0, session.last_seq - back))
        self._changed()

    async def leave(self) -> None:
        """Put away what is open; what runs goes on."""
        if self._link is not None:
            await self._link.close()
        self._link, self.standing, self.busy_since = None, None, None
        self.conversation, self.has_older, self.percent = Conversation(), False, None
        self._changed()

    async def close(self) -> None:
        """Let go of everything but the client."""
        await self.leave()
        await self.drafts.close()
        for task in (self._measuring, self._looking):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def older(self) -> int:
        """Fetch a page of earlier messages; gives how many entries came."""
        async with self._older:
            if not self.has_older or not self.conversation.oldest or not self.session_id:
                return 0
            conversation = self.conversation
            page = await self.client.message_page(self.session_id, before=conversation.oldest, limit=PAGE)
            if conversation is not self.conversation:
                return 0
            self.has_older = page.has_more and bool(page.messages)
            return conversation.prepend(page.messages)

    async def say(self, text: str, attached: list[InputPart] | None = None, mode: Mode = "queue") -> bool:
        """Say something, in a new session if none is open; tells whether it waits."""
        await self.ensure_session()
        draft = self.drafts.active
        if draft is not None and draft.session_id == self.session_id and not attached and len(text) <= LONGEST_PROMPT:
            return await self.drafts.submit(text, mode)
        parts: list[InputPart] = [Text(text=text), *(attached or [])]
        posted = await self.client.post_message(
            self.session_id, PostMessage(parts=parts, auto_run=True, mode=mode, client="tui")
        )
        return posted.queued

    async def ensure_session(self) -> str:
        """The session that is open, begun if need be."""
        if not self.session_id:
            command = CreateSession(
                workspace_path=str(self.project), agent=self.agent, provider=self.provider, model=self.model
            )
            await self.open((await self.client.create_session(command)).id)
        return self.session_id

    async def stop(self) -> list[str]:
        """Stop the running turn and everything behind it; gives what was queued, so that it is not lost."""
        if self.standing is None or not self.standing.is_busy:
            return []
        queued = [self.conversation.waiting.get(one.message_id, "") for one in self.standing.queue]
        try:
            await self.client.cancel(self.session_id, Cancel(reason="stopped in the terminal"))
        except Conflict:
            return []  # it ended by itself just now
        self.conversation.waiting.clear()
        return [text for text in queued if text]

    async def steer(self) -> str:
        """Have the running turn take up what waits longest; gives its text, or nothing if nothing waits any more."""
        for one in self.standing.queue if self.standing else []:
            if one.mode == "queue":
                try:
                    await self.client.steer_queued(self.session_id, one.message_id)
                except NotFound:
                    return ""
                return self.conversation.waiting.get(one.message_id, "…")
        return ""

    async def unqueue(self) -> str:
        """Take back what stands last in the queue; gives its text, or nothing if it was taken up meanwhile."""
        if self.standing is None or not self.standing.queue:
            return ""
        last = self.standing.queue[-1]
        try:
            await self.client.drop_queued(self.session_id, last.message_id)
        except (Conflict, NotFound):
            return ""
        return self.conversation.waiting.pop(last.message_id, "")

    async def answer_plan(self, turn_id: str, answer: ResolvePreflight) -> None:
        """Answer the steps that were proposed; that somebody was faster is no error."""
        try:
            await self.client.resolve_preflight(self.session_id, turn_id, answer)
        except (Conflict, NotFound):
            if self.standing is not None:
                self.standing.preflight = None
                self._changed()

    async def answer(self, answer: Approve) -> None:
        """Answer a question; that somebody was faster is no error."""
        try:
            await self.client.approve(self.session_id, replace(answer, client="tui"))
        except (Conflict, NotFound):
            if self.standing is not None:
                self.standing.pending.pop(answer.tool_call_id, None)
                self._changed()

    async def learn_models(self) -> None:
        """Ask how much the models take in, and who answers here."""
        self._asked_about, self.answering = (wish := self._wish()), None
        agent, provider, model = wish
        try:
            listed = await self.client.models(agent=agent, provider=provider, model=model)
        except AgiError as error:
            listed = ModelList(models=(), default=None, problem=f"{error.message} {error.hint}".rstrip())
        else:
            self.windows = {one.id: one.context_window for one in listed.models if one.context_window}
        if wish == self._asked_about:
            self.answering = listed
        self._changed()

    @property
    def answers_otherwise(self) -> bool:
        """Whether an agent or model is named here that was neither asked about nor found to answer."""
        if self._asked_about is None:
            return False
        found = self.answering.default if self.answering else None
        known = (self.answering.agent, found.provider, found.model) if self.answering and found else self._asked_about
        named = zip(self._wish(), self._asked_about, known, strict=True)
        return any(now not in (asked, answers) for now, asked, answers in named)

    def _wish(self) -> Wish:
        """The agent, provider and model that the open session names, or the next one will."""
        at = self.standing.session if self.standing else self
        return at.agent or "", at.provider or "", at.model or ""

    def _mark_pending(self) -> None:
        for id in self.standing.pending if self.standing else ():
            entry = self.conversation.find(id)
            if isinstance(entry, Call) and entry.state == "asked":
                entry.state = "waiting"
                entry.touch()

    def _watch(self, session: Session, after: int) -> None:
        self._link = Link(
            self.client,
            session.id,
            after=after,
            epoch=session.epoch,
            hear=self._hear,
            connected=self._connection,
            lost=self._lost,
        )

    def _hear(self, event: Event) -> None:
        standing = self.standing
        if standing is None:
            return
        replayed = event.seq <= standing.session.last_seq and event.type not in ("model_output_delta",)
        is_new = standing.hear(event)
        drawn = self.conversation.hear(event) if not replayed or _is_live(event) else False
        if self.busy_since is None and standing.is_busy:
            self.busy_since = time.monotonic()
        elif not standing.is_busy:
            self.busy_since = None
        if event.type in FILLS and not replayed:
            self._measure()
        if (event.type == "worker_waiting" and not replayed) or (standing.asked_below and event.type in BELOW):
            self._look_below()
        if is_new or drawn:
            self._changed()

    def _pool_changed(self) -> None:
        """Who is alive does something else: perhaps a worker's question was answered elsewhere."""
        if self.standing is not None and self.standing.asked_below:
            self._look_below()
        self._changed()

    def _look_below(self) -> None:
        """Ask what workers ask; the session's own log says only that they do."""
        self._look_again = True
        if self._looking and not self._looking.done():
            return

        async def ask() -> None:
            while self._look_again and self.standing is not None:
                self._look_again, standing = False, self.standing
                try:
                    standing.hear_below((await self.client.session(standing.session.id)).pending_approvals)
                except AgiError:
                    return  # the connection says so itself, and the next word looks again
                self._changed()

        self._looking = asyncio.create_task(ask())

    def _measure(self) -> None:
        """Ask how full the window is, where the daemon can tell."""
        if self._measuring and not self._measuring.done():
            return

        async def ask() -> None:
            try:
                self.percent = (await self.client.context(self.session_id)).percent
            except AgiError:
                return
            self._changed()

        self._measuring = asyncio.create_task(ask())

    def _connection(self, connected: bool) -> None:
        if connected != self.connected:
            self.connected = connected
            self.lost_at = time.time()
            self._changed()

    async def _lost(self, error: AgiError) -> None:
        """The log is another one now, or the session is gone."""
        self._link = None  # its task is ending, with this call
        session_id = self.session_id
        if isinstance(error, Conflict):
            await self.open(session_id)
        else:
            await self.leave()
            self.conversation.tell("The session is gone: somebody removed it.", "bad")
            self._changed()


def _is_live(event: Event) -> bool:
    """Whether an event before the snapshot may show something that no message holds yet."""
    return event.type in ("model_output_delta", "tool_call_started", "tool_output_delta")
