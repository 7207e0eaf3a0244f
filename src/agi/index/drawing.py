"""The map as text: files in the order of their rank with their most telling definitions, within a budget of tokens.

The same state gives the same bytes. Names come from a repository and are shown so that nothing in them hides.
May import: index, protocol.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from agi.index.graph import Graph
from agi.index.symbols import Definition
from agi.protocol.showing import exact

CHARACTERS_PER_TOKEN = 3
"""Source has more of them in a token with every usual tokenizer, so that a budget is kept."""
MOST_PER_FILE = 25
LONGEST_LINE = 120

_FOOTER = 60
"""Tokens kept for what is said at the end."""
_KINDS = {"method": 0.6, "constant": 0.5, "module": 0.4, "property": 0.4, "impl": 0.4, "macro": 0.5, "test": 0.1}
_LEAST_PER_FILE = 8
_INNER = 0.7
_BARE = 0.1
"""What a file that defines nothing is worth beside others."""
_MEANT = 10.0


class Drawn(Struct, frozen=True):
    """A map and what it amounts to."""

    text: str
    files_shown: int
    files_left_out: int
    symbols_shown: int
    symbols_left_out: int
    tokens: int


class Outline(Struct, frozen=True):
    """A file that may be drawn: its rank and what it defines."""

    path: str
    rank: float
    definitions: tuple[Definition, ...]


def tokens_in(text: str) -> int:
    """How many tokens a text takes at most, as far as can be told without a tokenizer."""
    return -(-len(text.encode(errors="replace")) // CHARACTERS_PER_TOKEN)


def draw(outlines: Sequence[Outline], graph: Graph, meant: Collection[str], budget: int) -> Drawn:
    """Draw as much as the budget allows; `outlines` are all files there are, `meant` the names asked for."""
    picked = _pick(outlines, graph, meant, max(budget - _FOOTER, 0))
    lines = []
    for outline in outlines:
        if outline.path in picked:
            lines += _drawn(outline.path, picked[outline.path])
    shown = sum(map(len, picked.values()))
    symbols = sum(len(outline.definitions) for outline in outlines)
    left = len(outlines) - len(picked)
    if outlines:
        lines.append(_footer(len(picked), left, shown, symbols - shown))
    text = "\n".join(lines)
    return Drawn(text, len(picked), left, shown, symbols - shown, tokens_in(text))


def _pick(
    outlines: Sequence[Outline], graph: Graph, meant: Collection[str], budget: int
) -> Mapping[str, list[Definition]]:
    """The definitions to draw, by file: the best of all files first, until the next does not fit."""
    candidates: list[tuple[float, int, int]] = []
    # Each file that is drawn takes a line, so only so many of the best can be.
    for at, outline in enumerate(outlines[: budget // _LEAST_PER_FILE + 1]):
        candidates += _weighed(at, outline, graph, meant)
    candidates.sort(key=lambda one: (-one[0], one[1], one[2]))
    picked: dict[str, list[Definition]] = {}
    for _, at, number in candidates:
        outline = outlines[at]
        cost = 0 if outline.path in picked else tokens_in(_header(outline.path) + "\n")
        one = outline.definitions[number] if number >= 0 else None
        cost += tokens_in(_line(one, 1) + "\n") if one else 0
        if cost > budget:
            break
        if len(mine := picked.setdefault(outline.path, [])) < MOST_PER_FILE and one is not None:
            mine.append(one)
            budget -= cost
        elif one is None:
            budget -= cost
    return picked


def _weighed(at: int, outline: Outline, graph: Graph, meant: Collection[str]) -> list[tuple[float, int, int]]:
    """How much each definition of a file is worth drawing; a file without any is drawn by its name."""
    if not outline.definitions:
        return [(round(outline.rank * _BARE, 12), at, -1)]
    weights = [_weight(one, graph, meant) for one in outline.definitions]
    total = sum(weights) or 1.0
    # The root keeps a file with many definitions from drowning: each of them says less, but not that much less.
    return [
        (round(outline.rank * math.sqrt(weight / total), 12), at, number)
        for number, weight in enumerate(weights)
        if weight
    ]


def _weight(one: Definition, graph: Graph, meant: Collection[str]) -> float:
    used = graph.users(one.name)
    weight = _KINDS.get(one.kind, 1.0) * (0.2 + graph.worth(one.name) * math.log2(2 + used) * used)
    if one.parent:
        weight *= _INNER
    return weight * (_MEANT if one.name in meant else 1.0)


def _drawn(path: str, picked: Sequence[Definition]) -> list[str]:
    """A file and its definitions in order; what stands in something that is drawn too is set in."""
    lines = [_header(path)]
    ends: list[int] = []
    for one in sorted(picked, key=lambda one: (one.line, -one.end_line, one.name)):
        while ends and (ends[-1] < one.line or not one.parent):
            ends.pop()
        lines.append(_line(one, min(len(ends), 3)))
        ends.append(one.end_line)
    return lines


def _header(path: str) -> str:
    return exact(path.encode(errors="replace").decode())


def _line(one: Definition, depth: int) -> str:
    text = exact(one.signature or one.name)
    text = text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"
    return f"  {one.line}: {'  ' * depth}{text}"


def _footer(files: int, files_left: int, symbols: int, symbols_left: int) -> str:
    told = f"[{files:,} of {files + files_left:,} source files, {symbols:,} of {symbols + symbols_left:,} symbols"
    return told + ("; ask with a query or for more tokens to see others]" if files_left or symbols_left else "]")
