"""A question that waits for the user, and what a key pressed at it means. Pure; the clock is passed in.

No key counts in the first half second, nothing is chosen at first, a digit only chooses and Enter only confirms what
was chosen. So no single stray key can let anything run. May import: protocol, tui.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct

from agi.protocol.commands import Approve, ResolvePreflight
from agi.protocol.sessions import PendingApproval
from agi.protocol.showing import exact
from agi.tui.calls import whole
from agi.tui.hunks import KEYS, HunkPick

PATIENCE_S = 0.5
"""How long a question must have been on the screen before a key counts."""
LONGEST_REASON = 2000
Choice = Literal["once", "session", "workspace", "deny", "deny_why", "hunks", "approve"]


class Option(Struct, frozen=True):
    """One answer that can be chosen."""

    digit: str
    choice: Choice
    label: str
    withheld: str = ""
    """Why it cannot be chosen now."""


class Outcome(Struct, frozen=True):
    """What came of a key: an answer, or something the panel is to do."""

    kind: Literal["", "answer", "plan", "later", "typed", "view", "other"] = ""
    answer: Approve | None = None
    plan: ResolvePreflight | None = None
    text: str = ""
    step: int = 0


NOTHING = Outcome()


class Question:
    """One pending approval at the panel."""

    def __init__(self, asked: PendingApproval, now: float) -> None:
        self.asked = asked
        self.since = now
        self.chosen: Choice | None = None
        self.reason: str | None = None
        """What is being said against it; None while nothing is."""
        self.is_cut = False
        """Whether the panel has no room for all of it."""
        self.was_viewed = False
        """Whether all of it was looked at, to its end, on a page of its own."""
        self.pick: HunkPick | None = None
        """The change in pieces, while it is decided on them one by one."""

    @property
    def id(self) -> str:
        """By which it is known at the panel."""
        return self.asked.tool_call_id

    @property
    def title(self) -> str:
        """Who wants what; of a worker, with those it works for."""
        who = "" if self.asked.path is UNSET else f"{exact(' › '.join(self.asked.path))}: "
        return f"{who}{exact(self.asked.name)} wants to run"

    @property
    def facts(self) -> str:
        """How risky it is, or where one is in it."""
        return self.pick.place if self.pick is not None else f"risk: {self.asked.risk}"

    @property
    def why(self) -> str:
        """Why it is asked about."""
        return exact(self.asked.reason)

    @property
    def is_diff(self) -> bool:
        """Whether the lines are a change."""
        return bool(self.asked.preview)

    first_line = 0

    @property
    def asks_for(self) -> str:
        """What is being written, if something is."""
        return "" if self.reason is None else f"Why not? {exact(self.reason)}▌  (enter: deny · esc: back)"

    @property
    def keys(self) -> str:
        """What can be done here."""
        if self.pick is None:
            return "digit chooses · enter confirms · v all of it · esc later"
        left = f"{self.pick.open} to decide" if self.pick.open else "enter answers"
        return f"{self.pick.marks} {left} · ↑↓ another · v all of it · esc back"

    def take_text(self, text: str) -> bool:
        """Take what was pasted, where something is being written."""
        if self.reason is None:
            return False
        self.reason = (self.reason + text)[:LONGEST_REASON]
        return True

    @property
    def lines(self) -> list[str]:
        """The exact change or call, every character visible."""
        if self.pick is not None:
            return self.pick.lines
        if self.asked.preview:
            return [exact(line) for line in self.asked.preview.rstrip("\n").split("\n")]
        return self.asked.shown.rstrip("\n").split("\n") if self.asked.shown else whole(bytes(self.asked.input))

    @property
    def rule(self) -> str:
        """What would be remembered, in words; empty if the answer can only count once."""
        remember = self.asked.remember
        if remember is UNSET or self.asked.risk == "high" or self.pick is not None:
            return ""
        return exact(remember.text)

    def is_armed(self, now: float) -> bool:
        """Whether keys count by now."""
        return now - self.since >= PATIENCE_S

    def options(self) -> list[Option]:
        """The answers there are."""
        if self.pick is not None:
            return [Option(digit, "hunks", label) for digit, label in KEYS]
        remember = self.asked.remember
        scopes = () if remember is UNSET or self.asked.risk == "high" else remember.scopes
        withheld = "see all of it first: v" if self.is_cut and not self.was_viewed else ""
        found = [Option("1", "once", "once")]
        found += [Option("2", "session", "this session", withheld)] if "session" in scopes else []
        found += [Option("3", "workspace", "this workspace", withheld)] if "workspace" in scopes else []
        found += [Option("4", "deny", "deny"), Option("5", "deny_why", "deny, say why")]
        return [*found, Option("6", "hunks", "hunk by hunk")] if len(self.asked.hunks) > 1 else found

    def press(self, key: str, character: str | None, now: float) -> Outcome:
        """What a key means here; before its time it means nothing, and a letter goes to the box in any case."""
        if self.reason is not None:
            return self._write(key, character)
        if self.pick is not None:
            return self._picked(self.pick, key, character)
        if key == "escape":
            return Outcome("later")
        if not self.is_armed(now):
            is_ours = key == "enter" or (character or "") in "123456v"
            return NOTHING if is_ours or not is_text(character) else Outcome("typed", text=character or "")
        if key == "enter":
            return self._confirm()
        if key in ("up", "down"):
            self._move(-1 if key == "up" else 1)
        elif key in ("left", "right"):
            return Outcome("other", step=-1 if key == "left" else 1)
        elif character == "v":
            return Outcome("view")
        elif character is not None and character in "123456":
            self._choose(character)
        elif is_text(character):
            return Outcome("typed", text=character or "")
        return NOTHING

    def _picked(self, pick: HunkPick, key: str, character: str | None) -> Outcome:
        """What a key means while it is decided hunk by hunk; nothing is sent before Enter, and all are decided."""
        if key == "escape":
            self.pick, self.chosen = None, None
        elif key == "enter":
            answer = pick.answer()
            return NOTHING if answer is None else Outcome("answer", answer=answer)
        elif key in ("up", "left", "down", "right"):
            pick.move(-1 if key in ("up", "left") else 1)
        elif character == "v":
            return Outcome("view")
        elif character is not None and character in "1234":
            pick.take(character)
        elif is_text(character):
            return Outcome("typed", text=character or "")
        return NOTHING

    def _choose(self, digit: str) -> None:
        for option in self.options():
            if option.digit == digit and not option.withheld:
                self.chosen = option.choice

    def _move(self, step: int) -> None:
        open_ones = [option.choice for option in self.options() if not option.withheld]
        at = open_ones.index(self.chosen) + step if self.chosen in open_ones else (0 if step > 0 else -1)
        self.chosen = open_ones[at % len(open_ones)]

    def _confirm(self) -> Outcome:
        if self.chosen is None:
            return NOTHING
        if self.chosen == "deny_why":
            self.reason = ""
            return NOTHING
        if self.chosen == "hunks":
            self.pick, self.chosen = HunkPick(self.asked), None
            return NOTHING
        return Outcome("answer", answer=self._answer(self.chosen))

    def _write(self, key: str, character: str | None) -> Outcome:
        assert self.reason is not None  # noqa: S101
        if key == "escape":
            self.reason, self.chosen = None, None
        elif key == "backspace":
            self.reason = self.reason[:-1]
        elif key == "enter":
            answer = Approve(tool_call_id=self.asked.tool_call_id, action="deny", reason=self.reason.strip())
            return Outcome("answer", answer=answer)
        elif is_text(character):
            self.reason = (self.reason + (character or ""))[:LONGEST_REASON]
        return NOTHING

    def _answer(self, choice: Choice) -> Approve:
        call, digest = self.asked.tool_call_id, self.asked.digest or None
        if choice in ("deny", "deny_why"):
            return Approve(tool_call_id=call, action="deny")
        remember: Literal["once", "session", "workspace"] = "once"
        if choice in ("session", "workspace"):
            remember = "session" if choice == "session" else "workspace"
        return Approve(tool_call_id=call, action="approve", remember=remember, digest=digest)


def is_text(character: str | None) -> bool:
    """Whether a key wrote something."""
    return character is not None and character.isprintable()
