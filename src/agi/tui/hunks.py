"""Deciding on a change hunk by hunk at the panel. Pure.

Digits take a hunk or leave it out, and nothing is said of any at first; Enter gives the answer once all are decided.
May import: protocol, tui.
"""

from __future__ import annotations

from typing import Literal

from agi.protocol.commands import Approve
from agi.protocol.sessions import PendingApproval
from agi.protocol.showing import exact

KEYS = (
    ("1", "take it"),
    ("2", "leave it out"),
    ("3", "take the rest of the file"),
    ("4", "leave out the rest of the file"),
)


class HunkPick:
    """Goes through the hunks of one change."""

    def __init__(self, asked: PendingApproval) -> None:
        self._asked = asked
        self.at = 0
        self._taken: dict[str, bool] = {}

    @property
    def lines(self) -> list[str]:
        """The hunk that is looked at, every character visible."""
        hunk = self._asked.hunks[self.at]
        return [exact(hunk.path), *(exact(line) for line in hunk.diff.rstrip("\n").split("\n"))]

    @property
    def place(self) -> str:
        """Which of how many it is."""
        return f"hunk {self.at + 1} of {len(self._asked.hunks)}"

    @property
    def marks(self) -> str:
        """What was said of each, in order."""
        signs = {True: "✓", False: "✗", None: "·"}
        marks = [signs[self._taken.get(hunk.id)] for hunk in self._asked.hunks]
        marks[self.at] = f"[{marks[self.at]}]"
        return "".join(marks)

    @property
    def open(self) -> int:
        """How many are not decided on."""
        return len(self._asked.hunks) - len(self._taken)

    def move(self, step: int) -> None:
        """Look at another."""
        self.at = (self.at + step) % len(self._asked.hunks)

    def take(self, digit: str) -> None:
        """Decide on the one that is looked at, or on it and what follows in its file; then look at the next."""
        hunks = self._asked.hunks
        last = self.at
        if digit in "34":
            while last + 1 < len(hunks) and hunks[last + 1].path == hunks[self.at].path:
                last += 1
        for hunk in hunks[self.at : last + 1]:
            self._taken[hunk.id] = digit in "13"
        undecided = [n for n, hunk in enumerate(hunks) if hunk.id not in self._taken]
        after = [n for n in undecided if n > self.at]
        self.at = (after or undecided or [last])[0]

    def answer(self) -> Approve | None:
        """All, some or none of it; None while something is not decided."""
        if self.open:
            return None
        accepted = tuple(hunk.id for hunk in self._asked.hunks if self._taken[hunk.id])
        action: Literal["approve", "deny"] = "approve" if accepted else "deny"
        call, digest = self._asked.tool_call_id, self._asked.digest or None
        if not accepted:
            return Approve(tool_call_id=call, action=action)
        return Approve(tool_call_id=call, action=action, digest=digest, hunks=accepted)
