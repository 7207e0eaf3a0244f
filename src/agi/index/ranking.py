"""Which files a question is about: what each sign says, brought to one scale and added up.

Eight signs with a weight each: text, name, folder, resembling commits, a commit or a path that is named, recent change,
and who uses whom: what defines a name in the question, and what is near that and the files best by the other signs.
Each is divided by the best file's, so that no sign needs to know another's scale. The sum counts less for kinds of
files that are rarely meant. Pure: takes an opened state and a question. May import: index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import TypeVar

from msgspec import Struct, structs

from agi.index.asking import Question
from agi.index.history import Past
from agi.index.kinds import kind_of, worth_of
from agi.index.lexical import Fit, Tables, fits
from agi.index.links import Links
from agi.index.naming import Names
from agi.index.postings import Postings

_WORTH_TELLING = 0.3
_STARTS = 5
"""Files, the best by the other signs, from which links are followed."""
_Key = TypeVar("_Key")


class Weights(Struct, frozen=True):
    """What each sign counts beside the text, which counts 1. How they were found: docs/adr/0036 and 0048."""

    text: float = 1.0
    name: float = 0.3
    folder: float = 0.2
    alike: float = 0.2
    commit: float = 0.5
    path: float = 1.0
    recent: float = 0.05
    linked: float = 0.1


class State:
    """An index as it stands: tables, names and the past of one moment."""

    def __init__(self, tables: Tables, past: Past) -> None:
        self.tables = tables
        self.paths = [file.path for file in tables.files]
        self.places = {path: n for n, path in enumerate(self.paths)}
        self.kinds = [kind_of(path) for path in self.paths]
        self.names = Names(self.paths)
        self.past = past
        self.recent = scaled(self.only_here(past.recent))
        self.links: Links | None = None
        """Who uses whom; without it files are ranked by the other signs."""

    def only_here(self, by_path: Mapping[str, float]) -> dict[int, float]:
        """Values of paths as values of files; what is not there any more has none."""
        return {self.places[path]: value for path, value in by_path.items() if path in self.places}


class Ranked(Struct, frozen=True):
    """A file, what it is worth, its best chunks, and what speaks for it."""

    path: str
    score: float
    chunks: tuple[int, ...]
    why: tuple[str, ...]


def scaled(values: Mapping[_Key, float]) -> dict[_Key, float]:
    """Values in shares of the largest."""
    most = max(values.values(), default=0.0)
    return {key: value / most for key, value in values.items()} if most > 0 else {}


class Signs(Struct, frozen=True):
    """What speaks for each file: by the name of the sign, the file's place and its share of the best."""

    values: Mapping[str, Mapping[int, float]]
    fits: Mapping[int, Fit]
    witnesses: Mapping[str, str]
    """By path, the commit whose message is alike."""
    commits: Mapping[str, str]
    """By path, the commit that is named."""
    defined: Mapping[str, str] = {}
    """By path, the name that is in the question and defined there."""


def read_signs(state: State, kept: Postings, question: Question) -> Signs:
    """Ask every sign about a question."""
    found = fits(state.tables, question.terms, kept.of(question.terms))
    names, folders = state.names.by_words(question.terms)
    alike, witnesses = state.past.alike(question.terms)
    commits = state.past.of(question.commits)
    values = {
        "text": scaled({n: fit.score for n, fit in found.items()}),
        "name": scaled(names),
        "folder": scaled(folders),
        "alike": scaled(state.only_here(alike)),
        "commit": state.only_here(dict.fromkeys(commits, 1.0)),
        "path": state.names.by_path(question.paths),
    }
    signs = Signs(values, found, witnesses, commits)
    return signs if state.links is None else _with_links(state, state.links, signs, question)


def _with_links(state: State, links: Links, signs: Signs, question: Question) -> Signs:
    """One sign more: what is near the files that the others speak for most, and near what defines a name in it.

    Where it starts counts there as well, or what lies around the best file would come to stand above it.
    """
    totals = weigh(state, signs, question, Weights())
    best = nlargest(_STARTS, totals, key=lambda n: (totals[n], -n))
    start = scaled({state.paths[n]: totals[n] for n in best})
    defining = links.defining(question.names)
    for path, share in scaled({path: share for path, (share, _) in defining.items()}).items():
        start[path] = max(share, start.get(path, 0.0))
    near = scaled(links.near({path: share**2 for path, share in start.items()}))
    linked = {path: max(near.get(path, 0.0), start.get(path, 0.0)) for path in near.keys() | start.keys()}
    values = {**signs.values, "linked": state.only_here(linked)}
    return structs.replace(signs, values=values, defined={path: name for path, (_, name) in defining.items()})


def weigh(state: State, signs: Signs, question: Question, weights: Weights) -> dict[int, float]:
    """What each file is worth for which anything speaks."""
    totals: dict[int, float] = {}
    for name, values in signs.values.items():
        weight: float = getattr(weights, name)
        for n, value in values.items():
            totals[n] = totals.get(n, 0.0) + weight * value
    worth = worths(state, signs, question, totals)
    # Recent change alone brings no file in: it is no sign that the question is about it.
    return {n: (total + weights.recent * state.recent.get(n, 0.0)) * worth[n] for n, total in totals.items()}


def worths(state: State, signs: Signs, question: Question, files: Iterable[int]) -> dict[int, float]:
    """What files weigh by their kinds beside source; one whose path is named weighs as much."""
    named = signs.values["path"]
    table = {kind: worth_of(kind, question.about) for kind in set(state.kinds)}
    return {n: 1.0 if n in named else table[state.kinds[n]] for n in files}


def rank(state: State, kept: Postings, question: Question, limit: int) -> list[Ranked]:
    """The files that fit best, at most `limit`, the best first; equal ones by path."""
    signs = read_signs(state, kept, question)
    totals = weigh(state, signs, question, Weights())
    best = sorted(totals, key=lambda n: (-totals[n], state.paths[n]))[:limit]
    return [_ranked(n, state.paths[n], totals[n], signs) for n in best]


def _ranked(n: int, path: str, total: float, signs: Signs) -> Ranked:
    chunks = signs.fits[n].chunks if n in signs.fits else ()
    return Ranked(path, round(total, 4), chunks, tuple(_why(n, path, signs)))


def _why(n: int, path: str, signs: Signs) -> Iterable[str]:
    values = signs.values
    if n in values["path"]:
        yield "its path is named"
    if n in values["commit"]:
        yield f"changed by commit {signs.commits[path][:10]}, which is named"
    if path in signs.defined:
        yield f"defines {signs.defined[path]}, which is named"
    if n in values["text"]:
        yield f"its text fits ({values['text'][n]:.0%} of the best)"
    if values["name"].get(n, 0.0) >= _WORTH_TELLING:
        yield "its name fits"
    if values["folder"].get(n, 0.0) >= _WORTH_TELLING:
        yield "its folder fits"
    if values["alike"].get(n, 0.0) >= _WORTH_TELLING:
        yield f"changed by commit {signs.witnesses[path][:10]}, whose message is alike"
    if values.get("linked", {}).get(n, 0.0) >= _WORTH_TELLING and n not in values["text"]:
        yield "uses files that fit, or is used by them"
