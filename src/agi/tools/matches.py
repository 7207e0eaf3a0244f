"""What a search asks for and what it finds, whichever engine looks. May import: errors, workspace.ignore."""

from __future__ import annotations

import re

from msgspec import Struct

from agi.errors import Invalid
from agi.workspace.ignore import Rule, read_rules

MOST_MATCHES = 200
"""How many matches are shown unless told."""
LONGEST_LINE = 300
"""How many characters of a matching line are shown."""
_MOST_GLOBS = 100
_BRACES = re.compile(r"\{([^{}]*)\}")


class Query(Struct, frozen=True, kw_only=True):
    """What to look for, and where; `path` is a file or folder of the workspace."""

    text: str
    path: str
    is_folder: bool
    glob: str = ""
    regex: bool = False
    ignore_case: bool = False
    context: int = 0
    """How many lines to show around each match."""
    files_only: bool = False
    limit: int = MOST_MATCHES
    ignored: bool = False
    """Whether files that .gitignore names are searched too."""
    among: tuple[str, ...] | None = None
    """The only files to look at, where it is known which could matter."""

    @property
    def most_hits(self) -> int:
        """How many matches of one file are looked for: one too many, and those beside the last one shown."""
        return self.limit + 1 + self.context


class Match(Struct, frozen=True):
    """A line that matches, or one beside it; of a file as a whole, line 0."""

    path: str
    line: int = 0
    text: str = ""
    beside: bool = False

    def __str__(self) -> str:
        if not self.line:
            return self.path
        mark = "-" if self.beside else ":"
        return f"{self.path}{mark}{self.line}{mark} {self.text}"


class Found(Struct, frozen=True, kw_only=True):
    """The matches, as many as may be shown; `partial` says why not everything was looked at."""

    matches: tuple[Match, ...]
    truncated: bool = False
    partial: str = ""


def chosen(matches: list[Match], query: Query, *, partial: str = "", truncated: bool = False) -> Found:
    """The first matches by their place, with the lines beside them."""
    ordered = sorted(matches, key=lambda match: (match.path.split("/"), match.line))
    hits = [match for match in ordered if not match.beside]
    if len(hits) > query.limit:
        near = {
            (hit.path, hit.line + away)
            for hit in hits[: query.limit]
            for away in range(-query.context, query.context + 1)
        }
        kept = {(hit.path, hit.line) for hit in hits[: query.limit]}
        ordered = [one for one in ordered if (one.path, one.line) in (near if one.beside else kept)]
        truncated = True
    return Found(matches=tuple(ordered), truncated=truncated, partial=partial)


def shown_line(line: bytes) -> str:
    """A matching line as text, without its ending, cut if it is long."""
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + " [cut]"


def globs_of(glob: str) -> list[str]:
    """The globs that are asked for: one, or several behind commas; each names files, a folder means what is in it."""
    choices = [one.strip().removeprefix("./") for one in re.split(r",(?![^{]*\})", glob)]
    return [f"{one}**" if one.endswith("/") else one for one in choices if one]


def glob_rules(glob: str) -> list[Rule]:
    """Globs as rules that pick files; braces are written out."""
    spelled = [rule for one in globs_of(glob) for rule in _spelled_out(one)]
    rules = [rule for one in spelled for rule in read_rules(one.replace("#", "\\#", one.startswith("#")))]
    if len(rules) != len(spelled):
        raise Invalid(f"The glob {glob!r} is not one.", hint="Check its brackets.", code="search_invalid")
    return rules


def _spelled_out(glob: str) -> list[str]:
    """A glob without braces for each way to choose from them."""
    found = [glob]
    while any(_BRACES.search(one) for one in found):
        found = [spelled for one in found for spelled in _without_first_braces(one)]
        if len(found) > _MOST_GLOBS:
            raise Invalid(f"The glob {glob!r} has too many choices.", hint="Search twice.", code="search_invalid")
    return found


def _without_first_braces(glob: str) -> list[str]:
    braces = _BRACES.search(glob)
    if braces is None:
        return [glob]
    return [glob[: braces.start()] + choice + glob[braces.end() :] for choice in braces[1].split(",")]
