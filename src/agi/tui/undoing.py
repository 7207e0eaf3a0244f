"""`/undo`: take back what a turn did to files, after showing what that means. May import: errors, protocol, tui."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agi.errors import Conflict, Invalid
from agi.protocol.checkpoints import FileChange, Reverted
from agi.protocol.commands import Revert
from agi.protocol.showing import exact
from agi.tui.pages import diff_page
from agi.tui.reports import counted

if TYPE_CHECKING:
    from agi.tui.app import AgiApp
    from agi.tui.desk import Desk

LISTED = 50


async def undo(app: AgiApp, desk: Desk, turn: str) -> None:
    """Show what would be taken back, ask, and do exactly that."""
    if desk.standing is None:
        raise Invalid("No session is open.", hint="Choose one with /sessions.")
    if desk.standing.is_busy:
        raise Conflict("A turn is running.", hint="Stop it first: esc esc.")
    session = await desk.client.session(desk.session_id)
    point = turn or session.last_turn_id
    if not point:
        raise Invalid("There is nothing to take back: nothing was asked yet.")
    command = Revert(to=point, what="files")
    preview = await desk.client.revert(session.id, replace(command, preview=True))
    if not preview.files:
        app.hint("That turn changed no files that can be brought back.", 5.0)
        return
    patch = "".join(file.artifact.patch for file in preview.files)
    page = diff_page("Take this back?", patch, app.palette, before=_described(preview), ask=True)
    if await app.push_screen_wait(page) != "yes":
        app.hint("Nothing was changed.")
        return
    if preview.conflicts:
        names = " ".join(exact(one.path) for one in preview.conflicts)
        raise Conflict(
            "Files hold somebody else's work, so nothing was taken back.",
            hint=f"If it is meant: agi undo --session {session.id} --to {point} --force {names}"[:500],
        )
    done = await desk.client.revert(session.id, replace(command, plan=preview.plan or None))
    redo = f" To bring it back: /undo {done.redo}" if done.redo else ""
    app.tell(f"↶ Taken back: {counted(done.summary)}.{redo}")


def _described(preview: Reverted) -> str:
    """What would happen to each file, and what stands against it."""
    told = [f"{counted(preview.summary)} would be as they were before:"]
    told += [_file(file) for file in preview.files[:LISTED]]
    if len(preview.files) > LISTED:
        told.append(f"… and {len(preview.files) - LISTED} more")
    if preview.conflicts:
        told.append("\nIn the way, because somebody else changed them too:")
        told += [f"  {exact(one.path)} ({one.reason.replace('_', ' ')})" for one in preview.conflicts[:LISTED]]
    if preview.unrestored:
        told.append("\nNot brought back:")
        told += [f"  {exact(one.path)}: {exact(one.reason)}" for one in preview.unrestored[:LISTED]]
    return "\n".join([*told, "", ""])


def _file(file: FileChange) -> str:
    counts = file.artifact.summary or {}
    size = "binary" if file.binary else f"+{counts.get('additions', 0)} −{counts.get('deletions', 0)}"
    verb = {"added": "brought back", "deleted": "removed", "renamed": "moved back"}.get(file.status, "changed back")
    return f"  {verb:12}  {exact(file.path)}  ({size})"
