"""What the past says about a question: files that were changed by commits whose messages resemble it, and lately.

The last three thousand commits are read through the hardened git, which runs nothing of the repository's; a folder
without a repository has no past. Messages are hostile text and only ever counted. Where it is kept is not its
business. May import: errors, index, workspace.
"""

from __future__ import annotations

import heapq
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from agi.errors import AgiError
from agi.index.asking import read_question
from agi.workspace.git import git
from agi.workspace.handle import Workspace
from agi.workspace.repository import repository_root

MOST_COMMITS = 3_000
_LONGEST_MESSAGE = 2_000
_MOST_BYTES = 16 << 20
_TIME_S = 30.0
_SWEEPING = 30
"""Files above which a commit says nothing about any of them."""
_ALIKE = 25
_HALF_ALIKE = 700
_HALF_RECENT = 200
"""Commits after which a resemblance, and a change, count half."""
_SHARPER = 1.5
_K1 = 1.2
_HEAD = re.compile(rb"[0-9a-f]{40,64}\n")


class Commit(Struct, frozen=True, array_like=True):
    """A commit: its hash, the terms of its message, the files it changed."""

    id: str
    terms: tuple[str, ...]
    paths: tuple[str, ...]


async def head_of(workspace: Workspace) -> str:
    """The commit that is checked out; empty where there is none, or git cannot be asked."""
    if repository_root(workspace.root) is None:
        return ""
    try:
        answer = await git(workspace, "rev-parse", "--verify", "--quiet", "HEAD", reads_files=False, timeout=_TIME_S)
    except (AgiError, OSError):
        return ""
    return answer.stdout.strip() if answer.exit_code == 0 else ""


async def read_log(workspace: Workspace, head: str, since: str = "") -> bytes | None:
    """What git says about the commits up to `head`, newest first; None if it does not answer.

    With `since`, only what came after that commit; None if it is no ancestor, and all must be read again.
    """
    try:
        if since:
            asked = await git(workspace, "merge-base", "--is-ancestor", since, head, reads_files=False, timeout=_TIME_S)
            if asked.exit_code != 0:
                return None
        options = ("-z", "--no-merges", "--no-renames", "--name-only", "--relative", "--no-color", "--format=%H%n%B")
        bounds = (f"--max-count={MOST_COMMITS}", "--end-of-options", f"{since}..{head}" if since else head, "--")
        answer = await git(workspace, "log", *options, *bounds, limit=_MOST_BYTES, reads_files=False, timeout=_TIME_S)
    except (AgiError, OSError):
        return None
    return answer.output if answer.exit_code == 0 or answer.truncated else None


def parse(output: bytes) -> list[Commit]:
    """The commits of a log; what is cut off at its end is left out."""
    commits: list[Commit] = []
    head = message = ""
    paths: list[str] = []
    for piece in output.split(b"\0")[:-1]:
        if _HEAD.match(piece):
            if head:
                commits.append(_commit(head, message, paths))
            head, _, message = piece[: _LONGEST_MESSAGE + 65].decode(errors="replace").partition("\n")
            paths = []
        elif head and len(paths) <= _SWEEPING:
            paths.append(piece.removeprefix(b"\n").decode(errors="replace"))
    if head:
        commits.append(_commit(head, message, paths))
    return commits


def _commit(head: str, message: str, paths: Sequence[str]) -> Commit:
    return Commit(head, tuple(read_question(message).terms), tuple(paths) if len(paths) <= _SWEEPING else ())


def pack(commits: Sequence[Commit]) -> bytes:
    """Commits as bytes to be kept."""
    return msgspec.msgpack.encode(list(commits))


def unpack(data: bytes) -> list[Commit]:
    """Commits from bytes; none if they are not what was kept."""
    try:
        return msgspec.msgpack.decode(data, type=list[Commit]) if data else []
    except msgspec.MsgspecError:
        return []


class Past:
    """The commits up to now, newest first, ready to be asked."""

    def __init__(self, commits: Sequence[Commit]) -> None:
        self._commits = commits[:MOST_COMMITS]
        self._having: dict[str, array[int]] = {}
        for age, commit in enumerate(self._commits):
            for term in commit.terms:
                self._having.setdefault(term, array("I")).append(age)
        count = sum(bool(commit.terms) for commit in self._commits)
        self._mean = sum(len(commit.terms) for commit in self._commits) / max(1, count) or 1.0
        self.recent = self._recency()
        """How much and how lately each file was changed."""

    def alike(self, terms: Mapping[str, float]) -> tuple[dict[str, float], dict[str, str]]:
        """What commits that resemble the question say for files; and the commit that says most for each."""
        files: dict[str, float] = defaultdict(float)
        most: dict[str, tuple[float, str]] = {}
        for score, age in heapq.nlargest(_ALIKE, ((score, -age) for age, score in self._scores(terms).items())):
            commit = self._commits[-age]
            share = score**_SHARPER / math.sqrt(len(commit.paths) or 1)
            for path in commit.paths:
                files[path] += share
                most[path] = max(most.get(path, (0.0, "")), (share, commit.id))
        return dict(files), {path: commit for path, (_, commit) in most.items()}

    def of(self, named: Iterable[str]) -> dict[str, str]:
        """The files changed by commits that a question names, perhaps by the beginning of their hashes."""
        beginnings = tuple(named)
        if not beginnings:
            return {}
        found = [commit for commit in self._commits if commit.id.startswith(beginnings)]
        return {path: commit.id for commit in found for path in commit.paths}

    def _scores(self, terms: Mapping[str, float]) -> dict[int, float]:
        """BM25 of each message, fading with age."""
        count = len(self._commits)
        scores: dict[int, float] = defaultdict(float)
        for term, weight in terms.items():
            having = self._having.get(term, ())
            worth = weight * math.log(1 + (count - len(having) + 0.5) / (len(having) + 0.5))
            for age in having:
                scores[age] += worth
        for age in scores:
            length = len(self._commits[age].terms) / self._mean
            scores[age] *= (_K1 + 1) / (1 + _K1 * (0.25 + 0.75 * length)) * 0.5 ** (age / _HALF_ALIKE)
        return scores

    def _recency(self) -> dict[str, float]:
        recent: dict[str, float] = defaultdict(float)
        for age, commit in enumerate(self._commits):
            for path in commit.paths:
                recent[path] += 0.5 ** (age / _HALF_RECENT)
        return {path: math.log1p(value) for path, value in recent.items()}
