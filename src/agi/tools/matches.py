"""What a search asks for and what it finds, whichever engine looks. May import: nothing of ours."""

from __future__ import annotations

from msgspec import Struct

MOST_MATCHES = 200
LONGEST_LINE = 300
"""How many characters of a matching line are shown."""


class Query(Struct, frozen=True, kw_only=True):
    """What to look for, and where; `path` is a file or folder of the workspace."""

    text: str
    path: str
    is_folder: bool
    glob: str = ""
    regex: bool = False


class Match(Struct, frozen=True):
    """A line that matches."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


class Found(Struct, frozen=True, kw_only=True):
    """The matches, as many as may be shown; `partial` says why not everything was looked at."""

    matches: tuple[Match, ...]
    truncated: bool = False
    partial: str = ""


def shown_line(line: bytes) -> str:
    """A matching line as text, without its ending, cut if it is long."""
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + " [cut]"
