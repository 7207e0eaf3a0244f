"""Ask a repository's questions: check out the tree before each commit, bring one index up to date, rank.

The trees go into one folder one after the other, the oldest first, so that the index is kept up to date rather than
made anew: what a user's index goes through. Source files are those with an ending in `ext`, in a folder of `src` if
it names any, that are no tests by their path; whatever is to be found counts as one.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.index.asking import Question, read_question
from agi.index.ranking import Signs, State, Weights, rank, read_signs, weigh, worths
from agi.index.repo import RepoIndex
from agi.index.selecting import Selector
from agi.workspace.handle import Workspace
from evals.plain_bm25 import PlainBm25

_TEST = re.compile(
    r"(^|/)(tests|__tests__|testdata)/|(^|/)test_[^/]*$|(^|/)[^/]*(_test|\.test|\.spec)\.[^/]*$|(^|/)(tests?|conftest)\.(py|rs)$",
    re.IGNORECASE,
)
NOWHERE = 10**9
_MOST = 300


class Query(Struct, frozen=True):
    """A commit: its message, the one before it, the files to find."""

    id: str
    parent: str
    text: str
    gold: list[str]


class Repository(Struct, frozen=True):
    """A repository's questions, and which of its files are source."""

    repo: str
    ext: list[str]
    src: list[str]
    queries: list[Query]

    def is_source(self, path: str) -> bool:
        """Whether a path is that of a source file which is no test."""
        inside = not self.src or path.startswith(tuple(self.src))
        return inside and path.endswith(tuple(self.ext)) and not _TEST.search(path)


class Asked(Struct):
    """One question asked: what speaks for the files that come into question, and how long ranking them took."""

    gold: frozenset[str]
    paths: list[tuple[str, bool, float, list[float]]]
    """Path, whether it is source, what its kind weighs, its signs in the order of Weights."""
    seconds: float
    baseline: tuple[int, int]

    def ranks(self, weights: Weights) -> tuple[int, int]:
        """Where the first of the right files stands, among all and among source files."""
        factors = msgspec.structs.astuple(weights)
        valued = [
            (-worth * sum(a * b for a, b in zip(factors, signs, strict=True)), path, source)
            for path, source, worth, signs in self.paths
        ]
        return first_right(((path, source) for _, path, source in sorted(valued)), self.gold)


def first_right(order: Iterable[tuple[str, bool]], gold: frozenset[str]) -> tuple[int, int]:
    """The place of the first right file, counted over all and over source files, in an order of both."""
    others = 0
    for place, (path, source) in enumerate(order, 1):
        if path in gold:
            return place, place - others
        others += not source
    return NOWHERE, NOWHERE


async def localise(repository: Repository, git: Path, folder: Path, *, baseline: bool) -> list[Asked]:
    """Ask all questions, in the order of time."""
    tree = folder / "tree"
    _begin(tree, git)
    queries = sorted(repository.queries, key=lambda query: _time_of(tree, query.parent))
    plain = PlainBm25([query.text for query in queries]) if baseline else None
    asked = []
    with Workspace.open(tree) as workspace:
        index = RepoIndex(folder / "cache")
        async with Selector(workspace, folder / "cache", index=index) as selector:
            for query in queries:
                _run(tree, "checkout", "--quiet", "--force", "--detach", query.parent)
                _run(tree, "clean", "-qfdx")
                await selector.refresh()
                await selector.link()
                asked.append(_ask(selector, repository, query))
                if plain is not None:
                    order = plain.rank(tree, query.text)
                    marked = ((path, repository.is_source(path) or path in query.gold) for path in order)
                    asked[-1].baseline = first_right(marked, frozenset(query.gold))
        index.close()
    return asked


def _ask(selector: Selector, repository: Repository, query: Query) -> Asked:
    state, kept = selector.opened()
    rank(state, kept, read_question(query.text), 20)  # warm
    began = time.perf_counter()
    rank(state, kept, read_question(query.text), 20)
    seconds = time.perf_counter() - began
    question = read_question(query.text)
    signs = read_signs(state, kept, question)
    totals = weigh(state, signs, question, Weights())
    best = sorted(totals, key=lambda n: -totals[n])[:_MOST]
    gold = frozenset(query.gold)
    rows = [_row(n, state, signs, question, repository, gold) for n in best]
    return Asked(gold, rows, seconds, (NOWHERE, NOWHERE))


def _row(
    n: int, state: State, signs: Signs, question: Question, repository: Repository, gold: frozenset[str]
) -> tuple[str, bool, float, list[float]]:
    path = state.paths[n]
    worth = worths(state, signs, question, [n])[n]
    values = {**signs.values, "recent": state.recent}
    row = [values.get(name, {}).get(n, 0.0) for name in Weights.__struct_fields__]
    return path, repository.is_source(path) or path in gold, worth, row


def _begin(tree: Path, git: Path) -> None:
    """A folder of its own that borrows the objects of a repository, which is only read."""
    tree.mkdir()
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    (tree / ".git" / "objects" / "info" / "alternates").write_text(f"{git.resolve()}/objects\n")


def _time_of(tree: Path, commit: str) -> int:
    return int(_run(tree, "log", "-1", "--format=%ct", commit))


def _run(tree: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(tree), *args], check=True, capture_output=True, text=True)
    return done.stdout
