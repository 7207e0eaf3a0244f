"""Replace a piece of text in a file, or all of it, and keep every line that stays the same as it is.

A piece is looked for as hunks are: exactly, then ever more leniently, line by line. Found in several places, it is
refused unless all of them are meant. Pure functions. May import: errors, editing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

import msgspec
from msgspec import Struct

from agi.editing.applying import applied
from agi.editing.documents import Document, Edit, split_lines
from agi.editing.ladder import Places, fold
from agi.editing.patches import Hunk, Line
from agi.editing.placing import Placed

_FOLDED = 3
_MOST_SHOWN = 20
_MOST_PAIRS = 1_000_000


class Found(Struct, frozen=True):
    """Where a piece of text stands: at which lines (from 0), on which rung; as spans, or as whole lines if without."""

    lines: tuple[int, ...]
    rung: int
    spans: tuple[tuple[int, int], ...] = ()


def find_text(document: Document, old: str, *, everywhere: bool) -> Found | None:
    """Look for a piece of text: at all its places if they are wanted, else at enough to know whether it is one."""
    view, wanted = plain(document.text), plain(old)
    for rung, text, piece in ((0, view, wanted), (_FOLDED, fold(view), fold(wanted))):
        if spans := _spans(text, piece, everywhere=everywhere):
            return _found(document, spans, rung)
    lines = split_lines(wanted)[0]
    places = Places(document.lines)
    first = places.seek(lines, 0) if any(map(str.strip, lines)) else None
    if first is None:
        return None
    several = places.several(lines, first[0], first[1], len(document.lines) if everywhere else _MOST_SHOWN)
    return Found(tuple(_apart(several, len(lines)) if everywhere else several), first[1])


def replace_found(document: Document, found: Found, old: str, new: str) -> str:
    """Put new text where the old one was found."""
    if found.spans:
        return _replace_spans(document, found.spans, plain(new))
    wanted = split_lines(plain(old))[0]
    lines = tuple(compared(wanted, split_lines(plain(new))[0]))
    shifted = [_shifted(lines, wanted, document.lines[at : at + len(wanted)]) for at in found.lines]
    placed = [Placed(at, one) for at, one in zip(found.lines, shifted, strict=True)]
    return applied(document, [Hunk((), one) for one in shifted], placed)


def _shifted(lines: tuple[Line, ...], wanted: Sequence[str], standing: Sequence[str]) -> tuple[Line, ...]:
    """Added lines, indented further or less by as much as the file's lines are than those that were looked for."""
    pairs = [(_indent(here), _indent(there)) for here, there in zip(wanted, standing, strict=True) if here.strip()]
    more = {there.removesuffix(here) for here, there in pairs if there.endswith(here)}
    less = {here.removesuffix(there) for here, there in pairs if here.endswith(there)}
    if len(more) == 1 and all(there.endswith(here) for here, there in pairs):
        (prefix,) = more
        return tuple(_indented(line, prefix) for line in lines)
    if len(less) == 1 and all(here.endswith(there) for here, there in pairs):
        (prefix,) = less
        return tuple(
            msgspec.structs.replace(line, text=line.text.removeprefix(prefix)) if line.mark == "+" else line
            for line in lines
        )
    return lines


def _indented(line: Line, prefix: str) -> Line:
    if line.mark != "+" or not line.text.strip():
        return line
    return msgspec.structs.replace(line, text=prefix + line.text)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def plain(text: str) -> str:
    """A text with newlines for all its line endings."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def rewritten(document: Document, content: str) -> str:
    """Another text for the whole file: as given if it says how its lines end, else with the endings the file has."""
    if "\r" in content or "\r" not in document.text:
        return content
    if not document.lines or not content:
        return content
    return document.edited([_block(document, 0, len(document.lines) - 1, content, open_end=False)])


def _found(document: Document, spans: Sequence[tuple[int, int]], rung: int) -> Found:
    starts = _starts(document)
    return Found(tuple(bisect_right(starts, begin) - 1 for begin, _ in spans), rung, tuple(spans))


def _spans(text: str, wanted: str, *, everywhere: bool) -> list[tuple[int, int]]:
    """Where a text holds another: apart from each other if all are wanted, else also where they overlap."""
    spans: list[tuple[int, int]] = []
    at = text.find(wanted)
    while at >= 0 and (everywhere or len(spans) < _MOST_SHOWN):
        spans.append((at, at + len(wanted)))
        at = text.find(wanted, at + (len(wanted) if everywhere else 1))
    return spans


def _apart(places: Sequence[int], length: int) -> Iterator[int]:
    end = 0
    for at in places:
        if at >= end:
            yield at
            end = at + length


def _replace_spans(document: Document, spans: Sequence[tuple[int, int]], new: str) -> str:
    """Put new text in the place of spans that do not overlap."""
    view, starts = plain(document.text), _starts(document)
    edits = []
    for first, last, group in _by_lines(spans, starts, len(document.lines)):
        begin, end = starts[first], starts[last + 1] if last + 1 < len(starts) else len(view)
        # The ending of a block's last line belongs to it only where a span reaches beyond it, to the end of the file.
        closed = end - bool(document.endings[last]) if group[-1][1] < end else end
        pieces: list[str] = []
        at = begin
        for span in group:
            pieces += (view[at : span[0]], new)
            at = span[1]
        edits.append(_block(document, first, last, "".join([*pieces, view[at:closed]]), open_end=closed < end))
    return document.edited(edits)


def _starts(document: Document) -> list[int]:
    ended = (len(line) + bool(ending) for line, ending in zip(document.lines, document.endings, strict=True))
    return list(accumulate(ended, initial=0))[: max(1, len(document.lines))]


def _by_lines(
    spans: Sequence[tuple[int, int]], starts: Sequence[int], count: int
) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Put spans together that touch the same lines."""
    groups: list[tuple[int, int, list[tuple[int, int]]]] = []
    for begin, end in spans:
        first, last = bisect_right(starts, begin) - 1, min(bisect_right(starts, end) - 1, count - 1)
        if groups and first <= groups[-1][1]:
            groups[-1] = (groups[-1][0], max(last, groups[-1][1]), [*groups[-1][2], (begin, end)])
        else:
            groups.append((first, last, [(begin, end)]))
    yield from groups


def _block(document: Document, first: int, last: int, text: str, *, open_end: bool) -> Edit:
    """Make an edit that turns lines into this text; lines that stay keep their endings, others take the usual one."""
    lines, endings = split_lines(text)
    if open_end:
        if len(lines) == len(endings) and endings[-1:] != [""]:
            lines, endings = [*lines, ""], [*endings, ""]
        endings[-1:] = document.endings[last : last + 1]
    old = list(document.lines[first : last + 1])
    usual = document.usual_ending()
    kept = dict(_pairs(old, lines))
    pieces = []
    for number, (line, ending) in enumerate(zip(lines, endings, strict=True)):
        own = document.endings[first + kept[number]] if number in kept else usual
        final = number == len(lines) - 1
        pieces.append(line + (ending if final and (open_end or not ending) else own or usual))
    return Edit(first, last + 1, "".join(pieces))


def _pairs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Which new line stands for which old one: the same text; or the same place, where as many lines are as before."""
    if len(old) == len(new):
        yield from ((n, n) for n in range(len(new)))
        return
    for tag, from_old, _, from_new, to_new in _opcodes(old, new):
        if tag == "equal":
            yield from ((n, from_old + n - from_new) for n in range(from_new, to_new))


def compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """Old lines and new ones as the lines of a hunk."""
    for tag, from_old, to_old, from_new, to_new in _opcodes(old, new):
        if tag == "equal":
            yield from (Line(" ", line) for line in old[from_old:to_old])
        else:
            yield from (Line("-", line) for line in old[from_old:to_old])
            yield from (Line("+", line) for line in new[from_new:to_new])


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """What is equal and what differs, compared in bounded time."""
    shorter = min(len(old), len(new))
    top = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    bottom = next((n for n in range(shorter - top) if old[-1 - n] != new[-1 - n]), shorter - top)
    yield "equal", 0, top, 0, top
    rest_old, rest_new = old[top : len(old) - bottom], new[top : len(new) - bottom]
    if len(rest_old) * len(rest_new) > _MOST_PAIRS:
        yield "replace", top, len(old) - bottom, top, len(new) - bottom
    else:
        for tag, a, b, c, d in SequenceMatcher(None, rest_old, rest_new, autojunk=False).get_opcodes():
            yield tag, top + a, top + b, top + c, top + d
    yield "equal", len(old) - bottom, len(old), len(new) - bottom, len(new)
