"""`agi diff`: what a session changed in its files. May import: errors, protocol, client, cli."""

from __future__ import annotations

import asyncio

import msgspec

from agi.cli import exits
from agi.cli.display import Screen, exact
from agi.cli.latest import with_session
from agi.cli.options import Arguments, usage
from agi.cli.output import STDOUT, is_terminal, put, say
from agi.client.base import Client
from agi.protocol.checkpoints import FileChange
from agi.protocol.sessions import Session


def diff(arguments: Arguments) -> int:
    """Print the changes as one unified diff."""
    arguments.only(0)
    if arguments.has("--turn") and (arguments.has("--from") or arguments.has("--to")):
        raise usage("diff", "--turn, or --from and --to: not both.")
    return asyncio.run(with_session(arguments, _diff))


async def _diff(client: Client, session: Session, arguments: Arguments) -> int:
    found = await client.diff(
        session.id,
        turn=arguments.get("--turn") or "",
        start=arguments.get("--from") or "",
        end=arguments.get("--to") or "",
    )
    if arguments.has("--json"):
        put(msgspec.json.encode(found).decode() + "\n")
        return exits.OK
    show = Screen().show if is_terminal(STDOUT) else str
    for file in found.files:
        put(show(file.artifact.patch) if file.artifact.patch else "")
    for text in unshown(found.files):
        say(text)
    if not found.files:
        say(f"{session.id} changed no files{' in that turn' if arguments.has('--turn') else ''}.")
    return exits.OK


def unshown(files: tuple[FileChange, ...]) -> list[str]:
    """What a diff does not tell by itself."""
    long = [exact(file.path) for file in files if not file.artifact.patch]
    shared = [exact(file.path) for file in files if file.by_others]
    told = [f"Too long to be shown: {', '.join(long[:10])}{' …' if len(long) > 10 else ''}"] if long else []
    if shared:
        told.append(f"Changed by others too: {', '.join(shared[:10])}{' …' if len(shared) > 10 else ''}")
    return told
