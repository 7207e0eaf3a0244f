"""Make the changes of a patch in a file's text, where matching found their places.

What is kept stays as the file has it; added lines take the ending most of its lines have. Pure functions.
May import: editing.
"""

from __future__ import annotations

from collections.abc import Sequence

from agi.editing.documents import Document, Edit
from agi.editing.patches import Hunk, Line
from agi.editing.placing import Placed


def applied(document: Document, hunks: Sequence[Hunk], placed: Sequence[Placed]) -> str:
    """The file's text with all hunks in their places."""
    usual = document.usual_ending()
    in_order = sorted(zip(placed, hunks, strict=True), key=lambda pair: pair[0].at)
    return document.edited([_edit(document, place, usual, exact=hunk.counted) for place, hunk in in_order])


def _edit(document: Document, place: Placed, usual: str, *, exact: bool) -> Edit:
    at = place.at
    exact = exact and _same_endings(document, place)
    pieces: list[str] = []
    for line in place.lines:
        if line.mark == "+":
            pieces.append(line.text + _ending(line, usual, exact=exact))
            continue
        if line.mark == " ":
            pieces.append(document.lines[at] + document.endings[at])
        at += 1
    return Edit(place.at, at, _joined(pieces, usual))


def _ending(line: Line, usual: str, *, exact: bool) -> str:
    if not line.ends:
        return ""
    return ("\r\n" if line.carriage else "\n") if exact else usual


def _joined(pieces: Sequence[str], usual: str) -> str:
    """Only the last line may lack an end; one that no longer is the last gets the usual one."""
    ended = [piece if piece.endswith(("\n", "\r")) else piece + usual for piece in pieces[:-1]]
    return "".join([*ended, *pieces[-1:]])


def _same_endings(document: Document, place: Placed) -> bool:
    """Whether a diff shows the very endings the file has, so that those of its added lines are meant as well."""
    at = place.at
    for line in place.lines:
        if line.mark == "+":
            continue
        if document.endings[at] not in (("\r\n",) if line.carriage else ("\n", "")):
            return False
        at += 1
    return at > place.at
