"""The box in which the user writes: several lines, earlier prompts, pastes of any size, completion.

What is sent, and keys that are not for the text, are told to whoever listens, at once: a key that comes after must find
done what the one before it did. May import: counts, tui.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.widgets import TextArea

from agi.counts import counted
from agi.tui.keys import ACTIONS
from agi.tui.safe import shown

CHIP_LINES, CHIP_CHARACTERS = 10, 1024
"""A longer paste is shown as a word for it."""
LONGEST = 2_000_000
"""Characters that one message may have here."""
TALLEST = 8
IN_AN_EMPTY_BOX = {"home": "to_start", "end": "to_end", "ctrl+d": "leave", "delete": "drop"}
NEW_LINE = frozenset({"shift+enter", "alt+enter", "ctrl+j", "ctrl+enter"})


class Composer(TextArea):
    """The box; it always has the focus unless the user went elsewhere."""

    DEFAULT_CSS = """
    Composer { height: auto; max-height: 10; border: round $edge; padding: 0 1; }
    Composer { background: $surface; color: $foreground; }
    Composer:focus { border: round $accent; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, tab_behavior="focus", compact=False, highlight_cursor_line=False)
        self.cursor_blink = False  # nothing is drawn while nothing happens
        self.send: Callable[[str, str], None] = _nobody
        """Takes what was written, and the same as it stood in the box, pastes by their names."""
        self.act: Callable[[str], None] = _nobody
        """Takes the name of what a key is for."""
        self.refuse: Callable[[str], None] = _nobody
        """Takes the reason why something cannot be taken into the box."""
        self.prompts: Sequence[str] = ()
        self.is_completing = False
        """Whether completions are offered, which some keys are for then."""
        self._chips: dict[str, str] = {}
        self._recalled: int | None = None
        self._kept = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written."""
        return not self.text

    @property
    def whole(self) -> str:
        """What is written, pastes and all."""
        text = self.text
        for chip, pasted in self._chips.items():
            text = text.replace(chip, pasted)
        return text

    def put(self, text: str, *, keep_chips: bool = False) -> None:
        """Have this in the box, the cursor behind it."""
        if not keep_chips:
            self._chips.clear()
        self.text = ""
        self._take(text)

    def clear_box(self) -> None:
        """Empty it; undoing brings the text back."""
        self._recalled = None
        self.replace("", (0, 0), self.document.end)

    def type(self, text: str) -> None:
        """Write at the cursor, as if it had been typed."""
        self._take(text)

    async def _on_key(self, event: events.Key) -> None:
        if self._handled(event):
            event.stop()
            event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._take(event.text)

    def _handled(self, event: events.Key) -> bool:
        key = event.key
        if key == "enter":
            self._enter()
        elif key in NEW_LINE:
            self.insert("\n")
        elif self.is_completing and key in ("tab", "up", "down"):
            self.act({"tab": "take", "up": "earlier", "down": "later"}[key])
        elif key == "tab" or key == "shift+tab":
            pass  # the focus stays
        elif key == "up" and self.cursor_at_first_line:
            self._recall(-1)
        elif key == "down" and self.cursor_at_last_line:
            self._recall(1)
        elif self.is_empty and (action := IN_AN_EMPTY_BOX.get(key)):
            self.act(action)
        elif self.is_empty and event.character == "?":
            self.act("keys")
        elif key == "ctrl+z" and not self.history.undo_stack:
            self.act("suspend")
        elif key in ACTIONS:
            self.act(ACTIONS[key])
        else:
            return False
        return True

    def _enter(self) -> None:
        row, column = self.cursor_location
        if column and self.document.get_line(row)[column - 1] == "\\":
            self.replace("\n", (row, column - 1), (row, column))
            return
        self.send(self.whole, self.text)

    def _take(self, text: str) -> None:
        """Put text at the cursor; a long one by a name for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if len(text) + len(self.whole) > LONGEST:
            reason = f"{len(text):,} characters are too many for a message. Save them as a file and name it with @."
            self.refuse(reason)
            return
        lines = text.count("\n") + 1
        if lines > CHIP_LINES or len(text) > CHIP_CHARACTERS:
            chip = f"[paste {len(self._chips) + 1}: {counted(lines, 'line')}, {counted(len(text), 'character')}]"
            self._chips[chip] = text
            text = chip
        self.insert(shown(text))

    def _recall(self, step: int) -> None:
        """Go through earlier prompts; what was begun is kept for the way back."""
        if step < 0 and self.is_empty and self._recalled is None:
            self.act("unqueue")
            return
        self.recall(step)

    def recall(self, step: int) -> None:
        """Show an earlier or later prompt."""
        if not self.prompts or (self._recalled is None and step > 0):
            return
        if self._recalled is None:
            self._kept, self._recalled = self.text, len(self.prompts)
        at = min(max(self._recalled + step, 0), len(self.prompts))
        self._recalled = at
        if at == len(self.prompts):
            self.put(self._kept)
            self._recalled = None
        else:
            self.put(self.prompts[at])
            self._recalled = at


def _nobody(*_: str) -> None:
    """Where nobody listens."""
