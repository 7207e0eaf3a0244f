"""Fit a text into what may be shown: so many lines and bytes, so many characters a line; two ends, exact counts.

Pure. May import: workspace.captured.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from agi.workspace.captured import Kept

_OF_BEGINNING = 0.75
"""How much of what is shown of a line that is cut is its beginning; the rest is its end."""


class Limits(Struct, frozen=True, kw_only=True):
    """How much of a text may be shown."""

    lines: int = 2_000
    size: int = 64 * 1024
    """Bytes."""
    line: int = 2_000
    """Characters of one line."""


LIMITS = Limits()


class Fitted(Struct, frozen=True, kw_only=True):
    """A text as it may be shown: all of it in `head`, or its two ends; and exactly what is missing."""

    head: str
    tail: str = ""
    lines: int = 0
    """How many lines are not shown at all."""
    size: int = 0
    """How many bytes are not shown, those of lines that are cut included."""
    first: int = 0
    """The number of the first line that is not shown; 0 if all are."""
    cut: int = 0
    """How many lines are shown in part."""


class _Shown(Struct, frozen=True):
    """A line as it is shown, how many bytes that takes, and how many of the line's own bytes are in it."""

    text: str
    size: int
    own: int
    cut: bool = False


def fit(kept: Kept, limits: Limits = LIMITS) -> Fitted:
    """Show as much as may be shown; `kept` is the whole text, or two ends of it that are more than enough."""
    if not kept.omitted_bytes and _is_small(kept.head, limits):
        return Fitted(head=kept.head)
    head, tail = _lines(kept.head), _lines(kept.tail)
    total = kept.omitted_lines + kept.head.count("\n") + kept.tail.count("\n")
    total += not (kept.tail or kept.head).endswith("\n")
    if kept.omitted_bytes:
        head, tail = _without_torn(head, end=True), _without_torn(tail, end=False)
        shown_head = _taken(head, limits.lines // 2, limits.size // 2, limits.line)
    else:
        every = [_shown(line, limits.line) for line in head[: limits.lines + 1]]
        if len(every) <= limits.lines and sum(line.size for line in every) <= limits.size:
            return _fitted(every, [], kept, 0)
        shown_head = _taken(head, limits.lines // 2, limits.size // 2, limits.line)
        tail = head[len(shown_head) :]
    used = sum(line.size for line in shown_head)
    shown_tail = _taken(reversed(tail), limits.lines - len(shown_head), limits.size - used, limits.line)[::-1]
    # A text of one torn line is shown by both its ends, and yet is one line.
    torn = bool(kept.omitted_bytes and total < len(shown_head) + len(shown_tail))
    return _fitted(shown_head, shown_tail, kept, total - len(shown_head) - len(shown_tail) + torn)


def _is_small(text: str, limits: Limits) -> bool:
    if len(text) <= limits.line and text.count("\n") < limits.lines:
        return len(text.encode()) <= limits.size
    lines = text.split("\n") if len(text) <= limits.size else []
    fits = 0 < len(lines) <= limits.lines + (lines[-1] == "") and max(map(len, lines)) <= limits.line
    return fits and len(text.encode()) <= limits.size


def _lines(text: str) -> list[str]:
    """The lines with their newlines; only the last may lack its own."""
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


def _without_torn(lines: list[str], *, end: bool) -> list[str]:
    """Leave out a line of which a part is missing, unless there is no other."""
    if len(lines) <= 1:
        return lines
    if end:
        return lines if lines[-1].endswith("\n") else lines[:-1]
    return lines[1:]


def _taken(lines: Iterable[str], count: int, size: int, longest: int) -> list[_Shown]:
    """As many lines as there is room for; the first in any case, so that something is shown of each end."""
    taken: list[_Shown] = []
    for line in lines:
        one = _shown(line, longest)
        size -= one.size
        if len(taken) >= count or (size < 0 and taken):
            break
        taken.append(one)
    return taken


def _shown(line: str, longest: int) -> _Shown:
    body = line.removesuffix("\n")
    if len(body) <= longest:
        size = len(line.encode())
        return _Shown(line, size, size)
    first = int(longest * _OF_BEGINNING)
    start, end = body[:first], body[first - longest :] + line[len(body) :]
    text = f"{start} [{len(body) - longest:,} characters of this line left out] {end}"
    return _Shown(text, len(text.encode()), len((start + end).encode()), cut=True)


def _fitted(head: list[_Shown], tail: list[_Shown], kept: Kept, missing: int) -> Fitted:
    everything = len(kept.head.encode()) + len(kept.tail.encode()) + kept.omitted_bytes
    lines = [*head, *tail]
    return Fitted(
        head="".join(line.text for line in head),
        tail="".join(line.text for line in tail),
        lines=missing,
        size=everything - sum(line.own for line in lines),
        first=len(head) + 1 if missing else 0,
        cut=sum(line.cut for line in lines),
    )
