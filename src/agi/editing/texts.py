"""Work texts into a draft: a file's whole new content, or a piece of it replaced.

May import: errors, editing.
"""

from __future__ import annotations

import msgspec

from agi.editing.drafts import Draft, State, too_large
from agi.editing.encodings import Encoding, declared_in, encode
from agi.editing.placing import Placed
from agi.editing.refusals import ambiguous, stale, without_text
from agi.editing.replacing import find_text, plain, replace_found, rewritten
from agi.errors import Conflict, Invalid, TooLarge

_MARK = "\ufeff"
_TELLING = 12


def write_text(draft: Draft, path: str, content: str) -> None:
    """Give a file its whole content; one that is there must be as the session was last shown it."""
    place = draft.locate(path)
    state = draft.look(place)
    if state.size:
        raise too_large(path, state.size)
    if draft.seen is not None and state.data and draft.seen.digest(place) is None:
        raise _unread(draft, path, place, state)
    refuse_stale(draft, path, place, state)
    put_text(draft, path, place, content)


def put_text(draft: Draft, path: str, place: str, content: str) -> None:
    """Give a place its whole content, written as the file there is written: endings, mark and encoding."""
    state = draft.look(place)
    try:
        document = None if state.data is None else draft.document(path, place, state)
    except Invalid:
        document = None  # no text so far: nothing of its ways can be kept
    if document is None:
        draft.put(place, State(encode(path, content, Encoding())))
        return
    encoding = document.encoding
    text = rewritten(document, content)
    if encoding.declared:
        encoding = declared_in(text)
    elif encoding.mark:
        text = text.removeprefix(_MARK)
    draft.put(place, State(encode(path, text, encoding)))


def edit_text(draft: Draft, path: str, old: str, new: str, *, everywhere: bool) -> None:
    """Replace a piece of a file's text, which must be there once, or everywhere it is."""
    if not old:
        raise _bad("old_text is empty.")
    if plain(old) == plain(new):
        raise _bad("old_text and new_text are the same.")
    place, state = draft.existing(path)
    document = draft.document(path, place, state)
    found = find_text(document, old, everywhere=everywhere)
    if found is None:
        if _is_done(document.text, old, new):
            draft.notes[place] = "already applied"
            return
        raise without_text(document, plain(old), draft.known(place, state))
    if len(found.lines) > 1 and not everywhere:
        raise ambiguous(document, found.lines)
    draft.found[place] = [Placed(at, (), found.rung) for at in found.lines]
    text = replace_found(document, found, old, new)
    draft.put(place, msgspec.structs.replace(state, data=document.encoded(text)))


def refuse_stale(draft: Draft, path: str, place: str, state: State) -> None:
    """Refuse to overwrite or delete what changed since the session was shown it."""
    known = None if draft.seen is None else draft.seen.digest(place)
    if known is not None and state.data is not None and known != state.digest():
        raise stale(_lines(draft, path, place, state), f"{path!r} changed since you last read it.", code="file_changed")


def _unread(draft: Draft, path: str, place: str, state: State) -> Conflict:
    what = f"{path!r} is there already, and you have not read it."
    return stale(_lines(draft, path, place, state), what, code="file_not_read")


def _lines(draft: Draft, path: str, place: str, state: State) -> list[str]:
    """A file's lines, to be shown; none if it is no text, or too much of it."""
    try:
        return draft.document(path, place, state).lines
    except (Invalid, TooLarge):
        return []


def _is_done(text: str, old: str, new: str) -> bool:
    """Whether the new text stands where the old one was looked for: once, and long enough to be no accident."""
    new, old = plain(new), plain(old)
    return sum(map(str.isalnum, new)) >= _TELLING and new not in old and plain(text).count(new) == 1


def _bad(message: str) -> Invalid:
    hint = "Nothing was changed. Give the text to be replaced as the file has it, and another one for it."
    return Invalid(message, hint=hint, code="edit_invalid")
