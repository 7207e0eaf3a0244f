"""`agi gc`: what takes room, and making some. May import: counts, errors, protocol, client, cli."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from agi.cli import exits
from agi.cli.display import exact, line
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.cli.place import has_sessions, place
from agi.cli.questions import ask_line, someone_is_there
from agi.cli.times import local_time
from agi.client.base import Client
from agi.client.find import open_client
from agi.counts import counted
from agi.errors import ConfigError
from agi.protocol.commands import CollectGarbage
from agi.protocol.storage import Collected, StorageUse

LISTED = 50
_AGE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(h|d|w)?", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(B|KB|MB|GB|TB)?", re.ASCII | re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_KINDS = (
    ("database", "the log and its tables"),
    ("mirrors", "readable copies of the log"),
    ("attachments", "files that were sent"),
    ("artifacts", "files that tools made"),
    ("checkpoints", "what changes can be taken back with"),
    ("other", "everything else"),
)


def gc(arguments: Arguments) -> int:
    """Say what there is, and make room."""
    arguments.only(0)
    return asyncio.run(_gc(arguments, command_of(arguments)))


async def _gc(arguments: Arguments, command: CollectGarbage) -> int:
    settings = place(arguments)
    if not has_sessions(settings):
        put("null\n" if arguments.has("--json") else "No sessions yet.\n")
        return exits.OK
    client = await open_client(settings)
    try:
        if not command.dry_run and not arguments.has("--yes") and not await _agreed(client, command):
            say("Nothing was removed.")
            return exits.FAILED
        done = await client.collect_garbage(command)
    finally:
        await client.close()
    if arguments.has("--json"):
        put(msgspec.json.encode(done).decode() + "\n")
    else:
        for text in told(done):
            put(f"{text}\n")
    return exits.OK


async def _agreed(client: Client, command: CollectGarbage) -> bool:
    """Whether somebody said yes to the sessions that would go; where none would, nobody is asked."""
    found = await client.collect_garbage(replace(command, dry_run=True))
    if not found.sessions:
        return True
    if not someone_is_there():
        many = f"{len(found.sessions)} session{'s' if len(found.sessions) > 1 else ''} would be removed for good"
        hint = "Look with --dry-run; --yes removes them."
        raise ConfigError(f"{many}, and nobody is there to confirm it.", hint=hint)
    for text in told(found):
        say(text)
    count = f"{len(found.sessions)} of {counted(found.before.sessions, 'session')}"
    answer = await ask_line(f"Remove {count} for good? [y]es · [n]o: ")
    return (answer or "").lower() in ("y", "yes")


def command_of(arguments: Arguments) -> CollectGarbage:
    """What the options ask for."""
    keep = arguments.number("--keep", least=0, most=10**9)
    return CollectGarbage(
        dry_run=arguments.has("--dry-run"),
        older_than_days=days(arguments.get("--older-than")),
        max_bytes=size(arguments.get("--max-size")),
        keep_sessions=None if keep is None else int(keep),
    )


def days(text: str | None) -> float | None:
    """An age such as `90d`, `12h` or `2w`; a number alone is days."""
    if text is None:
        return None
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise usage("gc", f"{text[:40]!r} is no age; write 90d, 12h or 2w.")
    return float(found[1]) * _DAYS[found[2] or "d"]


def size(text: str | None) -> int | None:
    """A size such as `2GB` or `500MB`; a number alone is bytes."""
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise usage("gc", f"{text[:40]!r} is no size; write 2GB or 500MB.")
    return int(float(found[1]) * _BYTES[(found[2] or "B").upper()])


def told(done: Collected) -> Iterator[str]:
    """What is there, what went or would go, and what stayed."""
    yield from _use(done.before)
    would = "would be removed" if done.dry_run else "removed"
    for one in done.sessions[:LISTED]:
        why = "old" if one.reason == "age" else "room"
        size_of = f"{amount(one.bytes):>9}"
        yield f"{would}: {one.id}  {local_time(one.updated_at)}  {size_of}  {why}  {line(one.title or '', 40)}"
    if len(done.sessions) > LISTED:
        yield f"… and {len(done.sessions) - LISTED} more sessions"
    if done.leftovers:
        count, room = len(done.leftovers), amount(sum(one.bytes for one in done.leftovers))
        yield f"{would}: {count} {'thing' if count == 1 else 'things'} that a stopped process left behind, {room}"
    if done.in_use:
        yield f"{done.in_use} {'session stays' if done.in_use == 1 else 'sessions stay'}: at work just now"
    for name in done.unknown[:LISTED]:
        yield f"not in the database: sessions/{exact(name)}; `agi repair --from-mirrors` takes it up"
    if not done.sessions and not done.leftovers:
        yield "Nothing is to be removed." if done.dry_run else "Nothing was removed."
    if not done.dry_run:
        freed = max(0, done.before.total - done.after.total)
        yield f"{amount(freed)} given back; {amount(done.after.total)} in use now."


def _use(use: StorageUse) -> Iterator[str]:
    yield f"{use.sessions} {'session' if use.sessions == 1 else 'sessions'}, {amount(use.total)}"
    for name, what in _KINDS:
        free = f", {amount(use.reusable)} of it free" if name == "database" and use.reusable else ""
        yield f"  {name:12} {amount(getattr(use, name)):>9}  {what}{free}"


def amount(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
