"""Walk a folder and those below it, without what .gitignore files leave out: nearest first, bounded, through no link.

Rules of the folders above count as they do for git: up to the repository's root, or the workspace's where there is no
repository. Which folder may be opened is handle's business. May import: workspace.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from msgspec import Struct

from agi.workspace.beneath import best_opener, join
from agi.workspace.handle import Workspace
from agi.workspace.ignore import RULES_LIMIT, Rule, Rules, inherited, read_rules
from agi.workspace.listing import SKIPPED, Entry, Kind, Listing
from agi.workspace.repository import repository_root

RULES_FILE = ".gitignore"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class _Step(Struct, frozen=True):
    """A folder ahead: where it is, how deep, and the rules that hold in it, each from a number of names on."""

    path: str
    level: int
    rules: tuple[tuple[int, Rules], ...]


def walk_visible(
    workspace: Workspace,
    path: str = ".",
    *,
    depth: int = 64,
    limit: int,
    kept: Callable[[str, bool], bool] = lambda path, is_folder: False,
    everything: bool = False,
    measured: bool = False,
    stop: threading.Event | None = None,
) -> Listing:
    """List a folder and those below it, as paths from it; folders in SKIPPED and what is ignored are left out.

    `kept` is asked about a path that the rules leave out, `everything` takes no rule into account,
    `measured` also says how large files are and when they changed.
    """
    top = Rules([] if everything else rules_above(workspace, path))
    found: list[Entry] = []
    truncated = False
    measure = _measure if measured else None
    with _opened(workspace, path) as start:
        ahead = deque([_Step("", 1, ((0, top),))])
        while ahead and len(found) <= limit and not (stop and stop.is_set()):
            step = ahead.popleft()
            ways = ahead if step.level < depth else None
            entries, more = _look_into(start, step, limit, kept, everything, ways, measure)
            found += entries
            truncated = truncated or more
    return Listing(tuple(found[:limit]), truncated or len(found) > limit or bool(ahead))


def _look_into(
    start: int,
    step: _Step,
    limit: int,
    kept: Callable[[str, bool], bool],
    everything: bool,
    ahead: deque[_Step] | None,
    measure: Callable[[os.DirEntry[str]], tuple[int, int]] | None,
) -> tuple[list[Entry], bool]:
    """The entries of one folder; folders among them are put ahead. One that vanished or may not be read has none."""
    try:
        fd = os.dup(start) if not step.path else best_opener()(start, step.path, _FOLDER).fd
    except OSError:
        return [], False
    try:
        with os.scandir(fd) as listed:
            here = list(islice(listed, limit + 1))
            items = sorted(((item.name, _kind(item)) for item in here), key=lambda one: one[0])
            facts = {item.name: measure(item) for item in here} if measure else {}
        rules = step.rules if everything else _with_own(fd, items, step)
    except OSError:
        return [], False
    finally:
        os.close(fd)
    found = []
    for name, kind in items[:limit]:
        path, is_folder = join(step.path, name), kind == "directory"
        if is_folder and name.lower() in SKIPPED:
            continue
        if _is_ignored(path, rules, is_folder) and not kept(path, is_folder):
            continue
        found.append(Entry(path, kind, *facts.get(name, (0, 0))))
        if is_folder and ahead is not None:
            ahead.append(_Step(path, step.level + 1, rules))
    return found, len(items) > limit


def _with_own(fd: int, items: list[tuple[str, Kind]], step: _Step) -> tuple[tuple[int, Rules], ...]:
    if (RULES_FILE, "file") not in items:
        return step.rules
    own = _read(RULES_FILE, fd)
    return (*step.rules, (step.path.count("/") + 1 if step.path else 0, Rules(own))) if own else step.rules


def _is_ignored(path: str, rules: tuple[tuple[int, Rules], ...], is_folder: bool) -> bool:
    names = path.split("/")
    for base, one in reversed(rules):
        verdict = one.verdict(names[base:], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def _measure(item: os.DirEntry[str]) -> tuple[int, int]:
    try:
        found = item.stat(follow_symlinks=False)
    except OSError:
        return 0, 0
    return found.st_size, found.st_ctime_ns


def _kind(item: os.DirEntry[str]) -> Kind:
    if item.is_symlink():
        return "symlink"
    if item.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if item.is_file(follow_symlinks=False) else "other"


@contextmanager
def _opened(workspace: Workspace, path: str) -> Iterator[int]:
    with workspace.pinned(path) as folder:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def rules_above(workspace: Workspace, path: str = ".") -> list[Rule]:
    """What the folders above one say about what is in it: all but its own rules."""
    repository = repository_root(workspace.root)
    folder = repository or workspace.root
    collected = _read(folder / ".git" / "info" / "exclude") if repository else []
    for name in (*workspace.root.relative_to(folder).parts, *_names(workspace, path)):
        collected += _read(folder / RULES_FILE)
        collected = inherited(collected, [name])
        folder = folder / name
    return collected


def _names(workspace: Workspace, path: str) -> list[str]:
    place = "" if workspace.relative(path) == "." else workspace.locate(path)
    return [name for name in place.split("/") if name]


def _read(path: str | Path, folder: int | None = None) -> list[Rule]:
    """The rules a file holds; none if it is missing, a link or no file, as for git."""
    try:
        fd = os.open(path, _FILE, dir_fd=folder)
    except OSError:
        return []
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        return read_rules(file.read(RULES_LIMIT).decode(errors="surrogateescape"))
