"""A few lines of text that come and go: what is queued, what could be completed, what came unseen. May import: tui."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from agi.tui.drawing import marked, style
from agi.tui.tokens import DARK, Palette

Piece = tuple[str, str]
"""A text and the name of its colour."""


class Rows(Widget):
    """As many lines as there is something to say; none take no room."""

    DEFAULT_CSS = "Rows { height: auto; width: 1fr; display: none; }"

    def __init__(self, *, id: str | None = None, ground: str = "bg") -> None:
        super().__init__(id=id)
        self.palette: Palette = DARK
        self._ground = ground
        self._rows: list[list[Piece]] = []
        self._marked: int | None = None

    def put(self, rows: Sequence[Sequence[Piece]], marked: int | None = None) -> None:
        """Show these lines, one of them marked; draws only what is different."""
        made = [list(row) for row in rows]
        if made == self._rows and marked == self._marked:
            return
        taller = len(made) != len(self._rows)
        self._rows, self._marked = made, marked
        self.display = bool(made)
        self.refresh(layout=taller)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """One line each."""
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        """One of the lines; what does not fit is cut with a mark."""
        width = self.size.width
        ground = marked(self.palette) if y == self._marked else style(self.palette, "text", self._ground)
        row = self._rows[y] if y < len(self._rows) else []
        segments, room = [], width
        for text, colour in row:
            if cell_len(text) > room:
                text = set_cell_size(text, max(room - 1, 0)) + "…" if room > 0 else ""
            room -= cell_len(text)
            segments.append(Segment(text, style(self.palette, colour)))
        return Strip(segments).crop_extend(0, width, ground).apply_style(ground)

    @property
    def text(self) -> list[str]:
        """What it says, line by line."""
        return ["".join(text for text, _ in row).rstrip() for row in self._rows]
