"""Markdown as HTML: CommonMark with tables and strikethrough. HTML in it is text, pictures of elsewhere are links.

A very long block is shown as it is, so that time stays in proportion to length. Pure. May import: rendering.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from agi.rendering import code
from agi.rendering.blocks import Block, blocks, configured
from agi.rendering.sanitising import PICTURE, sanitised

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

ABOVE = 2
"""Headings that a text stands below on a page: what the page is about, and who speaks. Its own begin after them."""
LONGEST_BLOCK = 20_000
"""A longer block is shown as it is, except for code."""
MOST_FILLED = 2_000
"""Cells that a table may have left out. They are filled in, so a few letters could make megabytes of them."""
MOST_BLOCKS = 5_000
LONGEST = 200_000
"""What is beyond one of these is shown as it is too."""


def html(text: str) -> str:
    """The text as HTML, block by block: a text is shown the same while it grows and when it is whole."""
    found = blocks(text[:LONGEST])
    end = found[MOST_BLOCKS].start if len(found) > MOST_BLOCKS else LONGEST
    pieces = [_rendered(text[:end], one) for one in found[:MOST_BLOCKS]]
    return sanitised("".join(pieces) + (_as_it_is(text[end:]) if text[end:] else ""))


def _rendered(text: str, block: Block) -> str:
    own = text[block.start : block.end]
    if len(own) > LONGEST_BLOCK and block.kind not in ("fence", "code_block"):
        return _as_it_is(own)
    if block.kind not in ("fence", "code_block") and _left_out(own) > MOST_FILLED:
        return _as_it_is(own)
    return str(_parser().render(own))


def _left_out(text: str) -> int:
    """How many cells would be filled in at most, were all of it one table as wide as its widest line."""
    bars = text.count("|")
    if not bars:
        return 0
    lines = text.split("\n")
    return max(line.count("|") for line in lines) * len(lines) - bars


def _as_it_is(text: str) -> str:
    return f'<pre class="plain">{escape(text)}</pre>\n'


@cache
def _parser() -> MarkdownIt:
    made = configured()
    rules: dict[str, Any] = made.renderer.rules  # type: ignore[attr-defined]
    rules["fence"] = _fence
    rules["code_block"] = _code_block
    rules["image"] = _image
    rules["heading_open"] = _heading
    rules["heading_close"] = _heading
    return made


def _fence(tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    words = tokens[at].info.split(maxsplit=1)
    return code.block(tokens[at].content, words[0] if words else None)


def _code_block(tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    return code.block(tokens[at].content, None)


def _heading(tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    """HTML has six levels; deeper ones are told to screen readers."""
    level = int(tokens[at].tag[1:]) + ABOVE
    if tokens[at].nesting < 0:
        return f"</h{min(level, 6)}>\n"
    return f"<h{level}>" if level <= 6 else f'<h6 aria-level="{level}">'


def _image(tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    """A picture that a session keeps; any other is a link, since loading it would tell somebody that it was read."""
    token = tokens[at]
    source, alt = str(token.attrs.get("src", "")), "".join(_words(token.children or []))
    if PICTURE.fullmatch(source):
        return f'<img src="{escape(source)}" alt="{escape(alt)}">'
    return f'<a href="{escape(source)}">{escape(alt or source)}</a>'


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.children:
            yield from _words(token.children)
        else:
            yield " " if token.type in ("softbreak", "hardbreak") else token.content
