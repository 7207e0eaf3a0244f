"""Work texts into a draft: a file's whole new content, or a piece of it replaced.

May import: errors, editing.
"""

from __future__ import annotations

import msgspec

from agi.editing.drafts import Draft, State, too_large
from agi.editing.encodings import Encoding, declared_in, encode
from agi.editing.placing import Placed
from agi.editing.refusals import UNREAD, ambiguous, stale, unshown, without_text
from agi.editing.replacing import find_text, plain, replace_found, rewritten
from agi.errors import Invalid, TooLarge

_MARK = "\ufeff"
_TELLING = 12


def write_text(draft: Draft, path: str, content: str) -> None:
    """Give a file its whole content; one that is there must be as the session was last shown it."""
    place = draft.locate(path)
    state = draft.look(place)
    if state.size:
        raise too_large(path, state.size)
    refuse_unread(draft, path, place)
    put_text(draft, path, place, content)


def put_text(draft: Draft, path: str, place: str, content: str) -> None:
    """Give a place its whole content, written as the file there is written: endings, mark and encoding."""
    state = draft.look(place)
    if state.data is None:
        draft.put(place, State(encode(path, content, Encoding())))
        return
    document = draft.document(path, place, state)
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
        standing = _standing(document.text, old, new)
        raise without_text(document, plain(old), draft.known(place), standing)
    if len(found.lines) > 1 and not everywhere:
        raise ambiguous(document, found.lines)
    draft.note_change(place)
    draft.found[place] = [Placed(at, (), found.rung) for at in found.lines]
    text = replace_found(document, found, old, new)
    draft.put(place, msgspec.structs.replace(state, data=document.encoded(text)))


def refuse_stale(draft: Draft, path: str, place: str) -> None:
    """Refuse to overwrite or delete what changed since the session was shown it."""
    state = _at_stake(draft, place)
    known = None if draft.seen is None else draft.seen.digest(place)
    if known is not None and state.data is not None and known != state.digest():
        raise stale(_lines(draft, path, place, state), f"{path!r} changed since you last read it.", code="file_changed")


def refuse_unread(draft: Draft, path: str, place: str) -> None:
    """Refuse to overwrite what the session was not shown, not wholly, or not as it is now."""
    state = _at_stake(draft, place)
    if draft.seen is None or not state.data:
        return
    if draft.seen.digest(place) is None:
        what = f"{path!r} is there already, and you have not read it."
        raise stale(_lines(draft, path, place, state), what, code=UNREAD)
    refuse_stale(draft, path, place)
    gap = draft.seen.unshown(place)
    if gap is not None:
        raise unshown(path, gap)


def _at_stake(draft: Draft, place: str) -> State:
    """What is on disk and would be lost; nothing if the change has taken it elsewhere already."""
    state = draft.look(place)
    return state if state.data is None else draft.states(place)[0]


def _lines(draft: Draft, path: str, place: str, state: State) -> list[str]:
    """A file's lines, to be shown; none if it is no text, or too much of it."""
    try:
        return draft.document(path, place, state).lines
    except (Invalid, TooLarge):
        return []


def _standing(text: str, old: str, new: str) -> int:
    """The line (from 1) where the new text stands, if it is long enough to be no accident; 0 if it does not.

    Whether it was put there in the place of the old one is not known, so this is no success.
    """
    new, old, text = plain(new), plain(old), plain(text)
    at = text.find(new) if sum(map(str.isalnum, new)) >= _TELLING and new not in old else -1
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def _bad(message: str) -> Invalid:
    hint = "Nothing was changed. Give the text to be replaced as the file has it, and another one for it."
    return Invalid(message, hint=hint, code="edit_invalid")
