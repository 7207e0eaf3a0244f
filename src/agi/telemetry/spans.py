"""Spans out of events: a turn, and in it the answers of models, the tools, the waits for people, the verifications.

A pure fold in the words of OpenTelemetry's GenAI conventions. Ids follow from our own: a turn's trace is the turn's
UUID, so a log line, an event and a trace can be laid side by side, and a worker's turn hangs below the call that wanted
it. A tool that there is none of, and a model that never answered, have no name here. Which calls failed is the business
of attempts.py, how spans leave the process that of otel.py. May import: protocol, telemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from hashlib import blake2b
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from agi.protocol import events as ev
from agi.protocol.messages import Usage
from agi.protocol.times import to_millis
from agi.telemetry.attempts import Attempt, attempt_before
from agi.telemetry.tellable import Tellable, no_tools, provider

Value = str | int | float | bool | tuple[str, ...]
Attributes = dict[str, Value]

MOST_WORKERS = 10_000
"""Of how many workers it is remembered whom they work for."""


class Span(Struct, frozen=True, kw_only=True):
    """Something that took a while; times are unix milliseconds."""

    trace_id: int
    span_id: int
    parent_id: int = 0
    name: str
    kind: Literal["internal", "client"] = "internal"
    start: int
    end: int
    attributes: Attributes
    error: str = ""
    """What kind of failure it was; empty if it was none."""


class _Turn(Struct, kw_only=True):
    trace_id: int
    span_id: int
    parent_id: int
    start: int
    last: int
    """When the last event before the model spoke was written: it is asked right after."""
    last_type: str = ""
    again: int = 0
    """Until when was waited for a provider, the last time."""
    speaks: int = 0
    half: Span | None = None
    """An answer that broke off; why is in the event behind it."""
    provider: str
    model: str
    """Who was asked last; that it ever answered is another question."""
    common: Attributes
    begun: dict[str, int] = field(default_factory=dict)
    """When calls, questions and verifications began, by id."""

    @property
    def asked(self) -> int:
        """When the model was asked, as far as the log tells."""
        return max(self.last, self.again)


class Spans:
    """The fold: hears events in the order of the log, gives the spans that are over."""

    def __init__(self, tools: Callable[[], Container[str]] = no_tools) -> None:
        self.tellable = Tellable(tools)
        self._turns: dict[str, _Turn] = {}
        self._parents: dict[str, tuple[int, int]] = {}
        """By session of a worker: the trace it belongs to, and the span of the call that wanted it."""

    def hear(self, event: ev.Event) -> Iterable[Span]:
        """The spans that end with this event."""
        self.tellable.hear(event)
        handler = _HANDLERS.get(event.type)
        turn = self._turns.get(event.turn_id or "")
        if event.type == ev.ModelOutputDelta.TYPE:
            if turn is not None and not turn.speaks:
                turn.speaks = to_millis(event.ts)
            return ()
        failed = () if turn is None else tuple(_failed(self.tellable, turn, event))
        ended = () if handler is None or event.data is None else tuple(handler(self, turn, event))
        if turn is not None:
            turn.last, turn.last_type = to_millis(event.ts), event.type
        return (*failed, *ended)

    def dispatched(self, event: ev.Event, data: ev.AgentDispatched) -> None:
        """A session is a worker's; its turns belong to its root's trace."""
        if data.root_turn_id and data.parent_call_id:
            self._parents[event.session_id] = (trace_of(data.root_turn_id), span_of(data.parent_call_id))
            if len(self._parents) > MOST_WORKERS:
                del self._parents[next(iter(self._parents))]

    def began(self, event: ev.Event, data: ev.TurnStarted) -> None:
        """A turn is under way."""
        turn_id = event.turn_id or ""
        trace_id, parent_id = self._parents.get(event.session_id, (trace_of(turn_id), 0))
        common: Attributes = {
            "gen_ai.agent.name": data.agent,
            "gen_ai.conversation.id": event.session_id,
            "agi.turn.id": turn_id,
        }
        now = to_millis(event.ts)
        self._turns[turn_id] = _Turn(
            trace_id=trace_id,
            span_id=span_of(turn_id),
            parent_id=parent_id,
            start=now,
            last=now,
            provider=data.provider,
            model=data.model,
            common=common,
        )

    def over(self, event: ev.Event, outcome: Attributes, usage: Usage, error: str) -> Iterable[Span]:
        """The span of a whole turn."""
        turn = self._turns.pop(event.turn_id or "", None)
        if turn is None:
            return  # it never began, or began in a process that is gone
        yield Span(
            trace_id=turn.trace_id,
            span_id=turn.span_id,
            parent_id=turn.parent_id,
            name=f"invoke_agent {turn.common['gen_ai.agent.name']}",
            start=turn.start,
            end=to_millis(event.ts),
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                **turn.common,
                "gen_ai.provider.name": provider(turn.provider),
                "gen_ai.request.model": self.tellable.model(turn.provider, turn.model),
                **outcome,
                **_used(usage),
            },
            error=error,
        )


def trace_of(turn_id: str) -> int:
    """The trace of a turn: its UUID."""
    digits = turn_id.rpartition("_")[2]
    try:
        return int(digits, 16) & ((1 << 128) - 1) or 1
    except ValueError:
        return int.from_bytes(blake2b(turn_id.encode(), digest_size=16).digest(), "big") or 1


def span_of(id: str) -> int:
    """The span of a turn, a message, a call."""
    return int.from_bytes(blake2b(id.encode(), digest_size=8).digest(), "big") or 1


def _used(usage: Usage | None) -> Attributes:
    if usage is None:
        return {}
    told: Attributes = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
    }
    return told if usage.cost_usd is None else {**told, "agi.cost_usd": usage.cost_usd}


def _inner(turn: _Turn, event: ev.Event, id: str, name: str, start: int, told: Attributes, error: str = "") -> Span:
    return Span(
        trace_id=turn.trace_id,
        span_id=span_of(id),
        parent_id=turn.span_id,
        name=name,
        start=start,
        end=max(start, to_millis(event.ts)),
        attributes={**told, "gen_ai.conversation.id": event.session_id, "agi.turn.id": event.turn_id or ""},
        error=error,
    )


def _answer(tellable: Tellable, turn: _Turn, event: ev.Event, data: ev.ModelOutputCompleted) -> Iterable[Span]:
    said = data.message
    told: Attributes = {
        "agi.message.id": said.id,
        "gen_ai.response.finish_reasons": (said.stop_reason or "error",),
        **_used(said.usage),
    }
    if turn.speaks:
        told["agi.first_words_ms"] = max(0, turn.speaks - turn.asked)
    turn.speaks = 0
    error = "model_error" if said.status == "error" else ""
    asked = Attempt(said.provider or turn.provider, said.model or turn.model, error)
    span = _call(tellable, turn, event, said.id, asked, told)
    if error and said.stop_reason == "error":
        turn.half = span
    else:
        yield span


def _failed(tellable: Tellable, turn: _Turn, event: ev.Event) -> Iterable[Span]:
    """The call that came to nothing before this event, and that nothing was told of yet."""
    attempt = attempt_before(event, turn.provider, turn.model, turn.last_type)
    half, turn.half = turn.half, None
    if half is not None:
        yield half if attempt is None else replace(half, error=attempt.code)
    elif attempt is not None:
        yield _call(tellable, turn, event, f"attempt {event.turn_id} {event.seq}", attempt, {})


def _call(tellable: Tellable, turn: _Turn, event: ev.Event, id: str, asked: Attempt, told: Attributes) -> Span:
    model = tellable.model(asked.provider, asked.model)
    whom: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider(asked.provider),
        "gen_ai.request.model": model,
    }
    return replace(_inner(turn, event, id, f"chat {model}", turn.asked, {**whom, **told}, asked.code), kind="client")


def _tool(tellable: Tellable, turn: _Turn, event: ev.Event, data: ev.ToolCallCompleted) -> Span:
    start = turn.begun.pop(data.tool_call_id, to_millis(event.ts) - data.duration_ms)
    name = tellable.tool(data.name)
    told: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": data.tool_call_id,
        "gen_ai.tool.type": "function",
        "agi.tool.blocked": data.blocked,
        "agi.tool.interrupted": data.interrupted,
    }
    failed = "" if data.tool_result.ok else "blocked" if data.blocked else "tool_failed"
    return _inner(turn, event, data.tool_call_id, f"execute_tool {name}", start, told, failed)


def _waited(turn: _Turn, event: ev.Event, call_id: str, told: Attributes) -> Iterable[Span]:
    key = f"approval {call_id}"
    start = turn.begun.pop(key, None)
    if start is not None:
        told = {"gen_ai.tool.call.id": call_id, **told}
        yield _inner(turn, event, key, "wait_for_approval", start, told)


def _verified(turn: _Turn, event: ev.Event, data: ev.VerificationCompleted) -> Iterable[Span]:
    start = turn.begun.pop(data.verification_id, None)
    if start is not None:
        told: Attributes = {"agi.verification.status": data.status, "agi.verification.attempt": data.attempt}
        error = "verification_failed" if data.status == "failed" else ""
        yield _inner(turn, event, data.verification_id, "verify", start, told, error)


Handler = Callable[[Spans, _Turn | None, ev.Event], Iterable[Span]]


def _dispatched(spans: Spans, turn: _Turn | None, event: ev.Event) -> Iterable[Span]:
    if isinstance(event.data, ev.AgentDispatched):
        spans.dispatched(event, event.data)
    return ()


def _began(spans: Spans, turn: _Turn | None, event: ev.Event) -> Iterable[Span]:
    if isinstance(event.data, ev.TurnStarted):
        spans.began(event, event.data)
    return ()


def _ended(spans: Spans, turn: _Turn | None, event: ev.Event) -> Iterable[Span]:
    data = event.data
    if isinstance(data, ev.TurnCompleted):
        told: Attributes = {"agi.stop_reason": data.stop_reason, "agi.steps": data.steps}
        return spans.over(event, {**told, "agi.verification": data.verification}, data.usage, "")
    if isinstance(data, ev.TurnFailed):
        return spans.over(event, {"agi.stop_reason": "error"}, data.usage, data.error.code)
    if isinstance(data, ev.TurnCanceled):
        return spans.over(event, {"agi.stop_reason": "canceled"}, data.usage, "")
    return ()


def _step(spans: Spans, turn: _Turn | None, event: ev.Event) -> Iterable[Span]:
    """What happens inside a turn that is known here."""
    data = event.data
    if turn is None:
        return
    now = to_millis(event.ts)
    if isinstance(data, ev.ToolCallStarted):
        turn.begun[data.tool_call.id] = now
    elif isinstance(data, ev.ApprovalRequested):
        turn.begun[f"approval {data.tool_call_id}"] = now
    elif isinstance(data, ev.VerificationStarted):
        turn.begun[data.verification_id] = now
    elif isinstance(data, ev.ModelOutputCompleted):
        yield from _answer(spans.tellable, turn, event, data)
    elif isinstance(data, ev.ModelBackedOff):
        turn.again = to_millis(data.resume_at)
    elif isinstance(data, ev.ModelSwitched):
        turn.provider, turn.model = data.provider, data.model
    elif isinstance(data, ev.ToolCallCompleted):
        yield _tool(spans.tellable, turn, event, data)
    elif isinstance(data, ev.ApprovalGranted):
        yield from _waited(turn, event, data.tool_call_id, {"agi.approval": "granted"})
    elif isinstance(data, ev.ApprovalDenied):
        yield from _waited(turn, event, data.tool_call_id, {"agi.approval": f"denied: {data.cause}"})
    elif isinstance(data, ev.VerificationCompleted):
        yield from _verified(turn, event, data)


_STEPS = (
    ev.ToolCallStarted,
    ev.ToolCallCompleted,
    ev.ApprovalRequested,
    ev.ApprovalGranted,
    ev.ApprovalDenied,
    ev.VerificationStarted,
    ev.VerificationCompleted,
    ev.ModelOutputCompleted,
    ev.ModelBackedOff,
    ev.ModelSwitched,
)
_HANDLERS: dict[str, Handler] = {
    ev.AgentDispatched.TYPE: _dispatched,
    ev.TurnStarted.TYPE: _began,
    **{kind.TYPE: _ended for kind in (ev.TurnCompleted, ev.TurnFailed, ev.TurnCanceled)},
    **{kind.TYPE: _step for kind in _STEPS},
}
