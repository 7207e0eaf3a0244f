"""Deciding on a change hunk by hunk, as `git add -p` does it. Asking for lines is `approving`'s business.

May import: protocol, cli.
"""

from __future__ import annotations

from typing import Literal

from agi.cli.display import exact, fit
from agi.cli.proposal import COLUMNS, SHOWN, bounded, coloured, no, yes
from agi.protocol.commands import Approve
from agi.protocol.events import ApprovalRequested
from agi.protocol.hunks import Hunk

HELP = """\
y  make this change
n  leave it out, or n <reason>
a  make this one and the rest of this file
d  leave out this one and the rest of this file
q  leave out this one and everything after it
c  cancel the turn"""
LONGEST_REASON = 10_000


class HunkChoice:
    """Goes through the hunks of a question, one after the other."""

    def __init__(self, asked: ApprovalRequested) -> None:
        self._asked = asked
        self._at = 0
        self._accepted: list[str] = []
        self._reasons: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether everything is decided."""
        return self._at >= len(self._asked.hunks)

    def shown(self, *, colors: bool) -> str:
        """The hunk that is to be decided on."""
        hunk = self._hunk
        lines = [exact(line) for line in hunk.diff.rstrip("\n").split("\n")]
        cut = [bounded(line) for line in lines[:SHOWN]]
        more = [f"… {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
        text = coloured(cut) if colors else cut
        return "\n".join([f"  {exact(hunk.path)}", *(f"    {line}" for line in (*text, *more))])

    def last_line(self) -> str:
        """The line that is answered."""
        tail = f": make hunk {self._at + 1} of {len(self._asked.hunks)}? [y/n/a/d/q/?]: "
        return fit(exact(self._hunk.path), COLUMNS - len(tail)) + tail

    def take(self, typed: str | None) -> Literal["taken", "help", "cancel"]:
        """Decide by what was typed; the end of the input cancels the turn."""
        word, _, reason = ("c" if typed is None else typed).partition(" ")
        match word.lower().rstrip(",:"):
            case "y" | "yes":
                self._decide(1, accept=True)
            case "n" | "no":
                self._reasons += [reason.strip()] if reason.strip() else []
                self._decide(1, accept=False)
            case "a":
                self._decide(self._rest_of_file(), accept=True)
            case "d":
                self._decide(self._rest_of_file(), accept=False)
            case "q":
                self._decide(len(self._asked.hunks) - self._at, accept=False)
            case "c" | "cancel":
                return "cancel"
            case _:
                return "help"
        return "taken"

    def answer(self) -> Approve:
        """What was decided: all of it, some hunks, or nothing."""
        reason = "; ".join(self._reasons)[:LONGEST_REASON]
        if not self._accepted:
            return no(self._asked, reason)
        return yes(self._asked, hunks=tuple(self._accepted), reason=reason)

    @property
    def _hunk(self) -> Hunk:
        return self._asked.hunks[self._at]

    def _rest_of_file(self) -> int:
        rest = self._asked.hunks[self._at :]
        return next((n for n, hunk in enumerate(rest) if hunk.path != self._hunk.path), len(rest))

    def _decide(self, count: int, *, accept: bool) -> None:
        if accept:
            self._accepted += [hunk.id for hunk in self._asked.hunks[self._at : self._at + count]]
        self._at += count
