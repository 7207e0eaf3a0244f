"""Keeping a conversation within its model's window: when it is made shorter, how often, and when that is given up.

Whether it helped is measured: after two tries that did not it ends, and also where summaries help but do not hold.
Nothing changes before the event is in the log, so a cancel or a crash in the middle leaves all as it was. How it is
made shorter is `room`'s business.
May import: errors, protocol, context, loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agi.context import compact_view
from agi.context.measuring import fixed_size, limit_of, request_size, room_of
from agi.errors import ModelError
from agi.loop.base import Plan, Ports
from agi.protocol.compaction import CompactionTrigger
from agi.protocol.events import CompactionFailed, CompactionStarted, ContextCompacted
from agi.protocol.known import Known
from agi.protocol.messages import Message

MOST_TRIES = 2
"""For one call of the model."""
GROWN = 1.1
"""By how much a conversation has to grow before another compaction is tried where one has failed."""

FULL_AGAIN = "full_again"
"""The code of a compaction that is not made, since those before it did not hold."""
MADE_SHORTER = "It was made shorter as far as that is possible."
SWITCHED_OFF = "It is not made shorter by itself, since compaction.enabled is false."
GREW_BACK = "It was summed up again and again in this turn, and each time it was full again at once."
_HINT = (
    "Compact it with a focus (`agi compact --focus …`), take back the last turns (`agi undo --conversation`), "
    "choose a model with a larger window, or begin a new session."
)
_HINT_LESS = (
    "Ask for less at a time (parts of files, shorter outputs), choose a model with a larger window, "
    "or begin a new session."
)


class _Before(NamedTuple):
    """What was told of a conversation when a compaction was met with first."""

    compaction_id: str
    size: int
    """Messages there were."""
    last: Message
    told: list[Message]

    def is_of(self, compaction: ContextCompacted, history: Sequence[Message]) -> bool:
        """Whether it is what this conversation begins with."""
        is_longer = len(history) >= self.size and history[self.size - 1] is self.last
        return is_longer and compaction.compaction_id == self.compaction_id


class Compactor:
    """Looks after the room of one turn. `worked` tells how long the turn has worked."""

    def __init__(self, ports: Ports, worked: Callable[[], float]) -> None:
        self._ports = ports
        self._worked = worked
        self._sizes: Known[Message, int] = Known()
        self._before: _Before | None = None
        self._tries = 0
        self.grew_back = False
        """Whether the last try was given up because those before it in this turn did not hold."""

    def begin(self) -> None:
        """Another call of the model, or another model: tries are counted anew."""
        self._tries = 0
        self.grew_back = False

    def told(self, history: Sequence[Message]) -> list[Message]:
        """What a model is told of a conversation that grows: what was told before, and what came since."""
        compaction = self._ports.journal.compaction()
        if compaction is None or not history:
            return list(history)
        before = self._before
        if before is None or not before.is_of(compaction, history):
            told = compact_view.told(history, compaction)
            before = self._before = _Before(compaction.compaction_id, len(history), history[-1], told)
        return [*before.told, *history[before.size :]]

    async def before_call(self, plan: Plan, history: Sequence[Message]) -> bool:
        """Make room where somebody asked for it, or where the window is nearly full; says whether anything changed.

        Raises where that is of no use any more, since the room it makes is gone at once, and the window is full.
        """
        request = self._ports.journal.compaction_asked()
        if request is not None:
            return await self.compact(plan, history, "manual", request.focus)
        limit = limit_for(plan) if plan.compaction.enabled else None
        if limit is None:
            return False
        size = self._size(plan, history)
        if size <= limit or size < self._ports.journal.compacted_to() * GROWN:
            return False
        done = False
        while size > limit and self._tries < MOST_TRIES and not self.grew_back:
            done = await self.compact(plan, history, "threshold") or done
            size = self._size(plan, history)
        if self.grew_back and not _fits(plan, size):
            raise exhausted(plan, grew_back=True)
        return done

    async def after_overflow(self, plan: Plan, history: Sequence[Message]) -> bool:
        """Make room because the provider says that there is none; False if that is of no use any more."""
        while plan.compaction.enabled and self._tries < MOST_TRIES and not self.grew_back:
            if await self.compact(plan, history, "overflow"):
                return True
        return False

    async def compact(
        self, plan: Plan, history: Sequence[Message], trigger: CompactionTrigger, focus: str = ""
    ) -> bool:
        """One try, from its beginning to its outcome in the log."""
        from agi.loop.room import Need, make_room  # late: most turns have room enough

        self._tries += 1
        pre = self._size(plan, history)
        await self._ports.journal.emit(CompactionStarted(trigger=trigger, attempt=self._tries, pre_tokens=pre))
        need = Need(trigger=trigger, focus=focus, pre=pre, fixed=self._fixed(plan), hard=self._tries > 1)
        made = await make_room(plan, self._ports, history, need, self._worked())
        await self._ports.journal.emit(*made)
        last = made[-1]
        self.grew_back = isinstance(last, CompactionFailed) and last.code == FULL_AGAIN
        return isinstance(last, ContextCompacted)

    def _fixed(self, plan: Plan) -> int:
        return fixed_size(plan.system, self._ports.toolbox.definitions())

    def _size(self, plan: Plan, history: Sequence[Message]) -> int:
        maker = (plan.model.provider, plan.model.name)
        compaction = self._ports.journal.compaction()
        return request_size(self.told(history), self._fixed(plan), maker, compaction, self._sizes)


def limit_for(plan: Plan) -> int | None:
    """How much may be sent before room is made; None if nobody knows the model's window."""
    provider, name = plan.model.provider, plan.model.name
    return limit_of(plan.facts, provider, name, plan.compaction, plan.options.get("max_tokens"))


def _fits(plan: Plan, size: int) -> bool:
    """Whether the window has room for a request of this size and for the answer to it."""
    provider, name = plan.model.provider, plan.model.name
    room = room_of(plan.facts, provider, name, plan.compaction, plan.options.get("max_tokens"))
    return room is None or size <= room


def exhausted(plan: Plan, error: ModelError | None = None, *, grew_back: bool = False) -> ModelError:
    """The end of a turn for which there is no room, with what can be done about it. `error` is what a provider said."""
    how = GREW_BACK if grew_back else MADE_SHORTER if plan.compaction.enabled else SWITCHED_OFF
    said = f"The conversation is longer than {plan.model.provider}/{plan.model.name} takes. {how}"
    hint, code = _HINT_LESS if grew_back else _HINT, "context_exhausted"
    if error is None:
        return ModelError(said, hint=hint, code=code)
    return ModelError(f"{said} {error.message}", hint=hint, code=code, status=error.status)


def refusal_in(message: str) -> str:
    """What the provider said, as `exhausted` has told it."""
    for how in (MADE_SHORTER, GREW_BACK):
        _, found, said = message.rpartition(how)
        if found:
            return said.strip()
    return message
