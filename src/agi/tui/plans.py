"""The steps an agent proposes before it begins, at the panel: looked at, left out, changed, approved or refused. Pure.

As at a question no key counts in the first half second, and nothing is chosen at first. May import: protocol, tui.
"""

from __future__ import annotations

from agi.protocol.commands import EditedStep, ResolvePreflight
from agi.protocol.preflight import EstimatedCost, PendingPreflight, PreflightStep
from agi.protocol.showing import exact
from agi.tui.questions import LONGEST_REASON, NOTHING, PATIENCE_S, Choice, Option, Outcome, is_text

LONGEST_TARGET = 10_000
LONGEST_DESCRIPTION = 2000


class PlanQuestion:
    """One pending plan at the panel."""

    def __init__(self, asked: PendingPreflight, now: float) -> None:
        self.asked = asked
        self.since = now
        self.chosen: Choice | None = None
        self.reason: str | None = None
        """What is being said against it; None while nothing is."""
        self.at: int | None = None
        """The step that is marked."""
        self.left_out: set[str] = set()
        self.changed: dict[str, str] = {}
        """What steps are about now, by their ids, where that was changed."""
        self.writing: str | None = None
        """What the marked step is to be about, while that is being written."""
        self.is_cut = False
        self.was_viewed = False

    @property
    def id(self) -> str:
        """By which it is known at the panel."""
        return f"{self.asked.turn_id} {self.asked.digest}"

    @property
    def title(self) -> str:
        """What it is."""
        count = len(self.asked.steps)
        return f"The agent proposes {count} {'step' if count == 1 else 'steps'}, before anything runs"

    @property
    def facts(self) -> str:
        """What it may cost."""
        return _money(self.asked.estimated_cost)

    @property
    def why(self) -> str:
        """What it takes."""
        return f"takes: {exact(', '.join(self.asked.required_permissions))}" if self.asked.required_permissions else ""

    is_diff = False

    @property
    def lines(self) -> list[str]:
        """Every step with what exactly it is about, then what to know."""
        lines = [line for number in range(len(self.asked.steps)) for line in self._step(number)]
        return [*lines, *(f"! {exact(warning)}" for warning in self.asked.warnings)]

    @property
    def first_line(self) -> int:
        """Where the marked step stands among the lines."""
        return sum(len(self._step(number)) for number in range(self.at or 0))

    def _step(self, number: int) -> list[str]:
        step = self.asked.steps[number]
        mark = "▶" if number == self.at else " "
        tick = "[ ]" if step.id in self.left_out else "[x]"
        now = self.changed.get(step.id)
        description = now if now is not None and not _has_target(step) else step.description
        lines = [f"{mark}{tick} {number + 1}. {exact(description)}"]
        if step.tool_name:
            target = now if now is not None and _has_target(step) else step.target
            lines.append(
                f"       {exact(f'{step.tool_name} {target}'.strip())} ({_judged(step, is_changed=now is not None)})"
            )
        return lines

    rule = ""

    def is_armed(self, now: float) -> bool:
        """Whether keys count by now."""
        return now - self.since >= PATIENCE_S

    def options(self) -> list[Option]:
        """The answers there are."""
        left = len(self.asked.steps) - len(self.left_out)
        whole = "begin with this plan" if not self.left_out and not self.changed else f"begin with {left} of the steps"
        unseen = self.is_cut and not self.was_viewed
        return [
            Option(
                "1", "approve", f"{whole} (see all of it first: v)" if unseen else whole, "unseen" if unseen else ""
            ),
            Option("4", "deny", "refuse"),
            Option("5", "deny_why", "refuse, say why"),
        ]

    @property
    def keys(self) -> str:
        """What can be done here."""
        edit = " · e changes it" if self.at is not None else ""
        return f"↑↓ a step · space leaves it out{edit} · digit chooses · enter confirms · v all · esc later"

    @property
    def asks_for(self) -> str:
        """What is being written, if something is."""
        if self.writing is not None and self.at is not None:
            return f"Step {self.at + 1}: {exact(self.writing)}▌  (enter: so · esc: as it was)"
        return "" if self.reason is None else f"Why not? {exact(self.reason)}▌  (enter: refuse · esc: back)"

    def press(self, key: str, character: str | None, now: float) -> Outcome:
        """What a key means here."""
        if self.writing is not None or self.reason is not None:
            return self._write(key, character)
        if key == "escape":
            return Outcome("later")
        if not self.is_armed(now):
            is_ours = key in ("enter", "space") or (character or "") in "145ev"
            return NOTHING if is_ours or not is_text(character) else Outcome("typed", text=character or "")
        if key == "enter":
            return self._confirm()
        if key in ("up", "down"):
            self._mark(-1 if key == "up" else 1)
        elif key in ("left", "right"):
            return Outcome("other", step=-1 if key == "left" else 1)
        elif key == "space":
            self._toggle()
        elif character == "v":
            return Outcome("view")
        elif character == "e" and self.at is not None:
            self.writing = self._about(self.asked.steps[self.at])
        elif character is not None and character in "145":
            self._choose(character)
        elif is_text(character):
            return Outcome("typed", text=character or "")
        return NOTHING

    def take_text(self, text: str) -> bool:
        """Take what was pasted, where something is being written."""
        if self.writing is not None:
            self.writing = (self.writing + text)[:LONGEST_TARGET]
        elif self.reason is not None:
            self.reason = (self.reason + text)[:LONGEST_REASON]
        else:
            return False
        return True

    def _choose(self, digit: str) -> None:
        for option in self.options():
            if option.digit == digit and not option.withheld:
                self.chosen = option.choice

    def _mark(self, step: int) -> None:
        if self.asked.steps:
            start = -1 if step > 0 else 0
            self.at = ((start if self.at is None else self.at) + step) % len(self.asked.steps)

    def _toggle(self) -> None:
        if self.at is not None:
            self.left_out ^= {self.asked.steps[self.at].id}
            self.chosen = None  # what was chosen was something else

    def _about(self, step: PreflightStep) -> str:
        return self.changed.get(step.id, step.target if _has_target(step) else step.description)

    def _write(self, key: str, character: str | None) -> Outcome:
        text = self.writing if self.writing is not None else self.reason or ""
        if key == "enter":
            return self._written(text.strip())
        if key == "escape":
            self.writing, self.reason, self.chosen = None, None, None
            return NOTHING
        if key == "backspace":
            text = text[:-1]
        elif is_text(character):
            text += character or ""
        if self.writing is not None:
            self.writing = text[:LONGEST_TARGET]
        else:
            self.reason = text[:LONGEST_REASON]
        return NOTHING

    def _written(self, text: str) -> Outcome:
        if self.writing is None:
            return Outcome("plan", plan=self._refusal(text))
        step = self.asked.steps[self.at or 0]
        if text and text != (step.target if _has_target(step) else step.description):
            self.changed[step.id] = text
        elif text:
            self.changed.pop(step.id, None)
        self.writing, self.chosen = None, None
        return NOTHING

    def _confirm(self) -> Outcome:
        if self.chosen == "approve":
            return Outcome("plan", plan=self._approval())
        if self.chosen == "deny":
            return Outcome("plan", plan=self._refusal(""))
        if self.chosen == "deny_why":
            self.reason = ""
        return NOTHING

    def _refusal(self, reason: str) -> ResolvePreflight:
        return ResolvePreflight(approved=False, reason=reason, digest=self.asked.digest)

    def _approval(self) -> ResolvePreflight:
        edited = [self._edited(step) for step in self.asked.steps] if self.left_out or self.changed else None
        return ResolvePreflight(approved=True, edited_steps=edited, digest=self.asked.digest)

    def _edited(self, step: PreflightStep) -> EditedStep:
        now, skip = self.changed.get(step.id), step.id in self.left_out
        if now is None:
            return EditedStep(id=step.id, description=step.description, skip=skip)
        if _has_target(step):
            return EditedStep(id=step.id, description=step.description, target=now, skip=skip)
        return EditedStep(id=step.id, description=now[:LONGEST_DESCRIPTION], skip=skip)


def _judged(step: PreflightStep, *, is_changed: bool) -> str:
    if is_changed:
        return "changed: it is judged anew"
    return f"risk: {step.risk}, {'asks' if step.needs_approval else 'does not ask'}"


def _has_target(step: PreflightStep) -> bool:
    return bool(step.tool_name and step.target)


def _money(cost: EstimatedCost) -> str:
    return "cost: ?" if cost.estimated_usd is None else f"cost: about ${cost.estimated_usd:.2f}"
