"""Carry a change out: work it out under the files' locks, see that it is the one that was approved, put it in place.

The one way in which tools change files. May import: errors, editing, workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agi.editing.drafts import Draft
from agi.editing.locks import holding
from agi.editing.refusals import stale
from agi.editing.seen import Seen, Shown
from agi.errors import AgiError, Conflict
from agi.workspace.handle import Workspace
from agi.workspace.replace import STALE

Work = Callable[[Draft], None]
"""Works a change into a draft; raises if it does not fit the files."""


def change_files(
    workspace: Workspace,
    paths: Iterable[str],
    work: Work,
    *,
    seen: Seen | None = None,
    approved: str = "",
    narrow: Work | None = None,
    notes: Path | None = None,
) -> Draft:
    """Change files together or not at all; `approved` is the digest of the only change that may be made.

    `narrow` takes out of it what was not accepted. `paths` are those the change speaks of; `notes` is the session's
    folder for changes in the making.
    """
    if notes is not None:
        workspace.put_back(notes)
    draft = Draft(workspace, seen)
    with _held(draft, paths):
        work(draft)
        if approved and draft.digest() != approved:
            raise _not_as_approved(draft)
        if narrow is not None:
            narrow(draft)
        try:
            workspace.replace_all(draft.changes(), notes=notes)
        except Conflict as error:
            raise _changed_meanwhile(draft, error) if error.code == STALE else error from None
        _remember(draft)
    return draft


@contextmanager
def _held(draft: Draft, paths: Iterable[str]) -> Iterator[None]:
    """Hold the locks of all files that are named, by where they really are."""
    places = []
    for path in paths:
        try:
            places.append(f"{draft.workspace.root}/{draft.locate(path)}")
        except AgiError:
            continue  # working the change out will say what is wrong with it
    with holding(places):
        yield


def _remember(draft: Draft) -> None:
    """The session knows what it wrote; of a file it saw only parts of, it knows no more than before."""
    seen = draft.seen
    if seen is None:
        return
    known: dict[str, tuple[str, Shown | None]] = {}
    for place in draft.changed():
        digest = draft.states(place)[1].digest()
        origin = draft.states(place)[1].moved_from or place
        before = draft.states(origin)[0]
        if digest is not None and (before.data is None or seen.digest(origin) == before.digest()):
            known[place] = digest, None if before.data is None or seen.unshown(origin) is None else Shown()
    for place in draft.changed():
        if draft.states(place)[1].digest() is None:
            seen.forget(place)
    for place, (digest, shown) in known.items():
        seen.note(place, digest, shown=shown)


def _not_as_approved(draft: Draft) -> Conflict:
    message = "The files changed since this change was approved, so it would no longer do the same."
    hint = "Nothing was changed. Read the files again, and propose the change anew."
    return Conflict(
        f"{message} It is about: {', '.join(draft.places()[:10])}.", hint=hint, code="changed_since_approval"
    )


def _changed_meanwhile(draft: Draft, error: Conflict) -> Conflict:
    """Show how the file that came between begins now."""
    for place in draft.changed():
        fresh = Draft(draft.workspace)
        try:
            state = fresh.look(place)
            if state.digest() != draft.states(place)[0].digest() and state.data is not None:
                return stale(fresh.document(place, place, state).lines, error.message, code=STALE)
        except (AgiError, OSError):
            continue
    return error
