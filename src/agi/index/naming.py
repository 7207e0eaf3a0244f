"""Which files a question names: by a path in it, or by words that their names and folders are made of.

Knows paths only, never content. May import: index.words.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from agi.index.words import IDENTIFIER, compound, parts_of, stem

_MOST_ALIKE = 8
"""Files of one name among which a path in a question can choose; `index.js` alone says nothing in a large tree."""
_WHOLE = 0.5
"""What it adds that a file's whole name is in the question, in shares of the rarest word's worth."""


class Names:
    """The names of some files, by their words; a file is its place in the sequence given."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._in_name: dict[str, list[int]] = defaultdict(list)
        self._in_folder: dict[str, list[int]] = defaultdict(list)
        self._whole: dict[str, list[int]] = defaultdict(list)
        self._files: dict[str, list[int]] = defaultdict(list)
        self._parts: list[int] = []
        folders: dict[str, frozenset[str]] = {}
        for n, path in enumerate(paths):
            folder, _, name = path.rpartition("/")
            self._files[name].append(n)
            if folder not in folders:
                folders[folder] = frozenset(map(stem, _parts(folder)))
            self._note(n, _parts(name.rpartition(".")[0] or name), folders[folder])

    def _note(self, n: int, parts: list[str], folders: frozenset[str]) -> None:
        words = {stem(part) for part in parts}
        self._parts.append(len(words) or 1)
        for word in words:
            self._in_name[word].append(n)
        for word in folders - words:
            self._in_folder[word].append(n)
        if len(parts) > 1:
            self._whole[compound(parts)].append(n)

    def by_words(self, terms: Mapping[str, float]) -> tuple[dict[int, float], dict[int, float]]:
        """How well the names of files fit, and how well those of their folders; a rare word counts more."""
        worth = {term: weight * self._rarity(term) for term, weight in terms.items()}
        names: dict[int, float] = defaultdict(float)
        found: dict[int, int] = defaultdict(int)
        folders: dict[int, float] = defaultdict(float)
        for term, value in worth.items():
            for n in self._in_name.get(term, ()):
                names[n] += value
                found[n] += 1
            for n in self._in_folder.get(term, ()):
                folders[n] += value
        most = max(worth.values(), default=0.0)
        for term, weight in terms.items():
            for n in self._whole.get(term, ()):
                names[n] += min(weight, 1.0) * most * _WHOLE
        return {n: value * (0.5 + 0.5 * found[n] / self._parts[n]) for n, value in names.items()}, dict(folders)

    def by_path(self, mentioned: Iterable[str]) -> dict[int, float]:
        """The files whose paths a question writes out, to their end at least; shared by those that fit alike."""
        found: dict[int, float] = {}
        for path in mentioned:
            asked = path.replace("\\", "/").strip("./").split("/")
            fitting = [n for n in self._files.get(asked[-1], ()) if _ends_alike(asked, self._paths[n].split("/"))]
            if len(fitting) <= _MOST_ALIKE:
                for n in fitting:
                    found[n] = max(found.get(n, 0.0), 1 / math.sqrt(len(fitting)))
        return found

    def _rarity(self, term: str) -> float:
        count = len(self._in_name.get(term, ())) + len(self._in_folder.get(term, ()))
        return math.log(1 + len(self._paths) / (1 + count))


def _parts(path: str) -> list[str]:
    return [part for name in IDENTIFIER.findall(path) for part in parts_of(name)]


def _ends_alike(asked: list[str], path: list[str]) -> bool:
    """Whether the shorter of two paths is the end of the other; one from another machine begins elsewhere."""
    count = min(len(asked), len(path))
    return asked[-count:] == path[-count:]
