"""What the log tells of calls of a model that came to nothing: who was asked, and the code of what went wrong.

The log has what follows from such a call, not the call: a wait, another model, something that is left out, room that is
made, the end of the turn. A call that was mended without any of these is not known. May import: protocol.
"""

from __future__ import annotations

from typing import NamedTuple

from agi.protocol import events as ev

CODES = frozenset(
    (
        "context_exhausted",
        "context_overflow",
        "model_not_found",
        "part_refused",
        "provider_auth",
        "provider_error",
        "provider_failed",
        "rate_limited",
        "reasoning_refused",
        "schema_refused",
        "stalled",
        "stream_cut",
    )
)
"""What a call fails with. A turn fails of other things as well, and a provider that is left alone is not asked."""
_TOO_LONG = ("context_overflow", "context_exhausted")
TELLING = frozenset(
    kind.TYPE for kind in (ev.ModelBackedOff, ev.ModelSwitched, ev.PartsWithheld, ev.CompactionStarted, ev.TurnFailed)
)
"""Events that may follow from one."""


class Attempt(NamedTuple):
    """A call that failed."""

    provider: str
    model: str
    code: str


def attempt_before(event: ev.Event, provider: str, model: str, previous: str) -> Attempt | None:
    """The failed call that an event follows from.

    `provider` and `model` are asked by then, `previous` is the type of the event before it in the turn.
    """
    data = event.data if event.type in TELLING else None
    code = _code(data)
    if code not in CODES or (code in _TOO_LONG and previous == ev.CompactionFailed.TYPE):
        return None  # where no room could be made, the call before that was told of already
    if isinstance(data, ev.ModelSwitched):
        return Attempt(data.from_provider, data.from_model, code)
    return Attempt(provider, model, code)


def _code(data: ev.EventData | None) -> str:
    if isinstance(data, ev.ModelBackedOff | ev.ModelSwitched | ev.PartsWithheld):
        return data.code
    if isinstance(data, ev.CompactionStarted):
        return "context_overflow" if data.trigger == "overflow" else ""
    return data.error.code if isinstance(data, ev.TurnFailed) else ""
