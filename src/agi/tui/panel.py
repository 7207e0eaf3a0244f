"""The panel above the box on which questions stand: what would run, why it is asked, what would be remembered.

It comes without taking the focus and without a key of its own; what keys mean at it is `questions`' business.
May import: protocol, tui.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from agi.protocol.preflight import PendingPreflight
from agi.protocol.sessions import PendingApproval
from agi.protocol.showing import exact
from agi.tui.drawing import style
from agi.tui.plans import PlanQuestion
from agi.tui.questions import PATIENCE_S, Outcome, Question
from agi.tui.tokens import DARK, Palette

TALLEST = 12
"""Lines of a call or a diff that the panel shows; `v` shows all."""
MOST_DRAWN = 200
NARROW, LOW = 60, 16
"""Below so many columns or rows the panel is one line until it is gone to."""


Waiting = PendingApproval | PendingPreflight


class QuestionPanel(Widget, can_focus=True):
    """The question that waits longest, or the one that was gone to."""

    DEFAULT_CSS = "QuestionPanel { height: auto; display: none; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.palette: Palette = DARK
        self.decided: Callable[[Outcome], None] = _nobody
        """Takes what was decided, or typed, here."""
        self.question: Question | PlanQuestion | None = None
        self._waiting: list[Waiting] = []
        self._at = 0
        self._arming: Timer | None = None
        self.focused_window_at = 0.0
        """When the terminal's window got the focus: the click that did it is no answer."""

    def show(self, waiting: Sequence[Waiting]) -> None:
        """Put these questions on the panel; the one that is being looked at stays, as long as it waits."""
        self._waiting = list(waiting)
        ids = [_made(one, 0.0).id for one in waiting]
        current = self.question.id if self.question else ""
        if current in ids:
            self._at = ids.index(current)
        elif waiting:
            self._at = 0
            self._ask()
        else:
            self.question = None
        self.display = bool(waiting)
        self.refresh(layout=True)

    def other(self, step: int) -> None:
        """Look at another question; its keys wait anew."""
        if len(self._waiting) > 1:
            self._at = (self._at + step) % len(self._waiting)
            self._ask()
            self.refresh(layout=True)

    def redraw(self) -> None:
        """Draw anew: it was looked at as a whole, or the colours changed."""
        self.refresh(layout=True)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """As tall as it needs to be, within reason."""
        return len(self._lines(max(width, 1)))

    def render_line(self, y: int) -> Strip:
        """One line of it."""
        lines = self._lines(self.size.width)
        ground = style(self.palette, "text", "surface")
        strip = lines[y] if y < len(lines) else Strip([])
        return strip.crop_extend(0, self.size.width, ground).apply_style(ground)

    def visible_text(self) -> list[str]:
        """What stands on it, line by line."""
        return [strip.text.rstrip() for strip in self._lines(self.size.width)] if self.display else []

    def _ask(self) -> None:
        self.question = _made(self._waiting[self._at], time.monotonic())
        if self._arming is not None:
            self._arming.stop()
        self._arming = self.set_timer(PATIENCE_S, self.refresh)

    def _room(self) -> int:
        return max(1, min(TALLEST, self.app.size.height // 2 - 4))

    def _lines(self, width: int) -> list[Strip]:
        question = self.question
        if question is None:
            return []
        edge = style(self.palette, "accent" if question.is_armed(time.monotonic()) and self.has_focus else "edge")
        wait = style(self.palette, "wait", "", "bold")
        more = f"{self._at + 1} of {len(self._waiting)} · " if len(self._waiting) > 1 else ""
        facts = f"{more}{question.facts}"
        if not self.has_focus and (self.app.size.width < NARROW or self.app.size.height < LOW):
            return [_line(width, (_short(question), wait), right="(ctrl+y)")]
        lines = [_line(width, (f"◆ {question.title}", wait), right=facts)]
        if question.why:
            lines += [_bar(width, edge, question.why, style(self.palette, "muted"))]
        lines += self._content(question, width, edge)
        lines += self._answers(question, width, edge)
        return lines

    def _content(self, question: Question | PlanQuestion, width: int, edge: Style) -> list[Strip]:
        room = self._room()
        is_diff, in_hunk = question.is_diff, False
        lines: list[Strip] = []
        for text in question.lines:
            in_hunk = text.startswith("@@") or (in_hunk and not text.startswith("diff "))
            ground = {"+": "add", "-": "remove"}.get(text[:1], "") if is_diff and in_hunk else ""
            made = style(self.palette, "text", ground)
            lines += [_bar(width, edge, piece, made) for piece in _folded(text, width - 3)]
            if len(lines) > MOST_DRAWN:
                break
        question.is_cut = len(lines) > room
        if not question.is_cut:
            return lines
        note = _bar(width, edge, "… there is more: v shows all of it", style(self.palette, "wait"))
        first = min(question.first_line, len(lines) - room + 1)
        return [*lines[first : first + room - 1], note]

    def _answers(self, question: Question | PlanQuestion, width: int, edge: Style) -> list[Strip]:
        if question.asks_for:
            asked = _folded(question.asks_for, width - 3)
            return [_bar(width, edge, piece, style(self.palette, "text")) for piece in asked]
        pieces = []
        for option in question.options():
            is_chosen = option.choice == question.chosen
            mark = "▶" if is_chosen else " "
            name = "faint" if option.withheld else "text"
            made = style(self.palette, name, "sel" if is_chosen else "", "bold" if is_chosen else "")
            pieces.append((f"{mark}{option.digit} {option.label} ", made))
        lines = _wrapped(width, edge, pieces)
        if question.rule:
            longer = [option for option in question.options() if option.choice in ("session", "workspace")]
            digits = " and ".join(option.digit for option in longer)
            withheld = longer[0].withheld if longer else ""
            text = f"{digits} would not ask again about: {question.rule}" + (f" ({withheld})" if withheld else "")
            lines += [_bar(width, edge, piece, style(self.palette, "muted")) for piece in _folded(text, width - 3)]
        keys = question.keys if self.has_focus else "ctrl+y to answer"
        return [*lines, *(_bar(width, edge, piece, style(self.palette, "faint")) for piece in _folded(keys, width - 3))]

    async def _on_key(self, event: events.Key) -> None:
        """Everything that is pressed here stays here, or goes to the box as text."""
        event.stop()
        event.prevent_default()
        if self.question is None or event.key == "ctrl+y":
            return
        if self.screen.focused is not self:  # it was on its way here when something else was decided: it is no answer
            self.decided(Outcome("typed", text=(event.character or "") if event.is_printable else ""))
            return
        outcome = self.question.press(event.key, event.character, time.monotonic())
        if outcome.kind == "other":
            self.other(outcome.step)
        elif outcome.kind or event.key in ("ctrl+c", "ctrl+d"):
            self.decided(outcome if outcome.kind else Outcome("later"))
        self.redraw()

    def _on_paste(self, event: events.Paste) -> None:
        """A paste is no answer."""
        event.stop()
        event.prevent_default()
        if self.question is not None and self.question.take_text(" ".join(event.text.split())):
            self.redraw()
        else:
            self.decided(Outcome("typed", text=event.text))

    async def _on_click(self, event: events.Click) -> None:
        """A click only goes there; the one that woke the window not even that."""
        event.stop()
        if time.monotonic() - self.focused_window_at >= PATIENCE_S:
            self.screen.set_focus(self)

    def _on_focus(self, event: events.Focus) -> None:
        self.refresh(layout=True)

    def _on_blur(self, event: events.Blur) -> None:
        self.refresh(layout=True)


def _made(one: Waiting, now: float) -> Question | PlanQuestion:
    return Question(one, now) if isinstance(one, PendingApproval) else PlanQuestion(one, now)


def _short(question: Question | PlanQuestion) -> str:
    """All of it in one line."""
    if isinstance(question, Question):
        return f"◆ {exact(question.asked.name)}: {question.lines[0]}"
    return f"◆ {question.title}"


def _nobody(_: Outcome) -> None:
    """Where nobody listens."""


def _line(width: int, *pieces: tuple[str, Style], right: str = "") -> Strip:
    room = width - 2 - (cell_len(right) + 1 if right else 0)
    segments, used = [Segment(" ")], 0
    for text, made in pieces:
        text = text if used + cell_len(text) <= room else set_cell_size(text, max(room - used - 1, 0)) + "…"
        used += cell_len(text)
        segments.append(Segment(text, made))
    if right and room > 0:
        segments.append(Segment(" " * max(width - 2 - used - cell_len(right), 1)))
        segments.append(Segment(right))
    return Strip(segments)


def _bar(width: int, edge: Style, text: str, made: Style) -> Strip:
    return Strip([Segment(" "), Segment("│", edge), Segment(" "), Segment(text, made)])


def _folded(text: str, width: int) -> list[str]:
    """Every character, on as many lines as that takes."""
    width = max(width, 4)
    if cell_len(text) <= width:
        return [text]
    pieces, begun, used = [], "", 0
    for character in text:
        size = cell_len(character)
        if used + size > width:
            pieces.append(begun)
            begun, used = "", 0
        begun += character
        used += size
    return [*pieces, begun] if begun else pieces


def _wrapped(width: int, edge: Style, pieces: list[tuple[str, Style]]) -> list[Strip]:
    """Pieces side by side, on as many lines as that takes."""
    rows: list[list[tuple[str, Style]]] = [[]]
    for piece in pieces:
        if rows[-1] and sum(cell_len(text) for text, _ in rows[-1]) + cell_len(piece[0]) > width - 3:
            rows.append([])
        rows[-1].append(piece)
    return [Strip([Segment(" "), Segment("│", edge), *(Segment(text, made) for text, made in row)]) for row in rows]
