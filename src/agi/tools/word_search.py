"""Search word by word: the lines that have most of the words, rarest words first.

For a text that is nowhere as a whole, and for a question whose words are more than the text that is looked for. Case,
plural and the spelling of identifiers (`maxRetries`, `MAX_RETRIES`, "max retries") make no difference. What is found is
near, not equal, and whoever shows it says so. Bounded like the plain search. May import: errors,
tools.matches, tools.plain_search, workspace.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter

from msgspec import Struct

from agi.errors import AgiError
from agi.tools import plain_search
from agi.tools.matches import Match, Query, shown_line
from agi.workspace.handle import Workspace

TIME_LIMIT_S = 2.0
MOST_NEAR = 10
MOST_WORDS = 12
_MOST_CANDIDATES = 5_000
ENOUGH = 0.5
"""How much of the best line's worth another must have to be shown beside it."""
_NAMED = re.compile(
    r"\b(?:class|const|def|enum|fn|func|function|interface|let|struct|type|var)\s+([\w$]+)|([\w.$-]+)[\"']?\s*[:=](?!=)"
)
_REACH = 4
_WORTH_OF_A_NAME = (0.5, 1.5)
"""What a line is worth on top where something that is wanted gets its name or value: in part, and exactly."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+(?:\.\d+)*|[^\W\d_a-zA-Z]+")
_PLAIN = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "do", "doe", "for", "from", "has", "have", "how", "in", "is"}
    | {"it", "its", "of", "on", "or", "that", "the", "thi", "to", "was", "what", "when", "where", "which", "who"}
    | {"why", "with", "class", "def", "file", "function", "import", "line", "return"}
)
"""Words, as they are compared, that say nothing about what is looked for."""


class Near(Struct, frozen=True):
    """Lines that come near, the best first, and files whose names do."""

    matches: tuple[Match, ...] = ()
    paths: tuple[str, ...] = ()


def words_of(text: str) -> list[str]:
    """The words of a text, as they are compared: lower case, without endings, identifiers taken apart."""
    return [_stem(word.lower()) for word in _WORD.findall(text)]


def search(
    workspace: Workspace, query: Query, stop: threading.Event, *, about: str = "", enough: float = ENOUGH
) -> Near:
    """Rank the lines of a file or folder by the query's words, and half as much by those of `about`.

    Lines worth less than `enough` of the best are left out. Ends early once `stop` is set.
    """
    wanted = {**dict.fromkeys(telling_words(about), 0.5), **dict.fromkeys(telling_words(query.text), 1.0)}
    if not wanted:
        return Near()
    until = time.monotonic() + TIME_LIMIT_S
    paths, _ = plain_search.candidates(workspace, query)
    found: list[tuple[Match, frozenset[str]]] = []
    for path in paths:
        if stop.is_set() or time.monotonic() > until or len(found) > _MOST_CANDIDATES:
            break
        found += _lines(path, plain_search.content(workspace, path, query), frozenset(wanted))
    own = telling_words(query.text)
    named = [path for path in paths if not wanted.keys().isdisjoint(words_of(path))]
    best = sorted(_best(found, wanted, own, enough), key=lambda match: own.isdisjoint(words_of(match.text)))
    return Near(tuple(best), tuple(sorted(named)[:MOST_NEAR]))


def around(workspace: Workspace, match: Match | None) -> dict[int, str]:
    """What a line belongs to and what belongs to it, by number: the line it is set in below, the next ones below it.

    Going by indentation, as code and lists do; below a heading, by what follows it.
    """
    if match is None:
        return {}
    try:
        lines = workspace.read_bytes(match.path, plain_search.LARGEST_FILE).data.split(b"\n")
    except (AgiError, OSError):
        return {}
    at = match.line - 1
    own, heading = _indent(lines[at]), lines[at].startswith(b"#")
    above = next((n for n in range(at - 1, max(-1, at - _REACH), -1) if lines[n].strip()), None)
    chosen = [above] if above is not None and _indent(lines[above]) < own else []
    for number in [n for n in range(at + 1, min(len(lines), at + _REACH)) if lines[n].strip()][:2]:
        if _indent(lines[number]) <= own and not (heading and not lines[number].startswith(b"#")):
            break
        chosen.append(number)
    return {number + 1: shown_line(lines[number]) for number in chosen}


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def telling_words(text: str) -> frozenset[str]:
    """The words of a text that say what is looked for, as they are compared."""
    words = [word for word in words_of(text) if word not in _PLAIN and (len(word) > 1 or word.isdigit())]
    return frozenset(words[:MOST_WORDS])


def _lines(path: str, data: bytes, wanted: frozenset[str]) -> list[tuple[Match, frozenset[str]]]:
    # Most files have none of the words: one look at the whole is cheaper than one at each line.
    lower = data.lower()
    if not any(word.encode() in lower for word in wanted):
        return []
    found = []
    for number, line in enumerate(data.split(b"\n"), 1):
        text = shown_line(line)
        hits = wanted.intersection(words_of(text))
        if hits:
            found.append((Match(path, number, text), hits))
    return found


def _best(
    found: list[tuple[Match, frozenset[str]]], wanted: dict[str, float], own: frozenset[str], enough: float
) -> tuple[Match, ...]:
    """The lines worth most: a word counts the more, the fewer lines have it."""
    seen = Counter(word for _, hits in found for word in hits)
    worth = {word: wanted[word] * (1 + math.log(len(found) / count)) for word, count in seen.items()}
    valued = [(sum(worth[word] for word in hits) + _naming(match.text, own), match) for match, hits in found]
    ranked = sorted(valued, key=lambda one: -one[0])
    best = ranked[0][0] if ranked else 0.0
    return tuple(match for value, match in ranked[:MOST_NEAR] if value >= best * enough)


def _naming(line: str, own: frozenset[str]) -> float:
    """What it is worth that a line names something wanted, or gives it a value."""
    named = [set(words_of(found[1] or found[2])) for found in _NAMED.finditer(line)]
    if own in named:
        return _WORTH_OF_A_NAME[1]
    return 0.0 if all(own.isdisjoint(words) for words in named) else _WORTH_OF_A_NAME[0]


def _stem(word: str) -> str:
    """A word without its commonest endings, so that `retries` meets `retry`."""
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            return word.removesuffix(ending) + instead
    return word
