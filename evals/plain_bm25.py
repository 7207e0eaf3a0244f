"""The baseline: BM25 over chunks of 60 lines, words split at case and underscores, endings cut off; nothing else."""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from agi.index.words import IDENTIFIER, PLAIN, parts_of, stem

LINES = 60
K1, B = 1.2, 0.75
_LARGEST = 1_000_000


def words_of(text: str) -> list[str]:
    """The words of a text, without those that say nothing."""
    parts = (part for name in IDENTIFIER.findall(text) for part in parts_of(name))
    return [stem(part) for part in parts if len(part) > 1 and part not in PLAIN]


class PlainBm25:
    """Ranks trees for questions known from the start; only their words are counted, by the content of a file."""

    def __init__(self, questions: Iterable[str]) -> None:
        self._wanted = {word for text in questions for word in words_of(text)}
        self._known: dict[str, list[tuple[int, Counter[str]]]] = {}

    def rank(self, tree: Path, question: str) -> list[str]:
        """The files of a tree with at least one word, the best chunk's value first."""
        listed = subprocess.run(["git", "-C", str(tree), "ls-files", "-sz"], check=True, capture_output=True).stdout
        entries = [entry.decode(errors="replace").partition("\t") for entry in listed.split(b"\0")[:-1]]
        chunks = [
            (path, length, counts)
            for head, _, path in entries
            for length, counts in self._chunks(tree / path, head.split()[1])
        ]
        wanted = set(words_of(question))
        having = Counter(word for _, _, counts in chunks for word in wanted & counts.keys())
        mean = sum(length for _, length, _ in chunks) / max(1, len(chunks))
        rarity = {word: math.log(1 + (len(chunks) - n + 0.5) / (n + 0.5)) for word, n in having.items()}
        best: dict[str, float] = {}
        for path, length, counts in chunks:
            norm = K1 * (1 - B + B * length / mean)
            score = sum(
                rarity[word] * counts[word] * (K1 + 1) / (counts[word] + norm) for word in wanted & counts.keys()
            )
            if score > best.get(path, 0.0):
                best[path] = score
        return sorted(best, key=lambda path: (-best[path], path))

    def _chunks(self, file: Path, blob: str) -> Sequence[tuple[int, Counter[str]]]:
        if blob not in self._known:
            self._known[blob] = list(self._cut(file))
        return self._known[blob]

    def _cut(self, file: Path) -> Iterable[tuple[int, Counter[str]]]:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST:
            return
        data = file.read_bytes()
        if b"\0" in data[:8000]:
            return
        lines = data.decode(errors="replace").split("\n")
        for first in range(0, len(lines), LINES):
            words = words_of("\n".join(line[:2000] for line in lines[first : first + LINES]))
            yield len(words), Counter(word for word in words if word in self._wanted)
