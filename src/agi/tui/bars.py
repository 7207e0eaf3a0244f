"""The two bars as text: the title, exactly as people know it, and the line under the box. Pure.

Both lose what matters least where there is no room; the state of the connection always stays. May import: tui.
"""

from __future__ import annotations

import time

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from agi.protocol.messages import Usage
from agi.tui.drafts import Draft
from agi.tui.endings import BADGES, money
from agi.tui.safe import one_line
from agi.tui.standing import Standing
from agi.tui.times import lasting

ACTIVITIES = {
    "idle": "○ idle",
    "running": "● running",
    "waiting_approval": "◆ waiting for you",
    "waiting_input": "◆ waiting for you",
    "queued": "◌ queued",
    "backing_off": "↻ backing off",
    "verifying": "● verifying",
    "compacting": "● compacting",
}
"""Each state with its shape and its word."""


class Title(Struct, frozen=True, kw_only=True):
    """What the title bar tells."""

    connected: bool = True
    lost_at: float = 0.0
    draft: Draft | None = None
    agents: int = 0
    place: str = ""
    waiting: int = 0
    """Questions that wait for the user."""


def title_line(title: Title, width: int) -> str:
    """The title bar; fields are dropped from the right, never the state."""
    state = "agi ● Connected" if title.connected else f"agi ✗ Disconnected {_at(title.lost_at)}, retrying"
    if title.draft is not None:
        draft = title.draft
        context = "?" if draft.context_pct is None else f"{draft.context_pct:.0f}"
        fields = [f"Draft: {one_line(draft.role, 60)}", f"Context: {context}%"]
        cost = "$?" if draft.cost_usd is None and draft.turns else f"${draft.cost_usd or 0:.2f}"
        fields += [f"Turns: {draft.turns}", cost]
    else:
        fields = ["No draft", f"Agents: {title.agents}"]
    text = " | ".join([state, *fields])
    while fields and cell_len(text) > width:
        fields.pop()
        text = " | ".join([state, *fields])
    right = one_line(title.place, 60)
    room = width - cell_len(text) - cell_len(right)
    if right and room >= 4:
        text = f"{text}{' ' * (room - 1)}{right} "
    return set_cell_size(text, width)


class Status(Struct, frozen=True, kw_only=True):
    """What the line under the box tells."""

    standing: Standing | None = None
    working_s: float | None = None
    context: float | None = None
    model: str = ""
    hint: str = ""
    """What a key would do now, in the place of the usual hints."""


def status_line(status: Status, width: int) -> tuple[str, str]:
    """Hints at the left, the state at the right; the state first where there is no room for both."""
    right = _state(status)
    while len(right) > 1 and cell_len(_joined(right)) > width:
        right.pop()
    text = _joined(right)
    text = text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)) + "…"
    room = width - cell_len(text) - 2
    left = status.hint or _hints(status, room)
    if status.hint and cell_len(left) > room:
        text, left = "", one_line(left, max(width, 1))  # what was just asked for is said first
        room = width
    left = left if cell_len(left) <= room else ""
    return left, text


def activity(status: Status) -> str:
    """What the session does, in a shape and words."""
    standing = status.standing
    if standing is None:
        return "○ new session"
    word = ACTIVITIES.get(standing.activity, standing.activity)
    detail = one_line(standing.detail, 40)
    if detail:
        word = f"{word} {detail}"
    if status.working_s is not None and standing.activity in ("running", "verifying", "compacting"):
        seconds = int(status.working_s)
        word = f"{word} {seconds} s" if seconds < 60 else f"{word} {lasting(seconds)}"
    return word


def _state(status: Status) -> list[str]:
    """From what matters most to what matters least."""
    standing = status.standing
    told = [activity(status)]
    if standing is not None:
        badge = BADGES[standing.verification][0] if not standing.is_busy else ""
        told += [badge] if badge else []
        context = "?" if status.context is None else f"{status.context:.0f}"
        told += [f"{context}% context", spent(standing.usage)]
    model = (standing.model if standing else "") or status.model
    return [*told, one_line(model, 40)] if model else told


def spent(usage: Usage) -> str:
    """What the session cost so far; nothing was spent where nothing was asked."""
    return "$0.00" if usage.cost_usd is None and not usage.requests else money(usage)


def _hints(status: Status, room: int) -> str:
    busy = status.standing is not None and status.standing.is_busy
    hints = (
        ["⏎ queue", "ctrl+s steer", "esc esc stop", "? keys"] if busy else ["⏎ send", "/ commands", "@ files", "? keys"]
    )
    while hints and cell_len("  ".join(hints)) > room:
        hints.pop()
    return "  ".join(hints)


def queued_row(name: str, text: str, keys: str, width: int) -> list[tuple[str, str]]:
    """A message that waits, with what can be done about it at the right, as far as there is room."""
    head = f" ◌ {name}  "
    room = width - cell_len(head) - 1
    if keys and room - cell_len(keys) < min(cell_len(text), 12) + 2:
        keys = ""
    most = max(room - (cell_len(keys) + 2 if keys else 0), 1)
    said = text if cell_len(text) <= most else set_cell_size(text, max(most - 1, 0)) + "…"
    gap = " " * max(room - cell_len(said) - cell_len(keys), 0)
    return [(head, "faint"), (said, "text"), (gap + keys, "faint")] if keys else [(head, "faint"), (said, "text")]


def _joined(parts: list[str]) -> str:
    return " · ".join(parts)


def _at(when: float) -> str:
    return time.strftime("%H:%M", time.localtime(when)) if when else ""
