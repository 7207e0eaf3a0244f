"""`agi sessions`: list, show, export and remove a project's sessions. May import: errors, protocol, client, cli."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec
from msgspec import Struct

from agi.cli import exits
from agi.cli.abbreviations import find_session
from agi.cli.display import exact, line
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put, put_bytes, say, write
from agi.cli.place import has_sessions, place
from agi.cli.questions import ask_line, someone_is_there
from agi.cli.sources import events_so_far
from agi.cli.times import local_time
from agi.cli.transcript import transcript
from agi.client.base import Client
from agi.client.find import open_client
from agi.counts import counted
from agi.errors import ConfigError, NotFound, StorageError
from agi.protocol.reading import reader
from agi.protocol.sessions import Session

Action = Callable[[Client, Arguments, str], Awaitable[int]]
LIMIT = 20
FORMATS = ("ndjson", "cassette", "markdown")


class _Head(Struct, frozen=True):
    """As much of a cassette's first line as is told of it."""

    events: int


_decode_head: Callable[[bytes], _Head] = reader(_Head)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def sessions(arguments: Arguments) -> int:
    """Do what the first word says; without one, list."""
    words = arguments.only(0, 1, 2)
    name = words[0] if words else "list"
    if name not in ACTIONS:
        error = usage("sessions", f"There is no `agi sessions {name[:40]}`.")
        error.hint = nearest(name, ACTIONS) + error.hint
        raise error
    if (len(words) == 2) == (name == "list"):
        what = "takes no session" if name == "list" else "needs the id of a session"
        raise usage("sessions", f"`agi sessions {name}` {what}.")
    return asyncio.run(_run(arguments, name, words[1] if len(words) == 2 else ""))


async def _run(arguments: Arguments, name: str, session_id: str) -> int:
    settings = place(arguments)
    if not has_sessions(settings):
        if session_id:
            raise NotFound(f"There are no sessions in {settings.project}.", hint="Name the folder with --project.")
        put("[]\n" if arguments.has("--json") else "No sessions yet.\n")
        return exits.OK
    client = await open_client(settings)
    try:
        return await ACTIONS[name](client, arguments, session_id)
    finally:
        await client.close()


async def _list(client: Client, arguments: Arguments, _none: str) -> int:
    limit = int(arguments.number("--limit", least=1, most=1000) or LIMIT)
    found = await client.sessions(limit=limit)
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    for one in found:
        mark = "⑂ " if one.forked_from else ""
        put(f"{one.id}  {local_time(one.updated_at)}  {one.status:16}  {mark}{line(one.title or '', 60)}\n")
    if not found:
        put("No sessions yet.\n")
    return exits.OK


async def _show(client: Client, arguments: Arguments, session_id: str) -> int:
    session = await find_session(client, session_id)
    messages = await client.messages(session.id)
    if arguments.has("--json"):
        put(msgspec.json.encode({"session": session, "messages": messages}).decode() + "\n")
        return exits.OK
    for text in transcript(session, messages, ids=arguments.has("--ids")):
        put(text)
    return exits.OK


async def _export(client: Client, arguments: Arguments, session_id: str) -> int:
    session = await find_session(client, session_id)
    path = arguments.get("--output")
    format = _format(arguments)
    if format != "ndjson":
        return await _export_file(client, session, format, path)
    if path is None:
        await _each_event(client, session, put_bytes)
        return exits.OK
    descriptor = _create(path)
    try:
        count = await _each_event(client, session, lambda data: _write(descriptor, data, path))
    finally:
        os.close(descriptor)
    say(f"{counted(count, 'event')} written to {exact(path)}")
    return exits.OK


def _format(arguments: Arguments) -> str:
    format = arguments.get("--format") or ("cassette" if arguments.has("--cassette") else "ndjson")
    if format not in FORMATS:
        raise usage("sessions", f"--format is one of {', '.join(FORMATS)}.")
    if arguments.has("--cassette") and format != "cassette":
        raise usage("sessions", f"--cassette is one format and --format {format} another: leave one out.")
    return format


async def _export_file(client: Client, session: Session, format: str, path: str | None) -> int:
    """A file that is made as a whole; nothing is created before it is."""
    data = await client.export(session.id, format)
    if path is None:
        put_bytes(data)
        return exits.OK
    descriptor = _create(path)
    try:
        _write(descriptor, data, path)
    finally:
        os.close(descriptor)
    what = counted(_decode_head(data.partition(b"\n")[0]).events, "event") if format == "cassette" else "Conversation"
    say(f"{what} written to {exact(path)}")
    return exits.OK


async def _each_event(client: Client, session: Session, take: Callable[[bytes], None]) -> int:
    """How many there were."""
    count = 0
    async with aclosing(events_so_far(client, session)) as events:
        async for event in events:
            take(event.envelope() + b"\n")
            count += 1
    return count


def _write(descriptor: int, data: bytes, path: str) -> None:
    try:
        write(descriptor, data)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.", hint="It is not complete.") from error


def _create(path: str) -> int:
    try:
        return os.open(path, _NEW_FILE, 0o600)
    except FileExistsError as error:
        raise ConfigError(f"{path} exists already.", hint="Name another file, or remove it first.") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", hint="Name another file.") from error


async def _rm(client: Client, arguments: Arguments, session_id: str) -> int:
    session = await find_session(client, session_id)
    if not arguments.has("--yes"):
        if not someone_is_there():
            raise ConfigError("Nobody is there to confirm the removal.", hint="Use --yes if you mean it.")
        answer = await ask_line(
            f"Remove {session.id} ({line(session.title or 'untitled', 60)}) for good? [y]es · [n]o: "
        )
        if (answer or "").lower() not in ("y", "yes"):
            say("Nothing was removed.")
            return exits.FAILED
    await client.delete_session(session.id)
    put(f"Removed: {session.id}\n")
    return exits.OK


ACTIONS: dict[str, Action] = {"list": _list, "show": _show, "export": _export, "rm": _rm}
"""What can be done with sessions, by its word."""
