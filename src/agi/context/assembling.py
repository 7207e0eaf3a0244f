"""The assembler: pieces in, sections out, each within the budget of its name.

Pure and deterministic: the same pieces and budgets give the same bytes. May import: protocol, context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from agi.context.base import ORDER, Context, Piece
from agi.context.tokens import BYTES, bytes_of, tokens_of
from agi.protocol.context import ContextSection

SMALLEST = 40
"""Tokens. What would be left with fewer than these is left out instead of cut."""
CUT = "\n[It is longer; it was cut here.]"
OVER = "the budget of {} tokens is used up"
CUT_WHY = "longer than what is left of the budget of {} tokens"


def assemble(pieces: Sequence[Piece], budgets: Mapping[str, int]) -> Context:
    """Put pieces in their order; those of one name share its budget, the lowest rank first."""
    left = dict(budgets)
    made: dict[int, ContextSection] = {}
    for at in sorted(range(len(pieces)), key=lambda one: (pieces[one].rank, one)):
        piece = pieces[at]
        section = _section(piece, left.get(piece.name), budgets.get(piece.name))
        if piece.name in left:
            left[piece.name] -= section.tokens
        made[at] = section
    ordered = sorted(range(len(pieces)), key=lambda one: (_place(pieces[one].name), one))
    return Context(tuple(made[at] for at in ordered))


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _section(piece: Piece, left: int | None, budget: int | None) -> ContextSection:
    section = ContextSection(
        name=piece.name,
        source=piece.source,
        place=piece.place,
        budget=budget,
        digest=piece.digest or digest_of(piece.text),
        status="left_out",
    )
    if piece.refused:
        return replace(section, why=piece.refused, digest=piece.digest)
    if piece.size is not None:
        return replace(section, status="in", tokens=piece.size // BYTES)
    if not piece.text.strip():
        return replace(section, why="it is empty", digest="")
    text = _told(piece, piece.text.strip() + (CUT if piece.longer and not piece.says_so else ""))
    if left is None or tokens_of(text) <= left:
        cut = bool(piece.longer)
        return replace(section, status="cut" if cut else "in", why=piece.longer, text=text, tokens=tokens_of(text))
    shorter = _shortened(piece, left)
    if not shorter:
        return replace(section, why=OVER.format(budget))
    return replace(section, status="cut", why=CUT_WHY.format(budget), text=shorter, tokens=tokens_of(shorter))


def _told(piece: Piece, text: str) -> str:
    return f"{piece.heading}\n\n{text}" if piece.heading else text


def _shortened(piece: Piece, tokens: int) -> str:
    """As much as fits, to the end of a line where one is near; nothing, if that would be too little to be of use."""
    room = tokens * BYTES - bytes_of(_told(piece, CUT))
    if room < SMALLEST * BYTES:
        return ""
    text = piece.text.strip().encode(errors="replace")[:room].decode(errors="ignore")
    line = text.rfind("\n")
    return _told(piece, (text[:line] if line > len(text) // 2 else text) + CUT)


def digest_of(text: str) -> str:
    """By what a text is told from another; nothing has none."""
    if not text:
        return ""
    from hashlib import sha256  # late: not everybody who knows sections makes them

    return sha256(text.encode(errors="replace")).hexdigest()[:16]


def text_of(sections: Iterable[ContextSection]) -> str:
    """What several sections say together."""
    return "\n\n".join(one.text for one in sections if one.text)
