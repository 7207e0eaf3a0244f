"""`/v1/chat`: seed 003's gateway. One JSON object a message; a translation of the session verbs and of followed events.

A connection holds nothing but what it follows: turns, questions and answers are in the log, so any client may answer,
and one that comes back goes on exactly where it was. May import: errors, protocol, eventlog, sessions, server.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agi.errors import AgiError, Invalid, NotFound
from agi.eventlog.base import Cursor, parse_cursor
from agi.eventlog.follow import Batch, Delivery
from agi.protocol import chat
from agi.protocol.commands import Approve, Cancel, CreateSession, EditedStep, PostMessage, ResolvePreflight
from agi.protocol.events import Event, TurnStarted
from agi.server.chat_words import approval_request, chat_words, checklist, joined, started
from agi.server.refusals import Refusal
from agi.server.request import Shared, decode_body
from agi.server.snapshot import OpenPart, open_text
from agi.server.sockets import Socket
from agi.views import queries

APPROVAL_TIMEOUT_S = 60.0
"""How long a question of a turn that was begun here waits, unless the settings say otherwise."""
FOLLOWED = 100
"""How many sessions one connection may follow."""
PAUSE_S = 0.002
BURST = 4
"""After so many batches in such haste a follower pauses, so that a torrent of deltas is joined into few messages."""

T = TypeVar("T")
_decoder: msgspec.json.Decoder[chat.ClientSays] = msgspec.json.Decoder(chat.ClientSays)
_decode_id = msgspec.json.Decoder(dict[str, object])


class Chat:
    """One client of the gateway."""

    def __init__(self, socket: Socket, shared: Shared) -> None:
        self._socket = socket
        self._harness = shared.harness
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._sent: dict[str, str] = {}
        """The ids of the `chat.send` whose turns have not begun yet, by turn."""
        self._telling = asyncio.Lock()

    async def proved(self, text: str, prove: Callable[[str], Refusal | None]) -> bool:
        """Whether the first message is the token."""
        try:
            message = _read(text)
        except AgiError:
            message = None
        refusal = prove(message.token if isinstance(message, chat.Auth) else "")
        if refusal is not None:
            hint = 'Say {"type": "auth", "token": "…"} first, or send the token as a header.'
            await self._socket.say(chat.ErrorTold(code=refusal.code, message=refusal.message, hint=hint))
            return False
        await self._socket.say(chat.Acknowledged(id=message.id if message else UNSET))
        return True

    async def begin(self) -> None:
        """Nothing is told before something is asked."""

    async def hear(self, text: str) -> None:
        """Do what one message asks for; what is wrong with it is told, and the connection lives on."""
        asked: str | UnsetType = UNSET
        try:
            asked = _id_in(text)
            await self._do(_read(text))
        except AgiError as error:
            await self._socket.say(chat.ErrorTold(code=error.code, message=error.message, hint=error.hint, id=asked))

    async def close(self) -> None:
        """Follow nothing any more; turns go on by themselves."""
        for follower in self._followers.values():
            follower.cancel()
        await asyncio.gather(*self._followers.values(), return_exceptions=True)

    async def _do(self, message: chat.ClientSays) -> None:
        if isinstance(message, chat.ChatSend):
            await self._send(message)
        elif isinstance(message, chat.ChatCancel):
            await self._cancel(message)
        elif isinstance(message, chat.ToolApprovalResponse):
            await self._answer(message)
        elif isinstance(message, chat.PreflightApproval):
            await self._answer_plan(message)
        elif isinstance(message, chat.SessionAttach):
            await self._attach(message)
        elif isinstance(message, chat.SessionDetach):
            self._unfollow(message.session_id)
            await self._socket.say(chat.Acknowledged(id=message.id))
        elif isinstance(message, chat.Auth):
            await self._socket.say(chat.Acknowledged(id=message.id))  # known already, which does no harm
        else:
            await self._socket.say(chat.Pong(id=message.id))

    async def _send(self, message: chat.ChatSend) -> None:
        command = PostMessage(
            parts=_given(message.parts),
            content=_given(message.content),
            auto_run=True,
            agent=_given(message.agent),
            provider=_given(message.provider),
            model=_given(message.model),
            options=_given(message.options),
            approval_timeout_s=APPROVAL_TIMEOUT_S,
            preflight=_given(message.preflight),
            mode=message.mode,
            client="chat",
        )
        if (command.parts is None) == (command.content is None):
            raise Invalid("`chat.send` has either `content` or `parts`.", hint="Send exactly one of the two.")
        session_id = _given(message.session_id) or await self._begin(command)
        log = self._harness.log
        here = Cursor(log.last_seq(session_id), None, log.epoch)
        # Nothing is told of the session until it is known which turn answers this message.
        async with self._telling:
            posted = await self._harness.post_message(session_id, command)
            turn_id = posted.turn_id or ""
            self._sent[turn_id] = message.id
        if posted.queued:
            queued = chat.StreamQueued(
                id=message.id, session_id=session_id, request_id=turn_id, message_id=posted.message_id
            )
            await self._socket.say(queued)
        if not self._is_following(session_id):
            self._follow(session_id, here)

    async def _begin(self, command: PostMessage) -> str:
        wanted = CreateSession(agent=command.agent, provider=command.provider, model=command.model)
        return (await self._harness.create_session(wanted)).id

    async def _cancel(self, message: chat.ChatCancel) -> None:
        turn_id, session_id = _given(message.request_id), _given(message.session_id)
        if turn_id is not None:
            session_id = queries.session_of_turn(self._harness.log.db, turn_id)
        if session_id is None:
            raise Invalid("`chat.cancel` names neither a turn nor a session.", hint="Send `requestId` or `sessionId`.")
        await self._harness.cancel(session_id, Cancel(turn_id=turn_id))
        await self._socket.say(chat.Acknowledged(id=message.id))

    async def _answer(self, message: chat.ToolApprovalResponse) -> None:
        command = Approve(
            tool_call_id=message.tool_call_id,
            action="approve" if message.approved else "deny",
            reason=message.reason,
            remember="tool" if message.session_approve and message.approved else "once",
            digest=_given(message.digest),
            hunks=_given(message.hunks),
            client="chat",
        )
        await self._harness.approve(self._session_of_call(message.tool_call_id), command)
        await self._socket.say(chat.Acknowledged(id=message.id))

    def _session_of_call(self, call_id: str) -> str:
        """Where a call waits for an answer: in a session that runs, else in the one that was followed last."""
        try:
            return queries.session_of_call(self._harness.log.db, call_id)
        except NotFound:
            if not self._followers:
                raise
            return next(reversed(self._followers))  # which says whether it was answered there

    async def _answer_plan(self, message: chat.PreflightApproval) -> None:
        edited = _given(message.edited_steps)
        command = ResolvePreflight(
            approved=message.approved,
            edited_steps=None if edited is None else [_edited(one) for one in edited],
            reason=message.reason,
            digest=_given(message.digest),
        )
        session_id = queries.session_of_turn(self._harness.log.db, message.request_id)
        await self._harness.resolve_preflight(session_id, message.request_id, command)
        await self._socket.say(chat.Acknowledged(id=message.id))

    async def _attach(self, message: chat.SessionAttach) -> None:
        """Say how the session stands, then go on from there, or from where the client was."""
        state = self._harness.state(message.session_id)
        log = self._harness.log
        after = _given(message.after)
        cursor = parse_cursor(after) if after else Cursor(state.last_seq, None, log.epoch)
        if len(self._followers) >= FOLLOWED and not self._is_following(state.id):
            hint = "Detach from one with `session.detach`, or open another connection."
            raise Invalid(f"This connection follows {FOLLOWED} sessions.", code="too_many_followed", hint=hint)
        self._unfollow(state.id)
        pending = state.turn.pending if state.turn else []
        plan = state.turn.pending_preflight if state.turn else None
        attached = chat.SessionAttached(
            id=message.id,
            session_id=state.id,
            seq=state.last_seq,
            status=state.status,
            activity=state.activity,
            pending=tuple(approval_request(state.id, one) for one in pending),
            pending_preflight=None if plan is None else checklist(state.id, plan.turn_id, plan),
            open_text=() if after else _open(open_text(self._harness, state)),
        )
        await self._socket.say(attached)
        self._follow(state.id, cursor)

    def _is_following(self, session_id: str) -> bool:
        task = self._followers.get(session_id)
        return task is not None and not task.done()

    def _unfollow(self, session_id: str) -> None:
        if (task := self._followers.pop(session_id, None)) is not None:
            task.cancel()

    def _follow(self, session_id: str, cursor: Cursor) -> None:
        task = asyncio.create_task(self._told(session_id, cursor), name=f"chat {session_id}")
        self._followers[session_id] = task

    async def _told(self, session_id: str, cursor: Cursor) -> None:
        """Tell what happens in a session until it is gone or nobody listens."""
        loop = asyncio.get_running_loop()
        hasty, told_at = 0, 0.0
        try:
            async with contextlib.aclosing(self._harness.follow(session_id, cursor)) as batches:  # type: ignore[type-var]
                async for batch in batches:
                    now = loop.time()
                    hasty = hasty + 1 if now - told_at < PAUSE_S else 0
                    told_at = now
                    async with self._telling:
                        await self._tell(session_id, batch)
                    if hasty >= BURST:
                        await asyncio.sleep(PAUSE_S)  # what comes meanwhile is joined
        except AgiError as error:  # the log is damaged here; the client is told why there is no more
            told = chat.ErrorTold(code=error.code, message=error.message, hint=error.hint, session_id=session_id)
            await self._socket.say(told)
        except OSError:
            return  # the client has gone; whoever reads the socket notices too

    async def _tell(self, session_id: str, batch: Batch) -> None:
        if batch.resync:
            seq = self._harness.log.last_seq(session_id)
            await self._socket.say(chat.SessionResync(session_id=session_id, seq=seq))
        for delivery in joined(batch.deliveries):
            text = self._words(delivery)
            if text:
                await self._socket.say(text)

    def _words(self, delivery: Delivery) -> str | chat.StreamStart:
        item = delivery.item
        if isinstance(item, Event) and item.turn_id in self._sent and isinstance(item.data, TurnStarted):
            asked = self._sent.pop(item.turn_id)
            return replace(started(item, item.data), id=asked, cursor=str(delivery.cursor))
        return chat_words(item, delivery.cursor)


def _read(text: str) -> chat.ClientSays:
    return decode_body(_decoder, text.encode(errors="replace"), "The message", "docs/chat.md lists every message.")


def _open(parts: Iterable[OpenPart]) -> tuple[chat.OpenText, ...]:
    return tuple(
        chat.OpenText(message_id=one.message_id, part_id=one.part_id, kind=one.kind, text=one.text) for one in parts
    )


def _edited(step: chat.EditedStepTold) -> EditedStep:
    return EditedStep(
        description=step.description,
        id=_given(step.id),
        tool_name=_given(step.tool_name),
        target=_given(step.target),
        skip=step.skip,
    )


def _given(value: T | UnsetType) -> T | None:
    return None if value is UNSET else value


def _id_in(text: str) -> str | UnsetType:
    """The id a message carries, also one that cannot be accepted otherwise."""
    try:
        found = _decode_id.decode(text.encode(errors="replace")).get("id", UNSET)
    except (msgspec.MsgspecError, RecursionError):
        return UNSET
    return found if isinstance(found, str) and len(found) <= 200 else UNSET
