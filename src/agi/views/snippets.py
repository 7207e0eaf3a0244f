"""The words around a match, on one line, and where in them the matches are. Pure. May import: views.terms."""

from __future__ import annotations

from collections.abc import Sequence

from agi.views.terms import Term, pattern

WIDTH = 240
BEFORE = 60
"""How much is shown before the first match."""
MOST_MATCHES = 200
MOST_MARKS = 20

Mark = tuple[int, int]


def snippet(text: str, terms: Sequence[Term]) -> tuple[str, tuple[Mark, ...]]:
    """The part of a text that has the most of the terms, and their places in it."""
    found = sorted(place for number, term in enumerate(terms) for place in _places(text, number, term))
    start = max(0, _best(found) - BEFORE) if found else 0
    start = 0 if start < BEFORE else start
    end = min(len(text), start + WIDTH)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shift = len(before) - start
    marks = _joined([(first + shift, last + shift) for first, last, _ in found if start <= first and last <= end])
    # Character by character, so that places stay where they are.
    line = "".join(" " if one.isspace() else one for one in text[start:end])
    return before + line + after, marks


def _places(text: str, number: int, term: Term) -> list[tuple[int, int, int]]:
    for strict in (True, False):
        found = []
        for match in pattern(term, strict=strict).finditer(text):
            if match.end() > match.start():
                found.append((match.start(), match.end(), number))
            if len(found) == MOST_MATCHES:
                break
        if found:
            return found
    return []


def _best(found: list[tuple[int, int, int]]) -> int:
    """Where the stretch begins that has the most different terms; the first such."""
    best, most = found[0][0], 0
    for at, (start, _, _) in enumerate(found):
        within = {number for first, last, number in found[at : at + 50] if last <= start + WIDTH - BEFORE}
        if len(within) > most:
            best, most = start, len(within)
    return best


def _joined(marks: list[Mark]) -> tuple[Mark, ...]:
    """The marks without overlaps."""
    joined: list[Mark] = []
    for first, last in sorted(marks):
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined[:MOST_MARKS])
