"""Search for a plain text without another program: slower than ripgrep, bounded in files, bytes and time.

May import: errors, tools.matches, workspace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase

from agi.errors import AgiError, Invalid
from agi.tools.matches import MOST_MATCHES, Found, Match, Query, shown_line
from agi.workspace.handle import Workspace

TIME_LIMIT_S = 15.0
MOST_FILES = 50_000
LARGEST_FILE = 4 * 1024 * 1024

_LOOKED_AT_FOR_NUL = 8 * 1024


def search(workspace: Workspace, query: Query, stop: threading.Event) -> Found:
    """Look for the text in a file, or in the files of a folder, nearest first; ends early once `stop` is set."""
    _refuse_braces(query.glob)
    until = time.monotonic() + TIME_LIMIT_S
    paths, partial = _candidates(workspace, query)
    matches: list[Match] = []
    for path in paths:
        if stop.is_set() or len(matches) > MOST_MATCHES:
            break
        if time.monotonic() > until:
            partial = "the search took too long"
            break
        matches += _matches(path, _content(workspace, path, query), query.text.encode())
    return Found(matches=tuple(matches[:MOST_MATCHES]), truncated=len(matches) > MOST_MATCHES, partial=partial)


def _candidates(workspace: Workspace, query: Query) -> tuple[list[str], str]:
    if not query.is_folder:
        return [query.path], ""
    listing = workspace.walk(query.path, limit=MOST_FILES)
    above = 0 if query.path == "." else len(query.path) + 1
    paths = [entry.name for entry in listing.entries if entry.kind == "file"]
    wanted = [path for path in paths if not query.glob or glob_matches(query.glob, path[above:])]
    return wanted, "there are too many files to look at all" if listing.truncated else ""


def _content(workspace: Workspace, path: str, query: Query) -> bytes:
    """What a file holds; nothing for one met on the way that is no text or may not be read."""
    try:
        data = workspace.read_bytes(path, LARGEST_FILE).data
    except (AgiError, OSError):
        if not query.is_folder:
            raise
        return b""
    return b"" if b"\0" in data[:_LOOKED_AT_FOR_NUL] else data


def _matches(path: str, data: bytes, wanted: bytes) -> Iterator[Match]:
    line, at = 1, 0
    for _ in range(MOST_MATCHES + 1):
        hit = data.find(wanted, at)
        if hit < 0:
            return
        line += data.count(b"\n", at, hit)
        start = data.rfind(b"\n", 0, hit) + 1
        end = data.find(b"\n", hit)
        end = len(data) if end < 0 else end
        yield Match(path, line, shown_line(data[start:end]))
        line, at = line + 1, end + 1


def _refuse_braces(glob: str) -> None:
    if "{" in glob:
        hint = "Search once for each choice, or install ripgrep."
        raise Invalid("Braces in a glob need ripgrep, which is not installed.", hint=hint, code="search_invalid")


def glob_matches(glob: str, path: str) -> bool:
    """Tell whether a path fits a glob as in .gitignore: by its last name alone, or if there is a slash, as a whole."""
    if glob.startswith("!"):
        names = path.split("/")
        above = ("/".join(names[:count]) for count in range(1, len(names) + 1))
        return not any(glob_matches(glob[1:], part) for part in above)
    if "/" not in glob.rstrip("/"):
        return fnmatchcase(path.rpartition("/")[2], glob.rstrip("/"))
    return _fits(glob.strip("/").split("/"), path.split("/"))


def _fits(pattern: list[str], names: list[str]) -> bool:
    """Match name by name; `**` stands for any number of them."""
    reached = {0}
    for part in pattern:
        if part == "**" and reached:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and fnmatchcase(names[at], part)}
    return len(names) in reached
