"""Where the finished part of a growing markdown text ends: what stands before that cannot change any more.

Only whole lines count, since a line that is being written may become anything. Pure. May import: rendering.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LINE = re.compile(r"\r\n|\r|\n")
_GROWS = frozenset({"bullet_list_open", "ordered_list_open", "code_block"})
"""Blocks that may go on behind a blank line."""


class Block(Struct, frozen=True):
    """A top-level block: what it is, and which characters of the text it takes, blank lines behind it not included."""

    kind: str
    start: int
    end: int
    is_followed: bool
    """Whether a whole line stands behind it that is not its own."""


def closed(text: str) -> int:
    """How many characters from the beginning are finished blocks."""
    found = blocks(_whole_lines(text))
    if not found:
        return 0
    last = found[-1]
    if last.kind in _GROWS or not last.is_followed:
        return last.start
    return last.end


def _whole_lines(text: str) -> str:
    """Up to the last break; a carriage return at the very end may be the first half of one."""
    text = text.removesuffix("\r")
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]


def blocks(text: str) -> list[Block]:
    """The top-level blocks of a text, in order."""
    starts = [0, *(match.end() for match in _LINE.finditer(text))]
    lines = len(starts) - (starts[-1] == len(text))
    starts.append(len(text))
    found = []
    for token in parser().parse(text):
        if token.level == 0 and token.map is not None and token.nesting >= 0:
            first, behind = token.map
            last = min(behind, lines)
            found.append(Block(token.type, starts[first], starts[last], last < lines))
    return found


@cache
def parser() -> MarkdownIt:
    """Reads blocks and nothing within them."""
    return configured().disable(["inline"], ignoreInvalid=True)


def configured() -> MarkdownIt:
    """The markdown that is read here: HTML is text, and every block can be understood by itself."""
    from markdown_it import MarkdownIt  # late: only a page needs it

    # A reference defined further down would change what was shown above, and its definition would show nowhere.
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["reference"])
