"""Pages over the transcript: a text to read, such as a diff, and rows to choose from, such as sessions.

One line-drawn widget for both. May import: tui.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from agi.tui.drawing import Look, diff_lines, marked, style
from agi.tui.markdown import plain
from agi.tui.safe import one_line, shown
from agi.tui.tokens import Palette

MOVES = {"up": -1, "down": 1, "k": -1, "j": 1}


class Row(Struct, frozen=True):
    """Something to choose."""

    id: str
    label: str
    note: str = ""


class Lines(Widget, can_focus=True):
    """Lines of text, of which some are seen."""

    DEFAULT_CSS = "Lines { height: 1fr; width: 1fr; }"

    def __init__(self, build: Callable[[int], list[Strip]], palette: Palette) -> None:
        super().__init__()
        self._build = build
        self._palette = palette
        self._made: tuple[int, list[Strip]] | None = None
        self.at = 0
        self.marked: int | None = None
        """The row that would be taken."""

    @property
    def lines(self) -> list[Strip]:
        """All of them, at this width."""
        width = self.size.width
        if self._made is None or self._made[0] != width:
            self._made = (width, self._build(max(width, 4)))
        return self._made[1]

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is on the screen."""
        return self.at + self.size.height >= len(self.lines)

    def again(self) -> None:
        """Make the lines anew."""
        self._made = None
        self.refresh()

    def move(self, count: int) -> None:
        """Scroll, or mark another row."""
        last = max(len(self.lines) - self.size.height, 0)
        if self.marked is None:
            self.at = min(max(self.at + count, 0), last)
        else:
            self.marked = min(max(self.marked + count, 0), max(len(self.lines) - 1, 0))
            self.at = min(max(self.at, self.marked - self.size.height + 1), self.marked, last)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of what is seen."""
        number = self.at + y
        strip = self.lines[number] if number < len(self.lines) else Strip([])
        ground = marked(self._palette) if number == self.marked else style(self._palette, "text", "bg")
        return strip.crop_extend(0, self.size.width, ground).apply_style(ground)

    def visible_text(self) -> list[str]:
        """What is on the screen, line by line."""
        return [strip.text.rstrip() for strip in self.lines[self.at : self.at + self.size.height]]


class Bar(Widget):
    """One line of text that is drawn over the whole width."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    def __init__(self, palette: Palette, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.palette = palette
        self.pieces: list[tuple[str, str]] = []

    def put(self, *pieces: tuple[str, str]) -> None:
        """Show these texts, each in a colour of the palette; draws only if something is different."""
        if list(pieces) != self.pieces:
            self.pieces = list(pieces)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line."""
        ground = style(self.palette, "text", "surface")
        strip = Strip([Segment(text, style(self.palette, colour)) for text, colour in self.pieces])
        return strip.crop_extend(0, self.size.width, ground).apply_style(ground)

    @property
    def text(self) -> str:
        """What it says."""
        return "".join(text for text, _ in self.pieces).rstrip()


class Page(ModalScreen[str]):
    """A page with a title and lines; gives the row that was taken, or nothing."""

    DEFAULT_CSS = "Page { background: $background; }"

    def __init__(
        self,
        title: str,
        build: Callable[[int, Palette], list[Strip]],
        palette: Palette,
        *,
        rows: Sequence[Row] = (),
        every: float = 0.0,
        ask: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._palette = palette
        self._rows = rows
        self._every = every
        self._ask = ask
        self.lines = Lines(lambda width: build(width, palette), palette)
        self.saw_end = False

    def compose(self) -> ComposeResult:
        """A bar above, a bar below."""
        head, foot = Bar(self._palette), Bar(self._palette)
        head.put((f" {one_line(self._title, 200)}", "accent"))
        keys = " enter take · esc close" if self._rows else " esc close · page up, page down"
        foot.put((" y yes, do it · n or esc no" if self._ask else keys, "faint"))
        yield head
        yield self.lines
        yield foot

    def on_mount(self) -> None:
        """The lines have the focus."""
        self.lines.focus()
        if self._rows:
            self.lines.marked = 0
        if self._every:
            self.set_interval(self._every, self.lines.again)
        self.call_after_refresh(self._look)

    def _look(self) -> None:
        self.saw_end = self.saw_end or self.lines.is_at_end

    async def _on_key(self, event: events.Key) -> None:
        """Move, take, close."""
        event.stop()
        event.prevent_default()
        page = max(self.lines.size.height - 1, 1)
        if event.key in ("escape", "q", "ctrl+c") or (self._ask and event.character == "n"):
            self.dismiss("")
        elif self._ask and event.character == "y":
            self.dismiss("yes")
        elif event.key == "enter" and self._rows:
            self.dismiss(self._rows[self.lines.marked or 0].id)
        elif event.key in MOVES:
            self.lines.move(MOVES[event.key])
        elif event.key in ("pageup", "pagedown"):
            self.lines.move(-page if event.key == "pageup" else page)
        elif event.key in ("home", "end"):
            self.lines.move(-(10**9) if event.key == "home" else 10**9)
        self._look()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        self.lines.move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        self.lines.move(3)
        self._look()


def text_page(title: str, text: str, palette: Palette, *, ask: bool = False) -> Page:
    """A page with a text."""
    return Page(title, lambda width, colours: text_strips(text, width, colours), palette, ask=ask)


def live_page(title: str, text: Callable[[], str], palette: Palette) -> Page:
    """A page whose text is asked for every second."""
    return Page(title, lambda width, colours: text_strips(text(), width, colours), palette, every=1.0)


def diff_page(title: str, patch: str, palette: Palette, *, before: str = "", ask: bool = False) -> Page:
    """A page with a diff, and some words before it."""

    def build(width: int, colours: Palette) -> list[Strip]:
        words = text_strips(before, width, colours) if before else []
        return [*words, *(diff_lines(patch, Look(width, colours)) if patch else [])]

    return Page(title, build, palette, ask=ask)


def row_page(title: str, rows: Sequence[Row], palette: Palette) -> Page:
    """A page with rows to choose from."""

    def build(width: int, colours: Palette) -> list[Strip]:
        wide = min(max(len(row.label) for row in rows), max(width // 2, 10))
        return [
            Strip(
                [
                    Segment(f" {one_line(row.label, wide):<{wide}}  "),
                    Segment(one_line(row.note, max(width - wide - 4, 1)), style(colours, "muted")),
                ]
            )
            for row in rows
        ]

    return Page(title, build, palette, rows=rows)


def text_strips(text: str, width: int, palette: Palette) -> list[Strip]:
    """Text as lines, wrapped."""
    return [Strip([Segment(" "), *line]) for line in plain(shown(text), width - 2, palette)]
