"""How well the text of files fits a question: BM25 over chunks, then over the files they are of.

Chunks rather than files, since a large file has every word somewhere; the best chunk counts most, the next ones a
little. Takes tables and postings; where they are kept is not its business. May import: index.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from agi.index.postings import Indexed

K1 = 1.2
B = 0.75
_NEXT = 0.3
_FADING = 0.5
_MOST_NEXT = 5
_LEAST = 0.1
"""In shares of the best, what a chunk must be worth to be looked at."""
MOST_PLACES = 3
MOST_POSTINGS = 100_000
"""Postings that are looked at for a question, the rarest terms first: what bounds the time it takes."""


class Fit(Struct, frozen=True):
    """How well a file fits, and its best chunks, counted from its first one."""

    score: float
    chunks: tuple[int, ...]


class Tables:
    """Which file each chunk is of and how long it is, for some files; dead chunks are nobody's."""

    def __init__(self, files: Sequence[Indexed]) -> None:
        self.files = files
        size = max((file.first + len(file.lengths) for file in files), default=0)
        self.owners = array("i", [-1]) * size
        lengths = array("d", [math.inf]) * size
        for n, file in enumerate(files):
            end = file.first + len(file.lengths)
            self.owners[file.first : end] = array("i", [n]) * len(file.lengths)
            lengths[file.first : end] = array("d", file.lengths)
        self.live = sum(len(file.lengths) for file in files)
        mean = sum(sum(file.lengths) for file in files) / self.live if self.live else 1.0
        self.norms = [K1 * (1 - B + B * length / (mean or 1.0)) for length in lengths]
        """What BM25 adds below the line for each chunk; infinite, and so without effect, for dead ones."""


def fits(tables: Tables, terms: Mapping[str, float], postings: Iterable[tuple[str, array[int]]]) -> dict[int, Fit]:
    """How well each file fits that has at least one of the terms."""
    norms = tables.norms
    scores = [0.0] * len(norms)
    room = MOST_POSTINGS
    for term, row in sorted(postings, key=lambda one: len(one[1])):
        if room < len(row) and room < MOST_POSTINGS:
            break  # what so many chunks have says little beside the rarer terms
        room -= len(row)
        end = bisect_left(row, len(norms) << 8)  # chunks that came after the tables were read
        weight = terms[term] * _rarity(tables.live, end)
        for posting in row if end == len(row) else row[:end]:
            count = posting & 0xFF
            scores[posting >> 8] += weight * count / (count + norms[posting >> 8])
    return _by_file(tables, scores)


def _rarity(chunks: int, having: int) -> float:
    having = min(having, chunks)
    return math.log(1 + (chunks - having + 0.5) / (having + 0.5)) * (K1 + 1)


def _by_file(tables: Tables, scores: Sequence[float]) -> dict[int, Fit]:
    owners = tables.owners
    grouped: dict[int, list[tuple[float, int]]] = {}
    least = max(scores, default=0.0) * _LEAST
    for chunk, score in enumerate(scores):
        if score > least:
            grouped.setdefault(owners[chunk], []).append((score, chunk))
    found = {}
    for n, chunks in grouped.items():
        chunks.sort(key=lambda one: (-one[0], one[1]))
        more = sum(score * _FADING**place for place, (score, _) in enumerate(chunks[1 : 1 + _MOST_NEXT]))
        first = tables.files[n].first
        found[n] = Fit(chunks[0][0] + _NEXT * more, tuple(chunk - first for _, chunk in chunks[:MOST_PLACES]))
    return found
