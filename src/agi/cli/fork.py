"""`agi fork`: another session that begins with what was said in one. May import: errors, protocol, client, cli."""

from __future__ import annotations

import asyncio

import msgspec

from agi.cli import exits
from agi.cli.display import line
from agi.cli.latest import with_session
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.client.base import Client
from agi.protocol.commands import ForkSession
from agi.protocol.sessions import Session

LONGEST_NUMBER = 15


def fork(arguments: Arguments) -> int:
    """Make the fork and say what it is called."""
    words = arguments.only(0, 1)
    if words and arguments.has("--session"):
        raise usage("fork", "A session by its place or by --session, not both.")
    return asyncio.run(with_session(arguments, _fork, named=words[0] if words else ""))


async def _fork(client: Client, session: Session, arguments: Arguments) -> int:
    made = await client.fork_session(session.id, command_of(arguments))
    if arguments.has("--json"):
        put(msgspec.json.encode(made).decode() + "\n")
        return exits.OK
    put(f"{made.id}\n")
    say(f"Forked from {session.id} ({line(session.title or 'untitled', 60)}). To go on with it:")
    say(f'  agi --session {made.id} "…"')
    say("If files were changed since, this shows them as they were then, and brings them back:")
    say(f"  agi undo --session {made.id} --to fork")
    return exits.OK


def command_of(arguments: Arguments) -> ForkSession:
    """What the options ask for; the point is a message, a turn or the number of an event."""
    at = arguments.get("--at") or ""
    is_number = at.isascii() and at.isdigit() and len(at) <= LONGEST_NUMBER and int(at) > 0
    if at and not is_number and not at.startswith(("msg_", "turn_")):
        raise usage("fork", f"{at[:80]!r} is neither a message (msg_…) nor a turn (turn_…) nor an event's number.")
    return ForkSession(
        message_id=at if at.startswith("msg_") else None,
        turn_id=at if at.startswith("turn_") else None,
        seq=int(at) if is_number else None,
        before=arguments.has("--before"),
        title=arguments.get("--title"),
        agent=arguments.get("--agent"),
        provider=arguments.get("--provider"),
        model=arguments.get("--model"),
    )
