"""What could be meant by what is being typed: a command behind `/`, a file of the folder behind `@`.

Pure but for the walk through the folder, which is bounded and follows no links. May import: tui.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from agi.tui.commands import COMMANDS, matching
from agi.tui.safe import one_line

MOST_FILES = 50_000
DEEPEST = 12
SHOWN = 8
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".agi", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", ".ruff_cache"}
    | {".pytest_cache", ".tox", ".cache", "target", "dist", "build", ".next", ".idea"}
)
"""Folders in which nobody looks for a file to mention; they can be typed all the same."""
_MENTION = re.compile(r"""(?:^|(?<=[\s(\["'`]))@([^\s"'`<>|*@]{0,500})$""")
_PLAIN_NAME = re.compile(r"[^\s\"'`<>|*@]+")


class Completion(Struct, frozen=True):
    """Something that could stand in the place of what was typed."""

    text: str
    """What is put there."""
    shown: str
    note: str = ""
    start: int = 0
    """Where on the line it begins; it ends at the cursor."""


def completions(line: str, files: Sequence[str], *, first: bool = True) -> list[Completion]:
    """What the end of a line could become; `first` says that no line stands above it."""
    if first and line.startswith("/") and " " not in line and "/" not in line[1:]:
        found = matching(line[1:].lower())[: len(COMMANDS)]
        return [
            Completion(f"/{one.name}" + (" " if one.argument else ""), f"/{one.name} {one.argument}".strip(), one.does)
            for one in found
        ]
    mention = _MENTION.search(line)
    if mention is None:
        return []
    start = mention.start(1) - 1
    return [Completion(_mention(name), one_line(name, 200), "", start) for name in ranked(mention[1], files)[:SHOWN]]


def ranked(asked: str, files: Iterable[str]) -> list[str]:
    """The files whose path holds what was typed, letters in order; names that begin so first, short ones first."""
    wanted = asked.lower()
    found = []
    for path in files:
        low = path.lower()
        name = low.rpartition("/")[2]
        if name.startswith(wanted):
            rank = 0
        elif wanted in name:
            rank = 1
        elif wanted in low:
            rank = 2
        elif _in_order(wanted, low):
            rank = 3
        else:
            continue
        found.append((rank, len(path), path))
    return [path for _, _, path in sorted(found)]


def files_of(project: Path) -> list[str]:
    """The files of a folder, as paths from it; not all of a very large one, and none behind a link."""
    found: list[str] = []
    todo = [("", 0)]
    while todo and len(found) < MOST_FILES:
        prefix, depth = todo.pop(0)
        try:
            listed = sorted(os.scandir(project / prefix), key=lambda one: one.name)
        except OSError:
            continue
        for one in listed:
            name = prefix + one.name
            if not name.isprintable():
                continue
            if one.is_dir(follow_symlinks=False):
                if one.name not in _SKIPPED and depth < DEEPEST:
                    todo.append((f"{name}/", depth + 1))
            elif one.is_file(follow_symlinks=False):
                found.append(name)
    return found[:MOST_FILES]


def _in_order(wanted: str, text: str) -> bool:
    letters = iter(text)
    return all(letter in letters for letter in wanted)


def _mention(path: str) -> str:
    return f"@{path} " if _PLAIN_NAME.fullmatch(path) else f'@"{path}" '
