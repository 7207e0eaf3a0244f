"""Search without another program: slower than ripgrep, the same answers, bounded in files, bytes and time.

Regular expressions are RE2's, whose time grows with the text and not with a pattern's tricks; all the same they are
searched for in a process of its own (see `regex_worker`). May import: errors, tools.matches, tools.patterns, workspace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from agi.errors import AgiError
from agi.tools.matches import Found, Match, Query, chosen, glob_rules, shown_line
from agi.tools.patterns import Finder, finder
from agi.workspace.handle import Workspace
from agi.workspace.ignore import Rules
from agi.workspace.walking import walk_visible

TIME_LIMIT_S = 15.0
MOST_FILES = 200_000
LARGEST_FILE = 4 * 1024 * 1024

_LOOKED_AT_FOR_NUL = 64 * 1024
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def search(workspace: Workspace, query: Query, stop: threading.Event) -> Found:
    """Look through a file, or the files of a folder; ends early once `stop` is set."""
    until = time.monotonic() + TIME_LIMIT_S
    find = finder(query)
    paths, partial = candidates(workspace, query)
    matches: list[Match] = []
    count = 0
    for path in sorted(paths, key=lambda path: path.split("/")):
        if stop.is_set() or count > query.limit:
            break
        if time.monotonic() > until:
            partial = "the search took too long"
            break
        found = list(_matches(path, content(workspace, path, query), find, query))
        count += sum(not match.beside for match in found)
        matches += found
    return chosen(matches, query, partial=partial)


def candidates(workspace: Workspace, query: Query) -> tuple[list[str], str]:
    """The files a query is about, nearest first; and why these are not all, or nothing."""
    if not query.is_folder:
        return [query.path], ""
    if query.among is not None:
        return list(query.among), ""
    picks = _Picks(query.glob)
    listing = walk_visible(workspace, query.path, limit=MOST_FILES, kept=picks.names, everything=query.ignored)
    above = "" if query.path == "." else f"{query.path}/"
    wanted = [above + entry.name for entry in listing.entries if entry.kind == "file" and picks.takes(entry.name)]
    return wanted, "there are too many files to look at all" if listing.truncated else ""


class _Picks:
    """The globs that pick files, as in a .gitignore file: the last that fits counts, `!` leaves out."""

    def __init__(self, glob: str) -> None:
        rules = glob_rules(glob)
        self._rules = Rules(rules)
        self._by_default = all(rule.negated for rule in rules)

    def names(self, path: str, is_folder: bool) -> bool:
        """Whether a path is asked for by its name, which counts more than that it is ignored."""
        return bool(self._rules.verdict(path.split("/"), is_folder=is_folder))

    def takes(self, path: str) -> bool:
        """Whether a file is picked; one in a folder that is left out is not."""
        names = path.split("/")
        if any(self._rules.verdict(names[:depth], is_folder=True) is False for depth in range(1, len(names))):
            return False
        verdict = self._rules.verdict(names, is_folder=False)
        return self._by_default if verdict is None else verdict


def content(workspace: Workspace, path: str, query: Query) -> bytes:
    """What a file holds, as UTF-8; nothing for one met on the way that is no text or may not be read."""
    try:
        data = workspace.read_bytes(path, LARGEST_FILE).data
    except (AgiError, OSError):
        if not query.is_folder:
            raise
        return b""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[2:].decode(codec, errors="replace").encode()
    nul = data.find(b"\0")
    if 0 <= nul < _LOOKED_AT_FOR_NUL:
        return b""
    return data[: nul if nul >= 0 else len(data)].removeprefix(b"\xef\xbb\xbf")


def _matches(path: str, data: bytes, find: Finder, query: Query) -> Iterator[Match]:
    """The matching lines of a file, and those beside them, each once and in order."""
    if query.files_only:
        if _first_hit(data, find, 0) >= 0:
            yield Match(path)
        return
    hits = list(_hits(data, find, query.most_hits))
    if not query.context:
        yield from (Match(path, line, shown_line(data[start:end])) for line, start, end in hits)
        return
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    numbers = {line for line, _, _ in hits}
    reach = query.context
    shown = sorted({near for line in numbers for near in range(line - reach, line + reach + 1)})
    for number in shown:
        if 1 <= number <= len(lines):
            yield Match(path, number, shown_line(lines[number - 1]), beside=number not in numbers)


def _hits(data: bytes, find: Finder, most: int) -> Iterator[tuple[int, int, int]]:
    """The number, the beginning and the end of each line that matches."""
    line, at = 1, 0
    for _ in range(most):
        hit = _first_hit(data, find, at)
        if hit < 0:
            return
        line += data.count(b"\n", at, hit)
        start = data.rfind(b"\n", 0, hit) + 1
        end = data.find(b"\n", hit)
        end = len(data) if end < 0 else end
        yield line, start, end
        line, at = line + 1, end + 1


def _first_hit(data: bytes, find: Finder, at: int) -> int:
    """Where the next match begins; what lies behind the last newline is no line if it is empty."""
    if at > len(data):
        return -1
    hit = find(data, at)
    return -1 if hit == len(data) and (hit == 0 or data.endswith(b"\n")) else hit
