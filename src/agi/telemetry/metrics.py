"""What is counted of the events this process wrote: turns, model calls, tokens, money, tools, questions.

Counts begin with the process; what ever happened is in the log. A label is never a name that somebody made up.
May import: protocol, telemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from msgspec import UNSET

from agi.protocol import events as ev
from agi.protocol.messages import Usage
from agi.telemetry.families import Durations, Family
from agi.telemetry.tellable import Tellable, method, no_tools


class Metrics:
    """The numbers of one process."""

    def __init__(self, tools: Callable[[], Container[str]] = no_tools) -> None:
        self.tellable = Tellable(tools)
        self.events = Family("agi_events_total", "Events written to the log.", ("type",))
        self.turns = Family("agi_turns_total", "Turns that ended, by how.", ("outcome", "reason"))
        self.turn_seconds = Durations("agi_turn_seconds", "Time a turn worked, without waiting for people.")
        self.calls = Family("agi_model_calls_total", "Answers of models.", ("provider", "model"))
        self.tokens = Family("agi_tokens_total", "Tokens in and out of models.", ("provider", "model", "kind"))
        self.cost = Family("agi_cost_usd_total", "Money spent, where the price is known.", ("provider", "model"))
        self.unpriced = Family("agi_unpriced_calls_total", "Answers whose price is unknown.", ("provider", "model"))
        self.backed_off = Family("agi_model_backoffs_total", "Waits for a provider.", ("provider", "code"))
        self.tools = Family("agi_tool_calls_total", "Tool calls that ended, by how.", ("tool", "outcome"))
        self.tool_seconds = Durations("agi_tool_seconds", "Time a tool ran.", ("tool",))
        self.asked = Family("agi_approvals_requested_total", "Questions to people about calls.", ("tool", "risk"))
        self.answered = Family("agi_approvals_total", "Answers to them, and by what cause.", ("answer", "cause"))
        self.verified = Family("agi_verifications_total", "Verification commands, by what they found.", ("status",))
        self.compacted = Family("agi_compactions_total", "Conversations that were made shorter.", ("trigger",))
        self.requests = Family("agi_http_requests_total", "Requests over HTTP.", ("method", "status"))
        self.request_seconds = Durations("agi_http_request_seconds", "Time until a request was over, streams included.")

    def hear(self, events: Sequence[ev.Event]) -> None:
        """Count events that this process has just made durable."""
        for event in events:
            self.events.add(1, event.type)
            self.tellable.hear(event)
            count = _COUNTS.get(event.type)
            if count is not None and event.data is not None:
                count(self, event.data)

    def request(self, asked_by: str, status: int, seconds: float) -> None:
        """Count a request that is over; `asked_by` is its method."""
        self.requests.add(1, method(asked_by), str(status))
        self.request_seconds.observe(seconds)

    def lines(self) -> Iterable[str]:
        """All of it as text for Prometheus."""
        for family in vars(self).values():
            if isinstance(family, Family | Durations):
                yield from family.lines()

    def ended(self, outcome: str, reason: str, seconds: float) -> None:
        """Count a turn."""
        self.turns.add(1, outcome, reason)
        self.turn_seconds.observe(seconds)

    def used(self, provider: str, model: str, usage: Usage) -> None:
        """Count what an answer took."""
        self.calls.add(1, provider, model)
        for kind, tokens in _kinds(usage):
            self.tokens.add(tokens, provider, model, kind)
        if usage.cost_usd is None:
            self.unpriced.add(1, provider, model)
        else:
            self.cost.add(usage.cost_usd, provider, model)


def _kinds(usage: Usage) -> tuple[tuple[str, int], ...]:
    """The tokens by kind, each once: what was cached is no longer counted as fresh input."""
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    said = max(0, usage.output_tokens - usage.reasoning_tokens)
    return (
        ("input", fresh),
        ("cache_read", usage.cached_tokens),
        ("cache_write", usage.cache_write_tokens),
        ("output", said),
        ("reasoning", usage.reasoning_tokens),
    )


def _tool(metrics: Metrics, data: ev.ToolCallCompleted) -> None:
    name = metrics.tellable.tool(data.name)
    if data.blocked:
        metrics.tools.add(1, name, "blocked")
        return
    outcome = "interrupted" if data.interrupted else "ok" if data.tool_result.ok else "failed"
    metrics.tools.add(1, name, outcome)
    metrics.tool_seconds.observe(data.duration_ms / 1000, name)


def _canceled(metrics: Metrics, data: ev.TurnCanceled) -> None:
    if data.steered_into is UNSET:  # else it never began: its message is part of a turn that is counted
        metrics.ended("canceled", "", data.seconds)


_COUNTS: dict[str, Callable[[Metrics, ev.EventData], None]] = {
    kind.TYPE: count  # type: ignore[misc]  # each takes the data of its own type
    for kind, count in (
        (ev.TurnCompleted, lambda m, d: m.ended("completed", d.stop_reason, d.seconds)),
        (ev.TurnFailed, lambda m, d: m.ended("failed", d.error.code, d.seconds)),
        (ev.TurnCanceled, _canceled),
        (ev.UsageRecorded, lambda m, d: m.used(d.provider, d.model, d.usage)),
        (ev.ModelBackedOff, lambda m, d: m.backed_off.add(1, d.provider, d.code)),
        (ev.ToolCallCompleted, _tool),
        (ev.ApprovalRequested, lambda m, d: m.asked.add(1, m.tellable.tool(d.name), d.risk)),
        (ev.ApprovalGranted, lambda m, d: m.answered.add(1, "granted", "user")),
        (ev.ApprovalDenied, lambda m, d: m.answered.add(1, "denied", d.cause)),
        (ev.VerificationCompleted, lambda m, d: m.verified.add(1, d.status)),
        (ev.ContextCompacted, lambda m, d: m.compacted.add(1, d.trigger)),
    )
}
