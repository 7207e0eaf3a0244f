"""The transcript on the screen: one widget that draws lines, however many entries there are.

It knows a place in the conversation, not a height: the lines around that place are drawn, and nothing else. So neither
opening nor scrolling a long session costs more than what is seen. May import: tui.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from agi.tui.conversation import Conversation
from agi.tui.drawing import Look, draw, marked, style
from agi.tui.entries import Entry
from agi.tui.greeting import Greeting, greeting_lines
from agi.tui.tokens import DARK, Palette

KEPT = 600
"""Drawn entries that are kept."""
WHEEL = 3
Key = tuple[str, int, int, str, bool]


class Transcript(Widget):
    """Draws a conversation; follows its end until somebody scrolls up."""

    DEFAULT_CSS = "Transcript { height: 1fr; width: 1fr; }"
    can_focus = False
    ALLOW_SELECT: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.conversation = Conversation()
        self.palette: Palette = DARK
        self.unfolded = False
        self.pinned = True
        """Whether the end is followed."""
        self.greeting: Greeting | None = None
        """What is shown while there is no entry."""
        self.has_older = False
        self.wants_older: Callable[[], None] = _nobody
        """Called when the beginning of what is loaded comes into view, and there is more before it."""
        self._anchor: tuple[str, int] = ("", 0)
        self._drawings: OrderedDict[Key, list[Strip]] = OrderedDict()
        self._lines: list[Strip] | None = None
        self._seen = 0
        """How many entries there were when the end was last seen."""

    def show(self, conversation: Conversation) -> None:
        """Draw another conversation, at its end."""
        self.conversation = conversation
        self._drawings.clear()
        self.to_end()

    def changed(self) -> None:
        """Draw anew: something is different."""
        self._lines = None
        self.screen.clear_selection()
        self.refresh()

    @property
    def unseen(self) -> int:
        """How many entries came since the end was last seen."""
        return 0 if self.pinned else max(0, len(self.conversation.entries) - self._seen)

    def to_end(self) -> None:
        """Follow the end again."""
        self.pinned = True
        self._seen = len(self.conversation.entries)
        self.changed()

    def to_start(self) -> None:
        """Go to the first line there is."""
        entries = self.conversation.entries
        if entries:
            self._leave(entries[0].id, 0)

    def scroll_lines(self, count: int) -> None:
        """Go up (below zero) or down by so many lines."""
        entries = self.conversation.entries
        if not entries:
            return
        at, line = self._place() if not self.pinned else self._end_place()
        line += count
        while line < 0 and at > 0:
            at -= 1
            line += len(self._drawn(entries[at]))
        while line >= (tall := len(self._drawn(entries[at]))) and at < len(entries) - 1:
            line -= tall
            at += 1
        if (at, line) >= self._end_place():
            self.to_end()
        else:
            self._leave(entries[at].id, max(line, 0))

    def page(self, direction: int) -> None:
        """Go up or down by what is seen at once, less a line."""
        self.scroll_lines(direction * max(self.size.height - 1, 1))

    def visible_text(self) -> list[str]:
        """What is on the screen, line by line."""
        return [strip.text.rstrip() for strip in self._visible()]

    def render_line(self, y: int) -> Strip:
        """One line of what is seen."""
        lines = self._visible()
        ground = style(self.palette, "text", "bg")
        strip = lines[y] if y < len(lines) else Strip([])
        width = self.size.width
        strip = strip.crop_extend(0, width, ground).apply_style(ground)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(y)) is not None:
            strip = _marked(strip, span, marked(self.palette))
        return strip.apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that is marked, without the padding of lines."""
        return selection.extract("\n".join(self.visible_text())), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw what is marked."""
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Lines break elsewhere; the place stays."""
        self._lines = None

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        self.scroll_lines(-WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        self.scroll_lines(WHEEL)

    def _leave(self, id: str, line: int) -> None:
        """Stay at this place, whatever comes."""
        if self.pinned:
            self._seen = len(self.conversation.entries)
        self.pinned = False
        self._anchor = (id, line)
        self.changed()

    def _visible(self) -> list[Strip]:
        if self._lines is None:
            self._lines = self._compose_lines()
        return self._lines

    def _compose_lines(self) -> list[Strip]:
        entries, height = self.conversation.entries, self.size.height
        if not entries and self.greeting is not None:
            return greeting_lines(self.greeting, Look(self.size.width, self.palette))[:height]
        at, line = self._end_place() if self.pinned else self._place()
        if at == 0 and self.has_older:
            self.call_later(self.wants_older)
        lines: list[Strip] = []
        while at < len(entries) and len(lines) < height + line:
            lines += self._drawn(entries[at])
            at += 1
        return lines[line : line + height]

    def _place(self) -> tuple[int, int]:
        """Where the first line of the screen is: an entry, and a line in it."""
        id, line = self._anchor
        entries = self.conversation.entries
        found = next((at for at, entry in enumerate(entries) if entry.id == id), None)
        if found is None:
            return self._end_place()
        return found, min(line, max(len(self._drawn(entries[found])) - 1, 0))

    def _end_place(self) -> tuple[int, int]:
        """The same for a screen that ends with the conversation."""
        entries, left = self.conversation.entries, self.size.height
        at = len(entries)
        while at > 0 and left > 0:
            at -= 1
            left -= len(self._drawn(entries[at]))
        return at, max(-left, 0)

    def _drawn(self, entry: Entry) -> list[Strip]:
        key = (entry.id, entry.version, self.size.width, self.palette.name, self.unfolded)
        made = self._drawings.get(key)
        if made is None:
            made = draw(entry, Look(self.size.width, self.palette, self.unfolded))
            self._drawings[key] = made
            while len(self._drawings) > KEPT:
                self._drawings.popitem(last=False)
        else:
            self._drawings.move_to_end(key)
        return made


def _marked(strip: Strip, span: tuple[int, int], mark: Style) -> Strip:
    """A line with some of its characters marked."""
    start, end = span
    text = strip.text
    stop = len(text) if end < 0 else end
    before = strip.index_to_cell_position(min(start, len(text)))
    after = strip.index_to_cell_position(min(stop, len(text)))
    pieces = [strip.crop(0, before), _painted(strip.crop(before, after), mark), strip.crop(after, strip.cell_length)]
    return Strip.join(pieces)


def _painted(strip: Strip, mark: Style) -> Strip:
    return Strip([Segment(segment.text, (segment.style or Style()) + mark) for segment in strip])


def _nobody() -> None:
    """Where nobody listens."""
