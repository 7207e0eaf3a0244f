"""Unified diffs as HTML tables, lines under each other or side by side, hunk by hunk.

What is added or removed is said by a sign as well as by a class, and what hides in a line is written out. A line that
was replaced shows where it differs. Pure. May import: protocol, rendering.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal

from msgspec import Struct

from agi.protocol.hunks import Hunk
from agi.protocol.showing import unhidden_change
from agi.rendering.sanitising import sanitised

View = Literal["inline", "split"]
MOST_LINES = 20_000
"""A longer diff is cut, and says so."""
LONGEST_MARKED = 2_000
_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)", re.DOTALL)
_NAMES = ("--- ", "+++ ", "diff --git ", "index ", "old mode ", "new mode ", "similarity ", "dissimilarity ")


class Line(Struct, frozen=True):
    """A line of a diff: its sign, its number before and after, its text."""

    sign: Literal["+", "-", " ", "\\", ""]
    old: int | None
    new: int | None
    text: str


class Piece(Struct):
    """A hunk as it is drawn: what stands above it, its id if it can be accepted by itself, its lines."""

    path: str
    header: str
    lines: list[Line]
    id: str = ""


def html(diff: str, *, view: View = "inline") -> str:
    """A unified diff of any number of files."""
    return _drawn(list(_pieces(diff)), view)


def hunks_html(hunks: Sequence[Hunk], *, view: View = "inline") -> str:
    """The hunks of a question, each with its id in `data-hunk`, so that it can be accepted by itself."""
    pieces = []
    for hunk in hunks:
        own = list(_pieces(hunk.diff)) or [Piece("", "", [])]
        lines = [line for piece in own for line in piece.lines]
        pieces.append(Piece(hunk.path, hunk.header, lines, hunk.id))
    return _drawn(pieces, view)


def _pieces(diff: str) -> Iterator[Piece]:
    path, piece = "", Piece("", "", [])
    old = new = old_left = new_left = 0
    for text in diff.removesuffix("\n").split("\n"):
        match = _HEADER.fullmatch(text) if old_left <= 0 and new_left <= 0 else None
        if match:
            if piece.lines or piece.header:
                yield piece
            old, new = int(match[1]), int(match[3])
            old_left, new_left = int(match[2] or 1), int(match[4] or 1)
            piece = Piece(path, text, [])
        elif old_left > 0 or new_left > 0:
            sign = text[:1] if text[:1] in ("+", "-", "\\") else " "
            piece.lines.append(_line(sign, old, new, text[1:]))
            old, new = old + (sign in "- "), new + (sign in "+ ")
            old_left, new_left = old_left - (sign in "- "), new_left - (sign in "+ ")
        elif text.startswith("\\"):
            piece.lines.append(_line("\\", old, new, text[1:]))
        elif text.startswith("diff --git "):
            if piece.lines or piece.header:
                yield piece
            path = _path(text)
            piece = Piece(path, "", [])
        elif text.startswith("+++ ") and text != "+++ /dev/null":
            path = piece.path = text[4:].removeprefix("b/")
        elif text and not text.startswith(_NAMES):
            piece.lines.append(Line("", None, None, text))  # "new file mode", "rename from", "Binary files" …
    if piece.lines or piece.header:
        yield piece


def _line(sign: str, old: int, new: int, text: str) -> Line:
    if sign == "+":
        return Line("+", None, new, text)
    if sign == "-":
        return Line("-", old, None, text)
    return Line("\\", None, None, text) if sign == "\\" else Line(" ", old, new, text)


def _path(line: str) -> str:
    return line.rpartition(" b/")[2] or line.removeprefix("diff --git ")


def _drawn(pieces: Sequence[Piece], view: View) -> str:
    left, parts = MOST_LINES, [f'<div class="diff" data-view="{view}">']
    total, last = sum(len(piece.lines) for piece in pieces), None
    for piece in pieces:
        if left <= 0:
            break
        if piece.path != last:
            last = piece.path
            parts.append(f'<p class="diff-path">{_text(piece.path)}</p>')
        parts.append(_section(piece, view, left))
        left -= len(piece.lines)
    if total > MOST_LINES:
        parts.append(f'<p class="diff-cut">{total - MOST_LINES:,} more lines are not shown.</p>')
    return sanitised("".join(parts) + "</div>\n")


def _section(piece: Piece, view: View, most: int) -> str:
    draw = _inline if view == "inline" else _split
    named = f' data-hunk="{escape(piece.id)}"' if piece.id else ""
    head = f'<p class="diff-head">{_text(piece.header)}</p>' if piece.header else ""
    rows = "".join(draw(piece.lines[:most]))
    table = f'<table class="diff-lines"><tbody>{rows}</tbody></table>' if rows else ""
    return f'<section class="diff-hunk"{named} data-path="{_text(piece.path)}">{head}{table}</section>'


def _inline(lines: Sequence[Line]) -> Iterator[str]:
    for line, marked in _marked(lines):
        kind = _kind(line)
        yield (
            f'<tr class="{kind}"><td class="ln">{_number(line.old)}</td><td class="ln">{_number(line.new)}</td>'
            f'<td class="tx"><code>{_sign(line)}{marked}</code></td></tr>'
        )


def _split(lines: Sequence[Line]) -> Iterator[str]:
    """Removed lines on the left, added ones on the right, those that take each other's place in one row."""
    marked = _marked(lines)
    gone: list[tuple[Line, str]] = []
    come: list[tuple[Line, str]] = []
    for line, text in marked:
        if line.sign == "-" and not come:
            gone.append((line, text))
        elif line.sign == "+":
            come.append((line, text))
        elif line.sign == "\\":
            (come or gone).append((line, text))
        else:
            yield from _rows(gone, come)
            gone, come = ([(line, text)], []) if line.sign == "-" else ([], [])
            if line.sign != "-":
                yield from _rows([(line, text)], [(line, text)])
    yield from _rows(gone, come)


def _rows(gone: Sequence[tuple[Line, str]], come: Sequence[tuple[Line, str]]) -> Iterator[str]:
    for at in range(max(len(gone), len(come))):
        left, right = gone[at] if at < len(gone) else None, come[at] if at < len(come) else None
        yield f"<tr>{_half(left, is_old=True)}{_half(right, is_old=False)}</tr>"


def _half(side: tuple[Line, str] | None, *, is_old: bool) -> str:
    if side is None:
        return '<td class="ln"></td><td class="tx none"></td>'
    line, text = side
    number = _number(line.old if is_old else line.new)
    return f'<td class="ln">{number}</td><td class="tx {_kind(line)}"><code>{_sign(line)}{text}</code></td>'


def _marked(lines: Sequence[Line]) -> list[tuple[Line, str]]:
    """Each line with its HTML; in a run of removed lines and as many added ones, where each pair differs."""
    told = [(line, _text(line.text)) for line in lines]
    at = 0
    while at < len(lines):
        gone = _run(lines, at, "-")
        come = _run(lines, at + gone, "+")
        if gone and gone == come:
            for n in range(at, at + gone):
                before, after = lines[n].text, lines[n + gone].text
                told[n] = (lines[n], _differs(before, after))
                told[n + gone] = (lines[n + gone], _differs(after, before))
        at += max(1, gone + come)
    return told


def _run(lines: Sequence[Line], at: int, sign: str) -> int:
    end = at
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return end - at


def _differs(text: str, other: str) -> str:
    """The text with what lies between the common beginning and the common end marked, unless that is all of it."""
    if max(len(text), len(other)) > LONGEST_MARKED:
        return _text(text)
    shorter = min(len(text), len(other))
    top = next((n for n in range(shorter) if text[n] != other[n]), shorter)
    rest = shorter - top
    bottom = next((n for n in range(rest) if text[-1 - n] != other[-1 - n]), rest)
    middle = text[top : len(text) - bottom]
    if not middle or top + bottom == 0:
        return _text(text)
    return f"{_text(text[:top])}<mark>{_text(middle)}</mark>{_text(text[len(text) - bottom :])}"


def _kind(line: Line) -> str:
    return {"+": "add", "-": "del", " ": "same", "\\": "note", "": "note"}[line.sign]


def _sign(line: Line) -> str:
    return f'<span class="sign">{line.sign or " "}</span>'


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _text(text: str) -> str:
    return escape(unhidden_change(text))
