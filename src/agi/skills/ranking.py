"""Which skills fit a text best: words in common, weighed by how rare they are (BM25). Pure; equal in, equal out.

May import: protocol.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from agi.protocol.skills import Skill

_WORD = re.compile(r"[^\W_]+")
_LONGEST_QUERY = 4_000
_NAME_COUNTS = 3
"""How many times a word of the name counts, against one of the description."""
_GROWTH = 1.2
_LENGTH = 0.75
_COMMON = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "how", "i", "if", "in", "into"),
        *("is", "it", "its", "me", "my", "of", "on", "or", "please", "so", "that", "the", "this", "to", "use", "used"),
        *("user", "using", "want", "we", "what", "when", "which", "with", "you", "your"),
    )
)
"""Words that say nothing about what is wanted."""


def ranked(skills: Sequence[Skill], query: str) -> list[tuple[Skill, float]]:
    """All skills with how well each fits, best first; of equals, the project's first, then by name."""
    asked = set(_words(query[:_LONGEST_QUERY]))
    scores = _scores(skills, asked) if asked else [0.0] * len(skills)
    pairs = zip(skills, scores, strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0].source != "project", pair[0].name))


def _scores(skills: Sequence[Skill], asked: set[str]) -> list[float]:
    counts = [_counted(skill) for skill in skills]
    lengths = [count.total() for count in counts]
    average = sum(lengths) / max(len(lengths), 1) or 1.0
    weights = {word: _rarity(sum(word in count for count in counts), len(counts)) for word in sorted(asked)}
    return [
        sum(
            weight * count[word] * (_GROWTH + 1) / (count[word] + _GROWTH * (1 - _LENGTH + _LENGTH * length / average))
            for word, weight in weights.items()
            if word in count
        )
        for count, length in zip(counts, lengths, strict=True)
    ]


def _counted(skill: Skill) -> Counter[str]:
    return Counter((*(_NAME_COUNTS * list(_words(skill.name))), *_words(skill.description)))


def _rarity(holding: int, all_of_them: int) -> float:
    return math.log(1 + (all_of_them - holding + 0.5) / (holding + 0.5))


def _words(text: str) -> Iterable[str]:
    """The words that say something; a plural is its singular."""
    for word in _WORD.findall(text.casefold()):
        if word not in _COMMON:
            yield word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
