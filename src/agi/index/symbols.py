"""The symbols of one file: what it defines and which names it uses.

    >>> read_symbols("src/shop.py", b"class Cart:\\n    def add(self, item): return price(item)\\n")
    Symbols(language='python', definitions=(Definition(name='Cart', kind='class', line=1, end_line=2, …), …), …)

A pure function of a path, which tells the language, and of bytes. A file that is too large, binary, minified or in a
language without a grammar has no symbols; nothing raises. But the parser is a C library that a hostile file may keep
busy or crash, and it holds the interpreter while it runs: in the daemon, ask `parsing` instead, which calls this in a
process of its own and can end it. May import: index.languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.index.languages import Loaded, language_of, load

if TYPE_CHECKING:
    from tree_sitter import Node

LARGEST_FILE = 512 * 1024
"""Bytes of a file that is parsed; a larger one is rarely written by hand."""
MOST_DEFINITIONS = 2_000
MOST_NAMES = 4_000
LONGEST_NAME = 100
LONGEST_SIGNATURE = 160

_LONGEST_LINES = 400
"""The mean length of lines above which a file of some size is taken as made by a program."""
_LOOKED_AT = 32 * 1024
_MATCH_LIMIT = 10_000
_WORDS = re.compile(rb"[\w \t]{0,80}")
_HOLDERS = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "extension"})
"""Kinds whose functions are methods."""


class Definition(Struct, frozen=True):
    """Something a file gives a name to; lines count from 1."""

    name: str
    kind: str
    """class, interface, struct, enum, trait, impl, extension, type, function, method, constant, macro, module, …"""
    line: int
    end_line: int
    parent: str = ""
    """The name of the definition around it; empty at the top."""
    signature: str = ""
    """The line it begins with, without blanks around it."""


class Symbols(Struct, frozen=True):
    """What a file defines, in the order of its lines, and how often it uses each name."""

    language: str = ""
    """Empty for a file whose language is not known, or has no grammar."""
    definitions: tuple[Definition, ...] = ()
    references: Mapping[str, int] = {}
    partial: bool = False
    """Whether not all of it was looked at."""


NONE = Symbols()


def read_symbols(path: str, data: bytes) -> Symbols:
    """Find what a file defines and uses; `path` only tells its language, nothing is opened."""
    language = language_of(path)
    if not language or (loaded := load(language)) is None:
        return NONE
    if not is_source(data):
        return Symbols(language=language, partial=bool(data))
    return _Reading(loaded, data).symbols(language)


def is_source(data: bytes) -> bool:
    """Whether bytes look like something a person wrote, of a size that is parsed."""
    if not data or len(data) > LARGEST_FILE or b"\0" in data[:_LOOKED_AT]:
        return False
    return len(data) < _LOOKED_AT or len(data) / (data.count(b"\n") + 1) <= _LONGEST_LINES


class _Reading:
    """One file being read."""

    def __init__(self, loaded: Loaded, data: bytes) -> None:
        self._loaded = loaded
        self._data = data
        self._partial = False

    def symbols(self, language: str) -> Symbols:
        from tree_sitter import Parser

        tree = Parser(self._loaded.language).parse(self._data)
        places: dict[int, tuple[Definition, int]] = {}
        names: set[int] = set()
        self._define(tree.root_node, places, names)
        references = self._refer(tree.root_node, names)
        return Symbols(language, _nested(places), references, self._partial)

    def _define(self, root: Node, places: dict[int, tuple[Definition, int]], names: set[int]) -> None:
        from tree_sitter import QueryCursor

        cursor = QueryCursor(self._loaded.definitions, match_limit=_MATCH_LIMIT)
        for _, captures in cursor.matches(root):
            named = captures["name"][0]
            kind = next(one for one in captures if one not in ("name", "keyword"))
            whole = captures[kind][0]
            at, end = named.start_byte, named.end_byte
            names.add(at)
            if at in places or end - at > LONGEST_NAME or end == at:
                continue
            if len(places) >= MOST_DEFINITIONS:
                self._partial = True
                return
            found = Definition(
                self._text(at, end),
                kind,
                whole.start_point.row + 1,
                _last_line(whole),
                signature=self._signature(whole.start_byte, at),
            )
            places[whole.start_byte if whole.start_byte not in places else at] = (found, whole.end_byte)

    def _refer(self, root: Node, names: set[int]) -> Mapping[str, int]:
        from tree_sitter import QueryCursor

        cursor = QueryCursor(self._loaded.references, match_limit=_MATCH_LIMIT)
        nodes = cursor.captures(root).get("reference", [])
        spans = {node.start_byte: node.end_byte for node in nodes}
        data = self._data
        counted = Counter(data[at:end] for at, end in spans.items() if at not in names and 1 < end - at <= LONGEST_NAME)
        if len(counted) > MOST_NAMES:
            self._partial = True
        most = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:MOST_NAMES]
        return {name.decode(errors="replace"): count for name, count in sorted(most)}

    def _text(self, start: int, end: int) -> str:
        return self._data[start:end].decode(errors="replace")

    def _signature(self, start: int, name: int) -> str:
        """The line on which the name stands; attributes stand above it, and what shares its line is left out."""
        data = self._data
        line = data.rfind(b"\n", 0, name) + 1
        # Words before it belong to it (`export`, `type`, `const`), though a grammar may see it otherwise.
        begin = start if start > line and not _WORDS.fullmatch(data, line, start) else line
        end = data.find(b"\n", name)
        end = len(data) if end < 0 else end
        text = self._text(begin, min(end, begin + 4 * LONGEST_SIGNATURE)).strip()
        return text if len(text) <= LONGEST_SIGNATURE else text[: LONGEST_SIGNATURE - 1] + "…"


def _last_line(node: Node) -> int:
    """The last line something stands on; what ends at the very beginning of a line does not stand on it."""
    (first, _), (last, column) = node.start_point, node.end_point
    return last if column == 0 and last > first else last + 1


def _nested(places: Mapping[int, tuple[Definition, int]]) -> tuple[Definition, ...]:
    """Definitions in order, each told which one it stands in; functions of a class are methods."""
    found: list[Definition] = []
    around: list[tuple[int, Definition]] = []
    for start, (one, end) in sorted(places.items()):
        while around and around[-1][0] <= start:
            around.pop()
        kind, parent = one.kind, ""
        if around:
            parent = around[-1][1].name
            kind = "method" if kind == "function" and around[-1][1].kind in _HOLDERS else kind
        found.append(Definition(one.name, kind, one.line, one.end_line, parent, one.signature))
        around.append((end, found[-1]))
    return tuple(found)
