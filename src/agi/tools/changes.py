"""What the tools that change files do: work a change out, show it before, carry it out, tell it afterwards.

The whole edit engine hangs on this file, so tools import it when they are first called. May import: editing, protocol,
tools, workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UNSET, Struct

from agi.editing.changing import Work, change_files
from agi.editing.drafts import Draft
from agi.editing.ladder import RUNG_NAMES
from agi.editing.patches import paths_of
from agi.editing.reading import read_patch
from agi.editing.reports import Told, diff, told
from agi.editing.sections import take_patch
from agi.editing.texts import edit_text, write_text
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolResult
from agi.tools.accepting import Part, hunks_of
from agi.tools.base import UNFINISHED, Preview, ToolContext
from agi.tools.output import diff_artifact, printable
from agi.tools.threads import in_thread
from agi.workspace.handle import Workspace

_MOST_LINES = 20


class Operation(Struct, frozen=True):
    """A change that a call asks for: which files it speaks of, how it is worked out, how its outcome is told."""

    paths: Sequence[str]
    work: Work
    tell: Callable[[Draft], tuple[str, Json]]


def patching(workspace: Workspace, patch: str) -> Operation:
    """A patch applied."""
    sections = read_patch(patch, workspace.exists)
    paths = [path for section in sections for path in paths_of(section)]
    return Operation(paths, lambda draft: take_patch(draft, sections), _tell_patch)


def editing(path: str, old: str, new: str, *, everywhere: bool) -> Operation:
    """A piece of text replaced."""
    return Operation(
        [path],
        lambda draft: edit_text(draft, path, old, new, everywhere=everywhere),
        lambda draft: _tell_edit(draft, draft.locate(path)),
    )


def writing(path: str, content: str) -> Operation:
    """A file given its whole content."""
    return Operation(
        [path], lambda draft: write_text(draft, path, content), lambda draft: _tell_write(draft, path, content)
    )


def proposed(workspace: Workspace, operation: Operation, after: Preview | None) -> Preview:
    """Show the change that would be made, and name it, so that no other can be made in its place."""
    before = after.outcome if after is not None else None
    draft = Draft(workspace, over=before if isinstance(before, Draft) else None)
    operation.work(draft)
    return Preview(printable(diff(draft)), draft.digest(), hunks_of(draft), draft)


async def carried_out(context: ToolContext, call: ToolCall, make: Callable[[], Operation]) -> ToolResult:
    """Change the files; in a thread, since making them durable takes its time and others want to go on.

    It counts as a change only if bytes or permissions are others than before.
    """
    part = None if context.accepted is None else Part(context.accepted, context.remark)
    operation, draft = await in_thread(lambda _: _carry_out(context, make(), part))
    text, facts = operation.tell(draft) if part is None else part.tell(draft)
    changed = bool(draft.changed())
    return ToolResult(
        id=call.id,
        ok=True,
        parts=(Text(text=printable(text)),),
        result=facts,
        artifact=diff_artifact(context, diff(draft)) if changed else UNSET,
        changed=changed,
    )


def _carry_out(context: ToolContext, operation: Operation, part: Part | None) -> tuple[Operation, Draft]:
    draft = change_files(
        context.workspace,
        operation.paths,
        operation.work,
        seen=context.seen,
        approved=context.approved,
        narrow=None if part is None else part.narrow,
        notes=context.artifacts.parent.parent / UNFINISHED,
    )
    return operation, draft


def _tell_patch(draft: Draft) -> tuple[str, Json]:
    files = told(draft)
    head = "Changed:" if draft.changed() else "Nothing to change: the files already are as the patch wants them."
    facts: Json = {"files": [{**one.facts(), "path": printable(one.path)} for one in files]}
    return "\n".join([head, *(one.text() for one in files)]), facts


def _tell_edit(draft: Draft, place: str) -> tuple[str, Json]:
    (one,) = told(draft) or [Told("=", place)]
    if not draft.changed():
        return f"Nothing to change: {place} already has the new text.", one.facts()
    found = draft.found[place]
    lines = ", ".join(str(one.at + 1) for one in found[:_MOST_LINES]) + ("…" if len(found) > _MOST_LINES else "")
    how = f", found {RUNG_NAMES[found[0].rung]}" if found[0].rung else ""
    note = f" The file {one.note}." if one.note else ""
    return f"Edited {place} at line{'s' * (len(found) > 1)} {lines}{how}.{note}", one.facts()


def _tell_write(draft: Draft, path: str, content: str) -> tuple[str, Json]:
    before, after = draft.states(draft.locate(path))
    name, data = draft.workspace.relative(path), after.data or b""
    verb = "Created" if before.data is None else "Replaced" if draft.changed() else "Left as it was:"
    kept = " Its line endings were kept." if "\r" not in content and b"\r" in data else ""
    return f"{verb} {name} ({len(data)} bytes).{kept}", {"path": name, "bytes": len(data)}
