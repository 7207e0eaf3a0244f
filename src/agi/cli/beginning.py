"""How a turn begins: find or make the session, say the prompt. What fails here leaves nothing behind.

Following the turn is `turn`'s business. May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from msgspec import Struct

from agi.cli.output import say
from agi.cli.place import has_sessions
from agi.client.base import Brought, Client, Posted, end_of
from agi.client.settings import ClientSettings
from agi.errors import AgiError, Invalid, NotFound
from agi.protocol.commands import Cancel, CreateSession, PostMessage
from agi.protocol.parts import InputPart, Text
from agi.protocol.sessions import Session

INTERRUPTED = "interrupted at the command line"
T = TypeVar("T")


class Wish(Struct, frozen=True, kw_only=True):
    """What was asked for."""

    prompt: str
    files: tuple[Brought, ...] = ()
    settings: ClientSettings
    agent: str | None = None
    provider: str | None = None
    model: str | None = None
    session: str | None = None
    latest: bool = False
    json: bool = False
    yes: bool = False
    timeout: float | None = None
    person: bool = False
    trusted: bool = False
    preflight: bool = False

    @property
    def is_new(self) -> bool:
        """Whether it begins a session of its own."""
        return self.session is None and not self.latest


class Begun(Struct, frozen=True, kw_only=True):
    """A turn that was asked for, and the position from where its session is of interest."""

    session_id: str
    posted: Posted
    after: str = ""


async def check(wish: Wish) -> None:
    """Raise what is wrong with a wish that is to be answered in a folder where nothing was ever asked: it stays so."""
    if has_sessions(wish.settings):
        return  # whatever is wrong will be said by the harness
    if not wish.is_new:
        raise _no_session(wish.session)
    from agi.client.inprocess import answering_model  # late: it brings the whole house, which a daemon spares us

    await answering_model(wish.settings, agent=wish.agent, provider=wish.provider, model=wish.model)


@contextmanager
def explained(wish: Wish) -> Iterator[None]:
    """Where a wish cannot be met, say first which settings do not count: that may be why."""
    try:
        yield
    except Invalid:
        from agi.client.ignored import ignored_settings  # late: only where something went wrong

        for warning in ignored_settings(wish.settings):
            say(f"note: {warning}")
        raise


async def begin(client: Client, wish: Wish) -> Begun:
    """Say the prompt in the session that was asked for; a new one is removed again if it cannot be said there."""
    if not wish.is_new:
        found = await _found(client, wish)
        return Begun(session_id=found.id, posted=await _post(client, found.id, wish), after=end_of(found))
    command = CreateSession(
        workspace_path=str(wish.settings.project), agent=wish.agent, provider=wish.provider, model=wish.model
    )
    made = await finished_or_undone(client.create_session(command), lambda one: client.delete_session(one.id))
    try:
        return Begun(session_id=made.id, posted=await _post(client, made.id, wish))
    except AgiError:
        with suppress(AgiError):
            await client.delete_session(made.id)
        raise


async def _found(client: Client, wish: Wish) -> Session:
    """The session that was named, or the latest of this folder in which something was said."""
    if wish.session is not None:
        from agi.cli.abbreviations import find_session  # late: hardly ever

        return await find_session(client, wish.session)
    project = str(wish.settings.project)
    for one in await client.sessions(limit=100):
        if one.workspace_path == project and one.last_turn_id is not None:
            return one
    raise _no_session()


async def _post(client: Client, session_id: str, wish: Wish) -> Posted:
    """Say the prompt. Where nobody can be asked, what needs asking is refused at once."""
    attached: list[InputPart] = []
    if wish.files:
        from agi.cli.attaching import attach_all  # late: hardly ever

        attached = await attach_all(client, session_id, wish.files)
    command = PostMessage(
        parts=[Text(text=wish.prompt), *attached],
        auto_run=True,
        agent=wish.agent,
        provider=wish.provider,
        model=wish.model,
        on_ask="wait" if wish.person or wish.yes else "deny",
        preflight=wish.preflight or None,
        client="cli",
    )

    def cancel(posted: Posted) -> Awaitable[None]:
        return client.cancel(session_id, Cancel(turn_id=posted.turn_id, reason=INTERRUPTED))

    return await finished_or_undone(client.post_message(session_id, command), cancel)


async def finished_or_undone(work: Awaitable[T], undo: Callable[[T], Awaitable[None]]) -> T:
    """Wait for it. Whoever interrupts just now leaves nothing behind that nobody knows of: it is undone once it is."""
    doing = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing])
        if not doing.exception():
            with suppress(AgiError):
                await undo(doing.result())
        raise


def _no_session(named: str | None = None) -> NotFound:
    left_out = "--continue" if named is None else "--session"
    return NotFound("There is no session to go on with here.", hint=f"Leave out {left_out}, or name another --project.")
