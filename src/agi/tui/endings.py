"""What the transcript says about how things went: a turn's end with its verification, notices, a change of models.

May import: protocol, tui.
"""

from __future__ import annotations

from agi.protocol import events as ev
from agi.protocol.events import Event, Verification, in_todays_words
from agi.protocol.messages import Usage
from agi.tui.entries import Tone
from agi.tui.safe import one_line
from agi.tui.times import lasting

LIMITS = {
    "max_steps": "stopped at its step limit (agents.<name>.maxSteps)",
    "budget_exhausted": "stopped at the budget (budget, budget.perTurn, budget.perSession)",
    "loop_detected": "went round in circles and was stopped",
    "max_tokens": "cut off at the model's limit",
    "refusal": "the model refused",
}
BADGES: dict[Verification, tuple[str, Tone]] = {
    "verified": ("✓ verified", "good"),
    "failing": ("✗ failing", "bad"),
    "pre_existing": ("✗ failing as before", "bad"),
    "stale": ("? changed since it was verified", "bad"),
    "not_run": ("", "plain"),
}
"""What a turn's verification is called, and how bad that is."""


def ending(event: Event) -> tuple[str, Tone] | None:
    """The line an event deserves; None if it deserves none."""
    match event.data:
        case ev.TurnCompleted() as data:
            return _completed(data)
        case ev.TurnFailed(error=error):
            hint = f"\n  {one_line(error.hint, 400)}" if error.hint else ""
            return f"✗ failed: {one_line(error.message, 400)}{hint}", "bad"
        case ev.TurnCanceled(steered_into=str()):
            return None  # its message was taken up elsewhere
        case ev.TurnCanceled(reason=reason):
            return "■ canceled" + (f": {one_line(reason, 200)}" if reason else ""), "plain"
        case ev.Notice(message=message):
            return f"note: {one_line(message, 400)}", "plain"
        case ev.ModelSwitched() as data:
            text = f"{data.from_model} could not answer ({one_line(data.reason, 120)}); {data.model} goes on."
            return one_line(text, 400), "plain"
        case ev.PreflightRequested(steps=steps):
            listed = "".join(f"\n  - {one_line(step.description, 200)}" for step in steps)
            return f"◆ Steps are proposed, before anything runs:{listed}", "wait"
        case ev.PreflightResolved(approved=approved):
            return ("The steps were approved." if approved else "The steps were not approved."), "plain"
        case ev.ContextCompacted(pre_tokens=before, post_tokens=after):
            return f"The conversation was made shorter for the model: {before:,} → {after:,} tokens.", "plain"
        case ev.ConversationReverted(messages=count):
            return f"↶ {count} {'message' if count == 1 else 'messages'} taken back", "plain"
    return None


def money(usage: Usage) -> str:
    """What was spent, or a question mark where nobody knows."""
    return "$?" if usage.cost_usd is None else f"${usage.cost_usd:.2f}"


def _completed(data: ev.TurnCompleted) -> tuple[str, Tone] | None:
    badge, tone = BADGES[in_todays_words(data.verification)]
    limit = LIMITS.get(data.stop_reason, "")
    if limit and data.note:
        limit = f"{limit}: {one_line(data.note, 200)}"
    told = [badge, limit, f"{lasting(data.seconds)}" if data.seconds else ""]
    told += [money(data.usage)] if data.usage.cost_usd else []
    text = " · ".join(part for part in told if part)
    return (text if badge or limit else f"done · {text}", "bad" if limit else tone) if text else None
