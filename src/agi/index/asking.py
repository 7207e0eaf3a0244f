"""A question read for what it can be found by: terms with weights, identifiers, paths and commits it names.

A question is free text: a request, a commit's message, a stack trace. What is written like code weighs more than plain
words, the first line more than the rest; addresses and trailers weigh nothing. May import: index.words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from agi.index.words import IDENTIFIER, PLAIN, compound, parts_of, stem

LONGEST = 20_000
"""Characters of a question that are read."""
MOST_TERMS = 200
_MOST_NAMED = 50

_AS_CODE = 1.5
_COMPOUND = 1.0
_ADJACENT = 0.7
_REST = 0.5
"""What a term is worth: written as code, as one identifier, as words side by side; anywhere but in the first line."""

# The patterns below take a time that grows with the square of a run without blanks; so runs are short.
_RUN = re.compile(r"(\S{200})\S+")
_ADDRESS = re.compile(r"https?://\S+")
_TRAILER = re.compile(r"(?im)^(?:co-authored-by|signed-off-by|reviewed-by|closes?|thanks)\b.*$")
_CODE = re.compile(
    r"`[^`\n]{1,300}`|[A-Za-z]\w*(?:(?:\.|::|->|/)[A-Za-z_]\w*)+|\w+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|\w+\(\)"
)
_PATH = re.compile(r"[\w.@+\-\[\]]+(?:[/\\][\w.@+\-\[\]]+)+|[\w\-]+(?:\.[\w\-]+)*\.[A-Za-z]\w{0,9}")
_COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_MEANT = {
    "test": frozenset({"test", "testcas", "spec", "fixtur", "unittest", "pytest"}),
    "doc": frozenset({"doc", "document", "documentation", "readm", "changelog", "docstr"}),
}


class Question(Struct, frozen=True):
    """What a text asks for."""

    terms: Mapping[str, float]
    names: tuple[str, ...] = ()
    """Identifiers it writes as code."""
    paths: tuple[str, ...] = ()
    """Paths it names, as it writes them."""
    commits: tuple[str, ...] = ()
    """Hashes it names, perhaps cut short."""
    about: frozenset[str] = frozenset()
    """Kinds of files its first line speaks of: test, doc."""


def read_question(text: str) -> Question:
    """Read a text; one that says nothing has no terms."""
    text = text[:LONGEST].encode(errors="replace").decode()  # half a pair of UTF-16 is no text
    text = _RUN.sub(r"\1", _TRAILER.sub(" ", _ADDRESS.sub(" ", text))).strip()
    first, _, rest = text.partition("\n")
    terms: dict[str, float] = {}
    for part, worth in ((first, 1.0), (rest, _REST)):
        for term, weight in _terms(part):
            terms[term] = max(terms.get(term, 0.0), weight * worth)
    best = sorted(terms, key=lambda term: -terms[term])[:MOST_TERMS]
    words = {stem(part) for name in IDENTIFIER.findall(first) for part in parts_of(name)}
    names = (name for code in _CODE.findall(text) for name in IDENTIFIER.findall(code))
    return Question(
        terms={term: terms[term] for term in best},
        names=tuple(dict.fromkeys(names))[:_MOST_NAMED],
        paths=tuple(dict.fromkeys(_PATH.findall(text)))[:_MOST_NAMED],
        commits=tuple(dict.fromkeys(_COMMIT.findall(text)))[:_MOST_NAMED],
        about=frozenset(kind for kind, signs in _MEANT.items() if signs & words),
    )


def _terms(text: str) -> list[tuple[str, float]]:
    """The terms of one part of a question, with what each is worth there."""
    code = bytearray(len(text))
    for span in _CODE.finditer(text):
        code[span.start() : span.end()] = b"\1" * (span.end() - span.start())
    found: list[tuple[str, float]] = []
    row: list[str] = []  # words side by side; an empty one parts them
    for match in IDENTIFIER.finditer(text):
        parts, is_code = parts_of(match.group()), bool(code[match.start()])
        for part in parts:
            telling = len(part) > 1 and part not in PLAIN and not (part.isdigit() and len(part) < 3 and not is_code)
            row.append(part if telling else "")
            if telling:
                found.append((stem(part), _AS_CODE if is_code else 1.0))
        if len(parts) > 1:
            found.append((compound(parts), _COMPOUND * _AS_CODE))
    for count in (2, 3):
        for n in range(len(row) - count + 1):
            if all(row[n : n + count]):
                found.append((compound(row[n : n + count]), _ADJACENT))
    return found
