"""The words of source and of questions, as they are compared: identifiers taken apart, endings cut off.

`maxRetries`, `MAX_RETRIES` and "max retries" meet in three terms: `max`, `retri` and the compound `maxretri`. A
compound says much more than its parts, since few places have it; so parts that stand together in an identifier, or in
a question, are terms as well. May import: nothing of ours.
"""

from __future__ import annotations

import re
from functools import lru_cache

IDENTIFIER = re.compile(r"[^\W\d][\w$]*|\d+")
DEFINED = re.compile(
    r"\b(?:class|const|def|enum|fn|func|function|impl|interface|let|macro_rules!|mod|module|static|struct|trait|type|var)"
    r"\s+(?:\([^)]{0,200}\)\s*)?(?:<[^>]{0,200}>\s*)?([^\W\d][\w$]*)"
)
"""A name that gets its meaning here, in the commoner languages: what a file is about rather than what it uses."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_LONGEST = 100
_MOST_PARTS = 8
_TOGETHER = (2, 3)
_DOUBLED = re.compile(r"([b-df-hj-km-np-rtv-y])\1$")

PLAIN = frozenset(
    """
    a about after all also an and any are as at be been before being both but by can could did do does don done
    during each for from had has have he her here him his how i if in into is it its itself just let ll me more
    most my no nor not now of off on once only or other our out over own re s same she should so some such t than
    that the their them then there these they this those through to too under until up use used using ve very via
    was we were what when where which while who whom why will with would you your
    """.split()  # noqa: SIM905
)
"""Words that say nothing about where something is."""


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A lower-case word without its commonest endings: `retries` meets `retry`, `caching` and `cached` meet `cache`."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "i"
    elif len(word) > 4 and word.endswith("sses"):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        word = _DOUBLED.sub(r"\1", word[:-3])
    elif len(word) > 4 and word.endswith("ed"):
        word = _DOUBLED.sub(r"\1", word[:-2])
    word = word[:-1] if len(word) > 3 and word.endswith("e") else word
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


def parts_of(identifier: str) -> list[str]:
    """The words an identifier is made of, in lower case."""
    return [part.lower() for part in _PART.findall(identifier[:_LONGEST])][:_MOST_PARTS]


def compound(parts: list[str]) -> str:
    """The term for parts that stand together."""
    return stem("".join(parts))


@lru_cache(maxsize=200_000)
def terms_of(identifier: str) -> tuple[str, ...]:
    """The terms under which an identifier is found: its parts, pairs and triples of them, and all together."""
    parts = parts_of(identifier)
    terms = [stem(part) for part in parts if len(part) > 1 and part not in PLAIN]
    if len(parts) < 2:
        return tuple(terms)
    terms.append(compound(parts))
    for count in _TOGETHER:
        if count < len(parts):
            terms += [compound(parts[n : n + count]) for n in range(len(parts) - count + 1)]
    return tuple(terms)
