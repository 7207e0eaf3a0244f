"""The list of skills that a model is shown: within a cap, best first, and it says what it left out.

Pure: the same skills, cap and query give the same bytes. Whoever shows it keeps it for as long as those bytes must not
change. May import: protocol, skills.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agi.protocol.skills import Skill
from agi.skills.ranking import ranked

DEFAULT_CAP = 1_500
"""Tokens."""
BYTES_PER_TOKEN = 3
"""English takes about four, so there is room to spare."""
_LENGTHS = (1_024, 400, 160)
"""How long descriptions may be, tried in this order until all skills fit."""

_HEAD = (
    "Skills are instructions for particular kinds of work, kept by this project or by the user. When one fits the "
    "task, call the tool `skill` with its name before you begin. Each by name, whose it is, and in its own words:"
)


class Catalogue(Struct, frozen=True, kw_only=True):
    """The list as text, the names in it, and how many did not fit."""

    text: str = ""
    shown: tuple[str, ...] = ()
    left_out: int = 0
    tokens: int = 0
    """An upper estimate."""


def catalogue(skills: Sequence[Skill], cap_tokens: int = DEFAULT_CAP, query: str = "") -> Catalogue:
    """List the skills that fit `query` best, in at most so many tokens; empty if there are none or no room for one."""
    if not skills:
        return Catalogue()
    order = [skill for skill, _ in ranked(skills, "")]  # where all fit, all sessions begin with the same bytes
    for length in _LENGTHS:
        lines = [_line(skill, length) for skill in order]
        if tokens_of("\n".join((_HEAD, *lines))) <= cap_tokens:
            return _made(order, lines, len(order))
    order = [skill for skill, _ in ranked(skills, query)]
    lines = [_line(skill, _LENGTHS[-1]) for skill in order]
    room = cap_tokens * BYTES_PER_TOKEN - len(_HEAD.encode()) - len(_note(len(order), len(order)).encode()) - 1
    count = 0
    while room >= (size := len(lines[count].encode()) + 1):
        room -= size
        count += 1
    return _made(order, lines, count) if count else Catalogue(left_out=len(order))


def tokens_of(text: str) -> int:
    """How many tokens a text takes at most."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def shortened(text: str, length: int) -> str:
    """A text of one line, cut at a blank if it is longer."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    return (cut.rpartition(" ")[0] or cut) + "…"


def _made(order: list[Skill], lines: list[str], count: int) -> Catalogue:
    left_out = len(order) - count
    text = "\n".join((_HEAD, *lines[:count], *([_note(count, len(order))] if left_out else [])))
    shown = tuple(skill.name for skill in order[:count])
    return Catalogue(text=text, shown=shown, left_out=left_out, tokens=tokens_of(text))


def _line(skill: Skill, length: int) -> str:
    return f"- {skill.name} ({skill.source}): {shortened(skill.description, length)}"


def _note(shown: int, count: int) -> str:
    return f"[{shown:,} of {count:,} skills; `skill` with a `query` finds the others.]"
