"""What a turn knows beside its conversation, from the record: models, what calls cost, what its workers used.

May import: protocol, models.base, views, replay.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET
from msgspec.structs import replace

from agi.models.base import Model, ModelRequest
from agi.protocol import events as ev
from agi.protocol.messages import Usage
from agi.replay.cassette import Conditions, KnownModel
from agi.replay.tape import Tape
from agi.views.delegated import at_least


class RecordedFacts:
    """What was known of models; what a call cost is in the record."""

    def __init__(self, tape: Tape, given: Conditions) -> None:
        self._known: Mapping[tuple[str, str], KnownModel] = {(one.provider, one.model): one for one in given.models}
        self._costs = {
            (one.data.provider, one.data.model, replace(one.data.usage, cost_usd=None)): one.data.usage.cost_usd
            for one in tape.events
            if isinstance(one.data, ev.UsageRecorded)
        }

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        """What a call cost in USD, as recorded; what one would cost, by the rates that are known."""
        told = (provider, model, replace(usage, cost_usd=None))
        known = self._known.get((provider, model))
        if told in self._costs or known is None or known.rates is None:
            return self._costs.get(told)
        return known.rates.cost(usage)

    def window(self, provider: str, model: str) -> int | None:
        """How many tokens it takes in and gives out together."""
        known = self._known.get((provider, model))
        return known.window if known is not None else None

    def max_output(self, provider: str, model: str) -> int | None:
        """How many tokens it gives out at most."""
        known = self._known.get((provider, model))
        return known.max_output if known is not None else None


class NoMedia:
    """Files are no part of a cassette: a model that answers from the record needs none."""

    async def shown(self, request: ModelRequest, model: Model) -> ModelRequest:
        """The request as it is."""
        return request


def delegated(tape: Tape, turn_id: str | None = None) -> Usage:
    """What the workers of a turn, or of the whole session, used up; who still works counts with what is set aside."""
    used: dict[str, Usage] = {}
    reserved: dict[str, ev.WorkerStarted] = {}
    for event in tape.events[: tape.at]:
        data = event.data
        if isinstance(data, ev.WorkerStarted) and turn_id in (None, event.turn_id):
            used.setdefault(data.session_id, Usage())
            reserved[data.session_id] = data
        elif isinstance(data, ev.WorkerCompleted) and data.session_id in used:
            used[data.session_id] = data.result.usage
            reserved.pop(data.session_id, None)
    whole = Usage()
    for session_id, one in used.items():
        budget = reserved[session_id].budget if session_id in reserved else UNSET
        whole = whole.plus(one if budget is UNSET else at_least(one, budget))
    return whole
