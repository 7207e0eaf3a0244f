"""Read a patch in whichever form it comes: an envelope or a unified diff, with or without a wrapper around it.

May import: errors, editing.
"""

from __future__ import annotations

from collections.abc import Callable

from agi.editing.envelope import BEGIN, bad_envelope, parse_envelope
from agi.editing.patches import FileDiff, Section, Update
from agi.editing.unified import is_unified, parse_unified
from agi.errors import TooLarge

MOST_FILES = 2_000
MOST_HUNKS = 1_000
"""How many hunks may speak of one file, and how many files a patch may name."""
_MOST_WRAPPERS = 4


def read_patch(patch: str, exists: Callable[[str], bool]) -> tuple[Section, ...]:
    """Read a patch; `exists` tells whether there is a file of a name, by which a diff's names are understood."""
    lines = _unwrapped(patch)
    if lines and lines[0].strip() == BEGIN:
        sections = parse_envelope(lines)
    elif is_unified(lines):
        sections = parse_unified(lines, exists)
    else:
        raise bad_envelope("The patch begins neither with '*** Begin Patch' nor with the names of a unified diff.")
    longest = max((len(one.hunks) for one in sections if isinstance(one, Update | FileDiff)), default=0)
    if len(sections) > MOST_FILES or longest > MOST_HUNKS:
        message = f"The patch names more than {MOST_FILES} files, or has more than {MOST_HUNKS} hunks for one."
        raise TooLarge(message, hint="Nothing was changed. Split it.")
    return sections


def _unwrapped(patch: str) -> list[str]:
    """The lines of a patch without blank lines, a markdown fence or a here-document around it."""
    lines = patch.split("\n")
    for _ in range(_MOST_WRAPPERS):
        inner = _without_blank_ends(lines)
        closing = _closing_line(inner[0]) if inner else ""
        if not closing or len(inner) < 2 or inner[-1].strip() != closing:
            break
        lines = inner[1:-1]
    # In a diff a line with a single blank is an empty line of the file; at the end of an envelope nothing is.
    return inner if inner and inner[0].strip() == BEGIN else _without_blank_ends(lines, "\r")


def _without_blank_ends(lines: list[str], blank: str | None = None) -> list[str]:
    start, end = 0, len(lines)
    while start < end and not lines[start].strip(blank):
        start += 1
    while start < end and not lines[end - 1].strip(blank):
        end -= 1
    return lines[start:end]


def _closing_line(opening: str) -> str:
    """What ends a wrapper that begins with this line; nothing if it begins none."""
    opening = opening.strip()
    if opening.startswith("```"):
        return "`" * (len(opening) - len(opening.lstrip("`")))
    words = opening.rpartition("<<")[2].split() if "<<" in opening else []
    return words[0].lstrip("-").strip("'\"") if words else ""
