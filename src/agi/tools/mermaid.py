"""A light check of mermaid source: the kind of diagram, brackets and quotes, blocks that are opened and closed.

It refuses what no renderer takes, and lets pass what only a renderer can tell. Pure. May import: errors.
"""

from __future__ import annotations

import re
from typing import NoReturn

from agi.errors import Invalid

_CHECKED = {
    "flowchart": "flow",
    "graph": "flow",
    "sequenceDiagram": "sequence",
    "classDiagram": "braces",
    "classDiagram-v2": "braces",
    "stateDiagram": "braces",
    "stateDiagram-v2": "braces",
}
_OTHERS = (
    *("erDiagram", "gantt", "pie", "journey", "gitGraph", "mindmap", "timeline", "quadrantChart", "zenuml", "kanban"),
    *("C4Context", "C4Container", "C4Component", "C4Dynamic", "C4Deployment", "requirementDiagram", "treemap-beta"),
    *("sankey-beta", "xychart-beta", "block-beta", "packet-beta", "architecture-beta", "radar-beta"),
)
_KINDS = {**_CHECKED, **dict.fromkeys(_OTHERS, "")}
_DIRECTIONS = ("TB", "TD", "BT", "LR", "RL")
_OPENING = re.compile(r"(loop|alt|opt|par|par_over|critical|break|rect|box)\b")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_FRONT = re.compile(r"\A\s*---\n.*?\n---\n", re.DOTALL)
_QUOTED = re.compile(r'"[^"]*"')


def check_mermaid(source: str) -> None:
    """Raise Invalid, with the line, for what is no mermaid diagram."""
    skipped = _FRONT.match(source)
    first = source.count("\n", 0, skipped.end()) + 1 if skipped else 1
    body = source[skipped.end() :] if skipped else source
    lines = [(number, line.strip()) for number, line in enumerate(body.split("\n"), first)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("%%")]
    if not lines:
        _refuse(1, "there is nothing in it")
    kind = _kind(*lines[0])
    if len(lines) == 1:
        _refuse(lines[0][0], "nothing follows the kind of diagram")
    if kind == "flow":
        _check_brackets(lines[1:])
        _check_blocks(lines[1:], re.compile(r"subgraph\b"))
    elif kind == "sequence":
        _check_blocks(lines[1:], _OPENING)
    elif kind == "braces":
        _check_braces(lines[1:])


def _kind(number: int, line: str) -> str:
    word, _, rest = line.partition(" ")
    word = word.removesuffix(";").removesuffix(":")
    if word not in _KINDS:
        _refuse(number, f"{word[:40]!r} is no kind of diagram; it begins with flowchart, sequenceDiagram or the like")
    direction = rest.strip().partition(";")[0].strip()
    if _KINDS[word] == "flow" and direction and direction.split()[0] not in _DIRECTIONS:
        _refuse(number, f"{direction[:40]!r} is no direction: {', '.join(_DIRECTIONS)}")
    return _KINDS[word]


def _check_brackets(lines: list[tuple[int, str]]) -> None:
    """In a flow chart a node's text stands in brackets, on one line unless it is quoted."""
    for number, line in lines:
        plain = _QUOTED.sub("", line)
        if plain.count('"') % 2:
            continue  # a quoted text that goes on in the next line
        opened: list[str] = []
        for char in plain:
            if char in "([{":
                opened.append(char)
            elif char in _PAIRS and opened and opened[-1] == _PAIRS[char]:
                opened.pop()
            elif char in "})" or (char == "]" and ">" not in plain):
                _refuse(number, f"{char!r} closes nothing")
        if opened:
            _refuse(number, f"{opened[-1]!r} is not closed")


def _check_blocks(lines: list[tuple[int, str]], opening: re.Pattern[str]) -> None:
    opened: list[int] = []
    for number, line in lines:
        if opening.match(line):
            opened.append(number)
        elif line.removesuffix(";") == "end":
            if not opened:
                _refuse(number, "`end` ends nothing")
            opened.pop()
    if opened:
        _refuse(opened[-1], "what is opened here has no `end`")


def _check_braces(lines: list[tuple[int, str]]) -> None:
    depth = 0
    for number, line in lines:
        plain = _QUOTED.sub("", line)
        depth += plain.count("{") - plain.count("}")
        if depth < 0:
            _refuse(number, "'}' closes nothing")
    if depth:
        _refuse(lines[-1][0], "'{' is not closed")


def _refuse(line: int, why: str) -> NoReturn:
    hint = "Correct it and try again."
    raise Invalid(f"The mermaid source is not valid: line {line}: {why}.", hint=hint, code="diagram_invalid")
