"""Sessions for MCP tools: said something in, watched, read. A translation of verbs and events; nothing is kept here.

May import: protocol, views, sessions, server.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import suppress

from agi.protocol import events as ev
from agi.protocol.commands import CreateSession, PostMessage
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import ToolCallPart, plain_text
from agi.protocol.sessions import Session
from agi.server import mcp_words as words
from agi.server.mcp_desk import Progress
from agi.sessions.harness import Harness
from agi.views.queries import Turn

_SHORT = 200


async def post(harness: Harness, asked: words.PromptSession, place: str) -> tuple[str, str]:
    """Say it, in the session that is named or in a new one; gives the session and the turn that answers."""
    session_id = asked.session_id
    if session_id is None:
        command = CreateSession(workspace_path=place, title=asked.title, agent=asked.agent)
        session_id = (await harness.create_session(command)).id
    posted = await harness.post_message(
        session_id,
        PostMessage(
            content=asked.prompt,
            auto_run=True,
            wait=False,
            agent=asked.agent,
            provider=asked.provider,
            model=asked.model,
            client="mcp",
        ),
    )
    return session_id, posted.turn_id or ""


async def watch(harness: Harness, session_id: str, turn_id: str | None, seconds: float, progress: Progress) -> None:
    """Tell how a turn goes until it has ended, waits for a person, or the time is up; without a turn, all of them."""
    heard: asyncio.Queue[ev.Event] = asyncio.Queue()
    told = itertools.count(1)
    harness.log.listen(session_id, heard.put_nowait)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await progress(next(told), harness.session(session_id).activity)
                while _goes_on(harness, session_id, turn_id) and not _waits(harness, session_id):
                    await _tell(await heard.get(), told, progress)
        while not heard.empty():
            await _tell(heard.get_nowait(), told, progress)
        await progress(next(told), _stands(harness, session_id, turn_id))
    finally:
        harness.log.hub.unlisten(session_id, heard.put_nowait)


async def _tell(event: ev.Event, told: Iterator[int], progress: Progress) -> None:
    if (said := _happened(event)) is not None:
        await progress(next(told), said)


def answering(harness: Harness, session_id: str, turn_id: str) -> Turn:
    """The turn that answers what this one was to answer: itself, or the one that took up its message."""
    turn = harness.turn(session_id, turn_id)
    while turn.steered_into:
        turn = harness.turn(session_id, turn.steered_into)
    return turn


def outcome(harness: Harness, session_id: str, turn_id: str) -> words.Answered:
    """How a turn stands, or the one that took up its message."""
    turn = answering(harness, session_id, turn_id)
    data = ev.decode_data(f"turn_{turn.status}", turn.outcome) if turn.outcome else None
    said = [one for one in harness.turn_messages(session_id, turn.id) if one.role == "assistant"]
    usage = data.usage if isinstance(data, ev.TurnCompleted | ev.TurnFailed | ev.TurnCanceled) else Usage()
    return words.Answered(
        session_id=session_id,
        turn_id=turn.id,
        status=turn.status,
        activity=harness.session(session_id).activity,
        text=words.clipped(plain_text(said[-1].parts)) if said else "",
        stop_reason=turn.stop_reason,
        error=data.error if isinstance(data, ev.TurnFailed) else None,
        pending=pending_of(harness, session_id),
        usage=usage,
    )


def pending_of(harness: Harness, session_id: str) -> tuple[words.Pending, ...]:
    """What a session, or a worker below it, waits for."""
    return tuple(words.Pending.of(session_id, one) for one in harness.session(session_id).pending_approvals)


def read_session(harness: Harness, asked: words.ReadSession) -> words.SessionRead:
    """A session and its latest messages."""
    session = harness.session(asked.session_id)
    found, more = harness.messages(asked.session_id, limit=max(asked.limit, 1), before=asked.before)
    shown = found if asked.limit else []
    return words.SessionRead(
        session=_brief(session),
        messages=tuple(_said(one) for one in shown),
        has_more=more or len(shown) < len(found),
        pending=pending_of(harness, asked.session_id),
        usage=session.usage,
    )


def list_sessions(harness: Harness, limit: int) -> words.SessionList:
    """The sessions there are."""
    return words.SessionList(sessions=tuple(_brief(one) for one in harness.sessions(limit=limit)))


def _goes_on(harness: Harness, session_id: str, turn_id: str | None) -> bool:
    if turn_id is None:
        state = harness.state(session_id)
        return state.turn is not None or bool(state.queue)
    return answering(harness, session_id, turn_id).status in ("queued", "running")


def _waits(harness: Harness, session_id: str) -> bool:
    session = harness.session(session_id)
    return bool(session.pending_approvals) or session.pending_preflight is not None


def _stands(harness: Harness, session_id: str, turn_id: str | None) -> str:
    """How it stands now, in a line; read from the log, since an event may still be on its way."""
    session = harness.session(session_id)
    if session.pending_approvals:
        return f"waits for approval of {session.pending_approvals[0].name}"[:_SHORT]
    status = answering(harness, session_id, turn_id).status if turn_id else session.status
    return session.activity if _goes_on(harness, session_id, turn_id) else status


def _happened(event: ev.Event) -> str | None:
    """What is worth a line of progress; None is nothing."""
    data = event.data
    if isinstance(data, ev.ToolCallStarted):
        given = bytes(data.tool_call.input).decode(errors="replace")
        return f"{data.tool_call.name} {given}"[:_SHORT]
    if isinstance(data, ev.ModelOutputCompleted):
        return plain_text(data.message.parts).strip()[:_SHORT] or None
    return "verifying" if isinstance(data, ev.VerificationStarted) else None


def _said(message: Message) -> words.Said:
    return words.Said(
        id=message.id,
        role=message.role,
        text=words.clipped(plain_text(message.parts)),
        tools=tuple(part.content.name for part in message.parts if isinstance(part, ToolCallPart)),
        created_at=message.created_at,
    )


def _brief(session: Session) -> words.SessionBrief:
    return words.SessionBrief(
        session_id=session.id,
        title=session.title,
        agent=session.agent,
        status=session.status,
        activity=session.activity,
        workspace_path=session.workspace_path,
        updated_at=session.updated_at,
    )
