"""`agi undo`: take back what a session did, after showing what that means.

May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from agi.cli import exits
from agi.cli.display import exact, exact_lines, line
from agi.cli.latest import with_session
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.cli.questions import ask_line, someone_is_there
from agi.client.base import Client
from agi.errors import ConfigError, Conflict
from agi.protocol.checkpoints import FileChange, RevertConflict, Reverted, RevertWhat
from agi.protocol.commands import Revert
from agi.protocol.sessions import Session

LISTED = 50
LINES = 400
WHATS: dict[str, RevertWhat] = {"--files": "files", "--conversation": "conversation", "--both": "both"}
_WHY = {
    "changed_since": "changed since, by you or another program",
    "changed_between": "changed by you or another program in between",
    "changed_elsewhere": "possibly changed by another session at the same time",
    "during_command": "changed while a command ran, perhaps by you",
    "interrupted": "changed while a command was cut off, so nobody can tell by whom",
}


def undo(arguments: Arguments) -> int:
    """Show what would be taken back, ask, and do it."""
    if sum(arguments.has(name) for name in WHATS) > 1:
        raise usage("undo", "One of --files, --conversation and --both.")
    words = [*arguments.words, *(arguments.after or ())]
    if arguments.has("--force") and not words:
        raise usage("undo", "--force needs the names of the files it is about.")
    return asyncio.run(with_session(arguments, _undo))


async def _undo(client: Client, session: Session, arguments: Arguments) -> int:
    command = _command(session, arguments)
    preview = await client.revert(session.id, msgspec.structs.replace(command, preview=True))
    only_looking = arguments.has("--preview") or (arguments.has("--json") and not arguments.has("--yes"))
    if arguments.has("--json"):
        if only_looking:
            put(msgspec.json.encode(preview).decode() + "\n")
            return exits.OK
    else:
        for text in told(session, preview):
            say(text)
    if only_looking:
        return exits.OK
    refused = _refused(command, preview)
    if refused and not arguments.has("--yes") and await _is_meant_too(refused):
        command = msgspec.structs.replace(command, force=[*(command.force or ()), *(one.path for one in refused)])
        preview = await client.revert(session.id, msgspec.structs.replace(command, preview=True))
        for text in told(session, preview):
            say(text)
        refused = _refused(command, preview)
    if refused:
        hint = "Name the files to take back: `agi undo FILE …`; with --force also those that are in the way."
        raise Conflict("Nothing was taken back: somebody else's work is in the way.", hint=hint, code="files_changed")
    if not preview.files and not preview.messages:
        return exits.FAILED if preview.unrestored else exits.OK
    if not arguments.has("--yes") and not await _confirmed(preview):
        say("Nothing was taken back.")
        return exits.FAILED
    done = await client.revert(session.id, msgspec.structs.replace(command, plan=preview.plan))
    put(msgspec.json.encode(done).decode() + "\n" if arguments.has("--json") else _done(done))
    return exits.OK


def _command(session: Session, arguments: Arguments) -> Revert:
    words = [*arguments.words, *(arguments.after or ())]
    what: RevertWhat = next((WHATS[name] for name in WHATS if arguments.has(name)), "files")
    return Revert(
        to=arguments.get("--to") or session.last_turn_id or "start",
        what=what,
        paths=words or None,
        force=words if arguments.has("--force") else None,
    )


def told(session: Session, preview: Reverted) -> Iterator[str]:
    """What would be taken back, what is in the way, and what cannot be."""
    yield f"Session {session.id} ({line(session.title or 'untitled', 60)}), back to {exact(preview.to)}:"
    for file in preview.files[:LISTED]:
        yield f"  {_file(file)}"
    if preview.summary["files"] > LISTED:
        yield f"  … and {preview.summary['files'] - LISTED} more"
    if preview.messages:
        yield f"  {preview.messages} {'message leaves' if preview.messages == 1 else 'messages leave'} the conversation"
    for conflict in preview.conflicts[:LISTED]:
        yield f"  in the way: {_conflict(conflict)}"
    if len(preview.conflicts) > LISTED:
        yield f"  … and {len(preview.conflicts) - LISTED} more in the way"
    for one in preview.unrestored[:LISTED]:
        yield f"  stays as it is: {exact(one.path)}. {one.reason}"
    if len(preview.unrestored) > LISTED:
        yield f"  … and {len(preview.unrestored) - LISTED} more that stay as they are"
    if not preview.files and not preview.messages and not preview.conflicts:
        yield "  There is nothing to take back."


def _refused(command: Revert, preview: Reverted) -> list[RevertConflict]:
    return [one for one in preview.conflicts if one.path not in (command.force or ())]


async def _is_meant_too(refused: Sequence[RevertConflict]) -> bool:
    """Ask about files of which nobody can tell whose they are; what is somebody else's for certain, or was not
    shown, must be named.
    """
    if len(refused) > LISTED or any(one.reason != "during_command" for one in refused) or not someone_is_there():
        return False
    what, them = ("1 file", "it") if len(refused) == 1 else (f"{len(refused)} files", "them")
    question = f"{what} may hold your own work. Take {them} back as well? [y]es · [n]o: "
    return ((await ask_line(question)) or "n").lower() in ("y", "yes")


async def _confirmed(preview: Reverted) -> bool:
    if not someone_is_there():
        raise ConfigError("Nobody is there to confirm it.", hint="Use --yes if you mean it, or --preview to look.")
    while True:
        answer = ((await ask_line("Do it? [y]es · [d]iff · [n]o: ")) or "n").lower()
        if answer not in ("d", "diff"):
            return answer in ("y", "yes")
        lines = [one for file in preview.files for one in exact_lines(file.artifact.patch.rstrip("\n"))]
        for text in lines[:LINES]:
            say(text)
        if len(lines) > LINES:
            say(f"… {len(lines) - LINES} more lines")


def _file(file: FileChange) -> str:
    """What would happen to a file; a rename is told by both names."""
    name = f"{exact(file.old_path)} → {exact(file.path)}" if file.old_path else exact(file.path)
    counts = file.artifact.summary or {}
    size = "binary" if file.binary else f"+{counts.get('additions', 0)} -{counts.get('deletions', 0)}"
    verb = {"added": "brought back", "deleted": "removed", "renamed": "moved back"}.get(file.status, "changed back")
    return f"{verb:12}  {name}  ({size})"


def _conflict(conflict: RevertConflict) -> str:
    by = f" by session {conflict.session_id}" if conflict.session_id else ""
    why = "changed since" if by and conflict.reason == "changed_since" else _WHY[conflict.reason]
    return f"{exact(conflict.path)} ({why}{by})"


def _done(done: Reverted) -> str:
    files = done.summary["files"]
    parts = [f"{files} {'file' if files == 1 else 'files'}"] if files else []
    parts += [f"{done.messages} {'message' if done.messages == 1 else 'messages'}"] if done.messages else []
    flag = next(name for name, what in WHATS.items() if what == done.what)
    redo = f"agi undo {flag} --session {done.session_id} --to {done.redo}"
    return f"Taken back: {', '.join(parts)}. To bring it back:\n  {redo}\n"
