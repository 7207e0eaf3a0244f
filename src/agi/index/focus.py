"""What a reader is after: files and names, told by paths and words, become where the ranking starts.

Pure functions. May import: index.graph.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from agi.index.graph import Graph

MOST_WORDS = 40
EVERYWHERE = 0.1
"""How much of the start goes to all files alike, so that none is out of reach."""

_WORD = re.compile(r"[^\W\d]\w{2,63}")
_PATH = re.compile(r"[\w.+@-]{1,100}(?:/[\w.+@-]{1,100}){1,30}|[\w+@-]{1,100}\.\w{1,8}")
_LONGEST_TEXT = 8_000
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "and are but can did does for from get has have how into its let may not our out should that the then "
        "there these they this use was what when where which who why will with you your add all any code file "
        "files fix find function class method please change make ",
    )
)
"""Words of a question that say nothing about a file."""
_DEFINED, _NAMED, _PART = 3.0, 2.0, 0.5


def words_in(text: str) -> tuple[str, ...]:
    """The words and paths of a text that may name something, each once, in their order."""
    text = text[:_LONGEST_TEXT]
    found = [*_PATH.findall(text), *_WORD.findall(text)]
    return tuple(dict.fromkeys(word for word in found if word.lower() not in _COMMON))[:MOST_WORDS]


def pieces(name: str) -> tuple[str, ...]:
    """The words a name is made of, in small letters: `parseHTTPHeader` is parse, http, header."""
    return tuple(piece.lower() for piece in _PIECES.findall(name))


def starts(
    graph: Graph, files: Sequence[str], paths: Collection[str], words: Sequence[str]
) -> tuple[dict[str, float], frozenset[str]]:
    """Where to start and how strongly, and the defined names that were meant; without any focus nowhere."""
    known = frozenset(files)
    strength: dict[str, float] = dict.fromkeys((path for path in paths if path in known), 1.0)
    meant: set[str] = set()
    wanted = words[:MOST_WORDS]
    _by_path(files, wanted, strength)
    _by_name(graph, wanted, strength, meant)
    total = sum(strength.values())
    if not total:
        return {}, frozenset()
    alike = EVERYWHERE / len(files)
    told = dict.fromkeys(files, alike)
    for path, value in strength.items():
        told[path] += (1 - EVERYWHERE) * value / total
    return told, frozenset(meant)


def _by_path(files: Iterable[str], words: Sequence[str], strength: dict[str, float]) -> None:
    tails = {word.lower().removeprefix("./") for word in words if "/" in word or "." in word}
    plain = {word.lower() for word in words} - tails
    if not (tails or plain):
        return
    for path in files:
        lower = path.lower()
        gained = sum(_DEFINED for tail in tails if lower == tail or lower.endswith("/" + tail))
        name = lower.rpartition("/")[2]
        stem = name.partition(".")[0]
        if stem in plain:
            gained += _NAMED
        elif plain and not plain.isdisjoint(re.split(r"[\W_]+", lower)):
            gained += _PART
        if gained:
            strength[path] = strength.get(path, 0.0) + gained


def _by_name(graph: Graph, words: Sequence[str], strength: dict[str, float], meant: set[str]) -> None:
    exact = {word for word in words if graph.definers(word)}
    rest = {word.lower() for word in words} - {word.lower() for word in exact}
    meant |= exact
    for word in sorted(exact):
        _spread(graph, word, _DEFINED, strength)
    if not rest:
        return
    found: dict[str, list[str]] = {}
    for name in graph.names():
        lower = name.lower()
        for word in rest:
            if word in lower and (lower == word or word in pieces(name)):
                found.setdefault(word, []).append(name)
    for _, names in sorted(found.items()):
        for name in sorted(names):
            meant.add(name)
            _spread(graph, name, _NAMED / len(names), strength)


def _spread(graph: Graph, name: str, amount: float, strength: dict[str, float]) -> None:
    """Share an amount among the files that define a name."""
    definers = sorted(graph.definers(name))
    for path in definers:
        strength[path] = strength.get(path, 0.0) + amount / len(definers)
