"""`agi compact`: make a session's conversation shorter for the model, or undo that.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio

import msgspec

from agi.cli import exits
from agi.cli.latest import with_session
from agi.cli.options import Arguments, usage
from agi.cli.output import put
from agi.client.base import Client
from agi.protocol.commands import Compact
from agi.protocol.compaction import Compacted
from agi.protocol.sessions import Session

LONGEST_FOCUS = 2000


def compact(arguments: Arguments) -> int:
    """Do it, and say how much shorter it is."""
    words = arguments.only(0, 1)
    if words and arguments.has("--session"):
        raise usage("compact", "The session is named twice.")
    if arguments.has("--undo") and arguments.has("--focus"):
        raise usage("compact", "Undoing has no focus.")
    if len(arguments.get("--focus") or "") > LONGEST_FOCUS:
        raise usage("compact", f"A focus has at most {LONGEST_FOCUS} characters.")
    return asyncio.run(with_session(arguments, _compact, named=words[0] if words else ""))


async def _compact(client: Client, session: Session, arguments: Arguments) -> int:
    command = Compact(focus=arguments.get("--focus") or "", undo=arguments.has("--undo"))
    done = await client.compact(session.id, command)
    put(msgspec.json.encode(done).decode() + "\n" if arguments.has("--json") else f"{told(done)}\n")
    return exits.OK


def told(done: Compacted) -> str:
    """What came of it, for people."""
    if done.status == "queued":
        return "A turn is running: the conversation is compacted before its model is asked next."
    sizes = f"about {done.pre_tokens:,} tokens before, {done.post_tokens:,} after"
    if done.status == "undone":
        return f"Undone: the model is told again what it was told before ({sizes})."
    by = f"summed up by {done.summarised_by}" if done.summarised_by else "without a model's summary"
    gone = f"{done.dropped.messages} messages and {done.dropped.outputs} outputs left out, {by}"
    return f"Compacted: {sizes}; {gone}.\nTo undo it: agi compact {done.session_id} --undo"
