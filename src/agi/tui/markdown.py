"""Markdown as lines of a given width, block by block: what is closed is drawn once, only the open end again.

Nothing in it acts: HTML is text, a link shows where it leads, a picture is its name. Each block is drawn by itself, so
that a text looks the same while it grows and when it is whole. May import: tui.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Console
from rich.markdown import CodeBlock, Heading, Markdown
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from agi.tui.safe import shown
from agi.tui.tokens import Palette

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import ConsoleOptions, RenderResult

NARROWEST = 4
LONGEST_BLOCK = 50_000
"""A longer block is drawn as it is: no one reads it, and its drawing would be felt."""


def blocks(text: str) -> list[str]:
    """Cut a text at blank lines, but not within fenced code. Joined with `\\n`, they are the text."""
    found: list[str] = []
    begun: list[str] = []
    fence = ""
    for line in text.split("\n"):
        bare = line.lstrip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0] + " "):
                fence = ""
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        begun.append(line)
        if not fence and not bare and any(one.strip() for one in begun):
            found.append("\n".join(begun))
            begun = []
    if begun:
        found.append("\n".join(begun))
    return found


class _Plain(CodeBlock):
    """Code on its own ground, without colours: they would cost more than everything else."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Text(str(self.text).rstrip("\n"), style="markdown.code_block", overflow="fold", no_wrap=False)
        width = options.max_width
        for line in code.split("\n", allow_blank=True):
            for piece in line.wrap(console, width, overflow="fold") or [line]:
                piece.pad_right(max(0, width - piece.cell_len))
                yield piece


class _Left(Heading):
    """A heading at the left, bold."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    elements: ClassVar[dict[str, Any]] = {
        **Markdown.elements,
        "fence": _Plain,
        "code_block": _Plain,
        "heading_open": _Left,
    }

    def __init__(self, text: str, parser: MarkdownIt) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = parser.parse(text)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: only where something is said

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "reference"])


@lru_cache(maxsize=8)
def console_of(palette: Palette) -> Console:
    """What draws with a palette; it writes nowhere."""
    colour = _native if palette.native else str
    styles = {
        "markdown.paragraph": "none",
        "markdown.text": "none",
        "markdown.code": f"{colour(palette.accent)}",
        "markdown.code_block": "none" if palette.native else f"{palette.text} on {palette.code}",
        "markdown.link": f"underline {colour(palette.accent)}",
        "markdown.link_url": f"{colour(palette.accent)}",
        "markdown.block_quote": f"{colour(palette.muted)}",
        "markdown.item.bullet": f"{colour(palette.accent)}",
        "markdown.item.number": f"{colour(palette.accent)}",
        "markdown.hr": f"{colour(palette.line)}",
        "markdown.table.border": f"{colour(palette.line)}",
        "markdown.table.header": "bold",
        **{f"markdown.h{level}": f"bold {colour(palette.accent)}" for level in range(1, 7)},
    }
    return Console(
        file=None,
        force_terminal=False,
        color_system="truecolor",
        width=80,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        theme=Theme(styles),
    )


def _native(name: str) -> str:
    return name.removeprefix("ansi_")


def drawn(text: str, width: int, palette: Palette) -> list[list[Segment]]:
    """One block, as lines of segments; nothing in it acts on a terminal."""
    width = max(width, NARROWEST)
    safe = shown(text)
    if len(safe) > LONGEST_BLOCK:
        return list(plain(safe, width, palette))
    console = console_of(palette)
    options = console.options.update(width=width, height=None)
    try:
        lines = console.render_lines(_Markdown(safe, _parser()), options, pad=False)
    except Exception:  # a parser that stumbles must not take the text away
        return list(plain(safe, width, palette))
    while lines and not "".join(segment.text for segment in lines[0]).strip():
        lines.pop(0)
    while lines and not "".join(segment.text for segment in lines[-1]).strip():
        lines.pop()
    return lines


def plain(text: str, width: int, palette: Palette, style: str = "") -> Iterator[list[Segment]]:
    """Text as it is, wrapped between words where possible."""
    console = console_of(palette)
    made = Text(text, style=style, overflow="fold")
    for line in made.split("\n", allow_blank=True):
        for piece in line.wrap(console, max(width, NARROWEST), overflow="fold") or [line]:
            yield _segments(piece, console)


def _segments(text: Text, console: Console) -> list[Segment]:
    rendered: Any = text.render(console, end="")
    return [segment for segment in rendered if segment.text]
