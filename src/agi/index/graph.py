"""Who uses whom: files point to the files that define the names they use.

Changed file by file. Which names count for how much is decided here: a rare, specific name says more about a file than
`get`, and says nothing about files in another language. A graph that was changed step by step is the same as one made
at once. May import: index.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping

from agi.index.languages import family_of
from agi.index.links import Links
from agi.index.symbols import Symbols

MOST_DEFINERS = 40
"""A name that more files define says nothing about any of them."""
MOST_EDGES = 16
"""How many files one points to; the strongest count."""

_SPECIFIC = 8
_SHORT = 4

Edges = tuple[tuple[str, ...], tuple[float, ...]]
"""The files one points to, and how much of it goes to each; that adds up to 1."""
_NO_EDGES: Edges = ((), ())


def specificity(name: str) -> float:
    """How much a name says by itself: long and composed ones much, short and private ones little."""
    worth = 1.0
    if len(name) >= _SPECIFIC and ("_" in name.strip("_") or not (name.islower() or name.isupper())):
        worth *= 3.0
    if len(name) < _SHORT:
        worth *= 0.2
    if name.startswith("_"):
        worth *= 0.2
    return worth


class Graph:
    """Files, the names they define and use, and the edges that follow from them."""

    def __init__(self) -> None:
        self._defines: dict[str, frozenset[str]] = {}
        self._uses: dict[str, Mapping[str, int]] = {}
        self._families: dict[str, str] = {}
        self._definers: dict[str, set[str]] = {}
        self._users: dict[str, set[str]] = {}
        self._edges: dict[str, Edges] = {}
        self._into: dict[str, dict[str, float]] = {}
        self._inflow: dict[str, Edges] = {}
        self._stale: set[str] = set()
        self._told: dict[str, tuple[str, ...]] = {}
        self._untold: set[str] = set()
        self._links: tuple[int, Links] | None = None
        self.version = 0
        """Counts changes, so that what was worked out can be kept until the next."""

    def put(self, path: str, symbols: Symbols) -> None:
        """Add a file, or say what it holds now."""
        defines = frozenset(one.name for one in symbols.definitions)
        before, uses = self._defines.get(path, frozenset()), self._uses.get(path, {})
        if path in self._defines and before == defines and uses == symbols.references:
            return
        self._redefine(path, before - defines, defines - before)
        self._reuse(path, uses.keys() - symbols.references.keys(), symbols.references.keys() - uses.keys())
        self._defines[path], self._uses[path] = defines, symbols.references
        self._families[path] = family_of(path)
        self._stale.add(path)
        self.version += 1

    def remove(self, path: str) -> None:
        """Forget a file."""
        if path not in self._defines:
            return
        self._redefine(path, self._defines.pop(path), ())
        self._reuse(path, self._uses.pop(path).keys(), ())
        del self._families[path]
        self._stale.add(path)
        self.version += 1

    def _redefine(self, path: str, gone: Iterable[str], new: Iterable[str]) -> None:
        for names, is_defined in ((gone, False), (new, True)):
            for name in names:
                self._note(self._definers, name, path, is_defined)
                self._stale.update(self._users.get(name, ()))
                self._untold.add(name)

    def _reuse(self, path: str, gone: Iterable[str], new: Iterable[str]) -> None:
        for names, is_used in ((gone, False), (new, True)):
            for name in names:
                before = len(self._users.get(name, ())).bit_length()
                self._note(self._users, name, path, is_used)
                # How many use a name counts only roughly, so that one user more seldom changes the others' edges.
                if len(self._users.get(name, ())).bit_length() != before and name in self._definers:
                    self._stale.update(self._users.get(name, ()))

    @staticmethod
    def _note(table: dict[str, set[str]], name: str, path: str, is_there: bool) -> None:
        if is_there:
            table.setdefault(name, set()).add(path)
            return
        table[name].discard(path)
        if not table[name]:
            del table[name]

    def definers(self, name: str) -> frozenset[str]:
        """The files that define a name."""
        return frozenset(self._definers.get(name, ()))

    def names(self) -> Iterable[str]:
        """Every name that is defined."""
        return self._definers.keys()

    def users(self, name: str) -> int:
        """How many files use a name."""
        return len(self._users.get(name, ()))

    def worth(self, name: str) -> float:
        """What one use of a name says about each file that defines it."""
        count = len(self._definers.get(name, ()))
        if not 0 < count <= MOST_DEFINERS:
            return 0.0
        return specificity(name) / (count * (1 + len(self._users.get(name, ())).bit_length()))

    def edges(self) -> Mapping[str, Edges]:
        """The files each file points to, and how much of it goes to each; of each file that adds up to 1."""
        self._settle()
        return self._edges

    def inflow(self) -> Mapping[str, Edges]:
        """The same turned around: the files that point to each file, in the order of their names."""
        self._settle()
        return self._inflow

    def links(self) -> Links:
        """All of it as it is now, for whoever must not wait for the next change."""
        if self._links is None or self._links[0] != self.version:
            self._settle()
            for name in self._untold:
                if definers := self._definers.get(name):
                    self._told[name] = tuple(sorted(definers))
                else:
                    self._told.pop(name, None)
            self._untold.clear()
            links = Links(outflow=dict(self._edges), inflow=dict(self._inflow), definers=dict(self._told))
            self._links = self.version, links
        return self._links[1]

    def _settle(self) -> None:
        """Work out the edges of files whose names, or the worth of them, changed."""
        touched: set[str] = set()
        for path in self._stale:
            touched.update(self._let_go(path))
            if path in self._uses:
                self._edges[path] = self._from(path)
                for target, share in zip(*self._edges[path], strict=True):
                    self._into.setdefault(target, {})[path] = share
                    touched.add(target)
        self._stale.clear()
        for target in touched:
            sources = sorted(self._into.get(target, ()))
            if sources:
                self._inflow[target] = tuple(sources), tuple(map(self._into[target].__getitem__, sources))
            else:
                self._inflow.pop(target, None)
                self._into.pop(target, None)

    def _let_go(self, path: str) -> Iterable[str]:
        """Take away the edges of a file; says where they led."""
        targets, _ = self._edges.pop(path, _NO_EDGES)
        for target in targets:
            self._into[target].pop(path, None)
        return targets

    def _from(self, path: str) -> Edges:
        weights: dict[str, float] = {}
        definers, own = self._definers, self._defines[path]
        families, family = self._families, self._families[path]
        for name, count in self._uses[path].items():
            if name not in definers or name in own:
                continue
            weight = self.worth(name) * math.sqrt(min(count, 100))
            if weight:
                for target in definers[name]:
                    if families[target] == family:
                        weights[target] = weights.get(target, 0.0) + weight
        weights.pop(path, None)
        if not weights:
            return _NO_EDGES
        kept = heapq.nsmallest(MOST_EDGES, ((-weight, target) for target, weight in weights.items()))
        total = -sum(weight for weight, _ in kept)
        return tuple(target for _, target in kept), tuple(-weight / total for weight, _ in kept)
