"""`agi queue` and `agi steer`: what waits in a session, and telling the turn that runs something at its next step.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio

import msgspec

from agi.cli import exits
from agi.cli.display import line
from agi.cli.latest import with_session
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.client.base import Client
from agi.errors import Conflict, NotFound
from agi.protocol.commands import EditMessage, PostMessage
from agi.protocol.parts import Text
from agi.protocol.sessions import QueuedMessage, Session

ACTIONS = {"edit": 3, "steer": 2, "drop": 2}
"""What can be done with a row, and how many words that takes."""


def queue(arguments: Arguments) -> int:
    """List what waits, or do something with one of its rows."""
    words = arguments.only(0, 1, 2, 3)
    action = words[0] if words and words[0] in ACTIONS else ""
    if not action and len(words) > 1:
        raise usage("queue", f"There is no `agi queue {words[0][:40]}`.")
    if action and len(words) != ACTIONS[action]:
        raise usage(
            "queue", f"`agi queue {action}` needs the number of a row{' and a text' if action == 'edit' else ''}."
        )
    if action and not (words[1].isascii() and words[1].isdigit() and int(words[1][:9]) > 0):
        raise usage("queue", f"{words[1][:40]!r} is no number of a row.")
    if words and not action and arguments.has("--session"):
        raise usage("queue", "The session is named twice.")
    named = words[0] if words and not action else ""
    return asyncio.run(with_session(arguments, _change if action else _list, named=named))


def steer(arguments: Arguments) -> int:
    """Tell the running turn something."""
    (text,) = arguments.only(1)
    if not text.strip():
        raise usage("steer", "There is nothing to say.")
    return asyncio.run(with_session(arguments, _steer))


async def _list(client: Client, session: Session, arguments: Arguments) -> int:
    rows = await client.queue(session.id)
    if arguments.has("--json"):
        put(msgspec.json.encode(rows).decode() + "\n")
        return exits.OK
    for number, row in enumerate(rows, 1):
        put(_told(number, row))
    if not rows:
        say("Nothing waits in this session.")
    return exits.OK


async def _change(client: Client, session: Session, arguments: Arguments) -> int:
    action, number, *rest = arguments.only(2, 3)
    rows = await client.queue(session.id)
    if int(number[:9]) > len(rows):
        raise NotFound(f"There is no row {number[:9]}: {len(rows)} wait.", hint="`agi queue` lists them.")
    row = rows[int(number) - 1]
    if action == "drop":
        await client.drop_queued(session.id, row.message_id)
        say(f"Dropped: {line(row.text, 200)}")
        return exits.OK
    if action == "edit":
        done = await client.edit_queued(session.id, row.message_id, _edited(row, rest[0]))
    else:
        done = await client.steer_queued(session.id, row.message_id)
    put(msgspec.json.encode(done).decode() + "\n" if arguments.has("--json") else _told(int(number), done))
    return exits.OK


def _edited(row: QueuedMessage, text: str) -> EditMessage:
    """Other words, with the files that went along."""
    return EditMessage(parts=[Text(text=text), *(part for part in row.parts if not isinstance(part, Text))])


async def _steer(client: Client, session: Session, arguments: Arguments) -> int:
    if session.activity == "idle":
        raise Conflict(
            "Nothing runs in this session.", code="nothing_to_steer", hint='Ask it something: agi --continue "…"'
        )
    said = PostMessage(parts=[Text(text=arguments.only(1)[0])], auto_run=True, mode="steer", client="cli")
    posted = await client.post_message(session.id, said)
    if arguments.has("--json"):
        put(msgspec.json.encode(posted).decode() + "\n")
    else:
        say("The agent is told at its next step; if it ends before, this is answered next.")
    return exits.OK


def _told(number: int, row: QueuedMessage) -> str:
    how = "steers" if row.mode == "steer" else "queued"
    return f"{number:2}. {how}  {line(row.text, 200)}\n"
