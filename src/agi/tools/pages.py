"""A page of a text: some of its lines, as many as may be shown, and which these are. Pure. May import: tools.lines."""

from __future__ import annotations

from msgspec import Struct

from agi.tools.lines import MOST_BYTES, MOST_LINES

LONGEST_LINE = 2_000
"""How many characters of a line are shown, unless it is asked for alone."""


class Page(Struct, frozen=True, kw_only=True):
    """Lines `first` to `last` of a text that has `total`; None if they were not counted."""

    text: str
    first: int
    last: int
    total: int | None
    cut: int = 0
    """How many lines are shown in part."""


def page_of(text: str, first: int, last: int) -> Page | None:
    """Lines of a text by number, both ends included; None if the first one is not there."""
    lines = split_lines(text)
    if first > max(len(lines), 1):
        return None
    return fitting(lines[first - 1 : min(last, first - 1 + MOST_LINES)], first, len(lines), alone=first == last)


def split_lines(text: str) -> list[str]:
    """Lines with their ends. One ends with a newline; where there is none at all, with a carriage return."""
    mark = "\r" if "\n" not in text and "\r" in text else "\n"
    *whole, rest = text.split(mark)
    return [line + mark for line in whole] + ([rest] if rest else [])


def fitting(lines: list[str], first: int, total: int | None, *, alone: bool) -> Page:
    """As many of these lines as may be shown at once; the first in any case, as far as it goes."""
    shown: list[str] = []
    left, cut = MOST_BYTES, 0
    for line in lines[:MOST_LINES]:
        fitted = _cut(line, _longest(line) if alone else LONGEST_LINE)
        left -= len(fitted.encode())
        if left < 0 and shown:
            break
        shown.append(fitted)
        cut += fitted != line
    return Page(text="".join(shown), first=first, last=first + len(shown) - 1, total=total, cut=cut)


def _longest(line: str) -> int:
    return MOST_BYTES if line.isascii() else MOST_BYTES // 4


def _cut(line: str, longest: int) -> str:
    body = line.rstrip("\r\n")
    if len(body) <= longest:
        return line
    return f"{body[:longest]} [{len(body) - longest:,} more characters]{line[len(body) :]}"
