"""A change in pieces that can be accepted one by one, and a draft with only the accepted ones.

Pieces are made from what a file held and shall hold, whoever made the change, so the same draft has the same pieces.
A file that is new, deleted, moved, no text, or gets other permissions or another encoding is one piece.
May import: errors, protocol, editing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from agi.editing.drafts import Draft, State
from agi.editing.encodings import decode
from agi.editing.reports import diffs
from agi.errors import Conflict, Invalid
from agi.protocol.hunks import Hunk

MOST_HUNKS = 200
MOST_TEXT = 65_536
"""Characters. A larger change, or one in more pieces, is accepted or refused whole: nobody would look at each."""
_HEADER = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


class _Span(NamedTuple):
    """Lines of the old text, and the lines of the new one in their place."""

    old: slice
    new: slice


class Piece(Struct, frozen=True):
    """A hunk, the places it is about, and which lines; all of the places if it says none."""

    hunk: Hunk
    places: tuple[str, ...]
    span: _Span | None = None


def pieces(draft: Draft) -> list[Piece]:
    """Take a change apart; nothing if it is too large to be looked at piece by piece."""
    texts = dict(diffs(draft))
    if sum(map(len, texts.values())) > MOST_TEXT:
        return []
    found: list[Piece] = []
    for places in _units(draft):
        shown = "".join(texts.get(place, "") for place in places)
        path = next((place for place in places if place in texts and draft.states(place)[1].moved_from), "")
        path = path or next((place for place in places if place in texts), places[0])
        spans = _spans(draft, places[0], shown) if len(places) == 1 else []
        found += [_piece(path, header, text, places, span) for header, text, span in spans] or [
            _piece(path, _what(draft, path), shown, places)
        ]
    return [_numbered(piece, number) for number, piece in enumerate(found, 1)] if len(found) <= MOST_HUNKS else []


def keep_only(draft: Draft, accepted: Collection[str]) -> list[Piece]:
    """Take out of a draft what was not accepted; gives all its pieces."""
    found = pieces(draft)
    unknown = set(accepted) - {piece.hunk.id for piece in found}
    if unknown:
        raise Conflict("The change has no such hunks.", hint="Nothing was changed.", code="changed_since_approval")
    for places in dict.fromkeys(piece.places for piece in found):
        mine = [piece for piece in found if piece.places == places]
        kept = [piece for piece in mine if piece.hunk.id in accepted]
        if not kept:
            for place in places:
                draft.restore(place)
        elif len(kept) < len(mine):
            spans = [piece.span for piece in kept if piece.span is not None]
            before, after = draft.states(places[0])
            draft.put(places[0], msgspec.structs.replace(after, data=_spliced(before, after, spans)))
    return found


def _units(draft: Draft) -> list[tuple[str, ...]]:
    """The changed places, those together between which files move: half a move would lose a file."""
    units: list[tuple[str, ...]] = []
    for place in draft.changed():
        after = draft.states(place)[1]
        own = (place,) if after.copied or not after.moved_from else (place, after.moved_from)
        touching = [unit for unit in units if set(unit) & set(own)]
        units = [unit for unit in units if unit not in touching]
        units.append(tuple(dict.fromkeys([*(one for unit in touching for one in unit), *own])))
    return units


def _piece(path: str, header: str, text: str, places: tuple[str, ...], span: _Span | None = None) -> Piece:
    return Piece(Hunk(id="", path=path, header=header, diff=text), places, span)


def _numbered(piece: Piece, number: int) -> Piece:
    return msgspec.structs.replace(piece, hunk=msgspec.structs.replace(piece.hunk, id=f"h{number}"))


def _what(draft: Draft, place: str) -> str:
    before, after = draft.states(place)
    if after.data is None:
        return "deleted"
    if after.moved_from:
        return f"{'copied' if after.copied else 'moved'} from {after.moved_from}"
    return "new file" if before.data is None and not before.link else "whole file"


def _spans(draft: Draft, place: str, shown: str) -> list[tuple[str, str, _Span]]:
    """The hunks of a changed text; none if the file cannot be changed in parts."""
    before, after = draft.states(place)
    if before.data is None or after.data is None or after.moved_from or before.mode != after.mode:
        return []
    found = _read(shown)
    try:
        same = decode("", before.data)[1] == decode("", after.data)[1]
        # All hunks together must make the very file that was proposed, or none can be trusted alone.
        whole = same and _spliced(before, after, [span for *_, span in found]) == after.data
    except Invalid:
        return []
    return found if whole else []


def _read(diff: str) -> list[tuple[str, str, _Span]]:
    """The hunks of one file's diff, as it was shown."""
    found: list[tuple[str, str, _Span]] = []
    lines = diff.split("\n")
    at = 0
    while at < len(lines):
        header = _HEADER.match(lines[at])
        if header is None:
            at += 1
            continue
        old_start, old_left, new_start, new_left = map(int, header.groups())
        span = _Span(_lines(old_start, old_left), _lines(new_start, new_left))
        start, at = at, at + 1
        while at < len(lines) and (old_left or new_left or lines[at].startswith("\\")):
            old_left -= lines[at][:1] in (" ", "-")
            new_left -= lines[at][:1] in (" ", "+")
            at += 1
        found.append((lines[start], "\n".join(lines[start:at]) + "\n", span))
    return found


def _lines(start: int, length: int) -> slice:
    """A stretch of lines as a header names it: an empty one by the line before it."""
    begin = start - 1 if length else start
    return slice(begin, begin + length)


def _spliced(before: State, after: State, spans: Sequence[_Span]) -> bytes:
    """The old file with some of its lines replaced by the new one's, written in its way."""
    text, encoding = decode("", before.data or b"")
    old, new = text.split("\n"), decode("", after.data or b"")[0].split("\n")
    old, new = ([line + "\n" for line in lines[:-1]] + lines[-1:] for lines in (old, new))
    result: list[str] = []
    at = 0
    for span in spans:
        result += old[at : span.old.start]
        result += new[span.new]
        at = span.old.stop
    result += old[at:]
    return encoding.mark + "".join(result).encode(encoding.codec)
