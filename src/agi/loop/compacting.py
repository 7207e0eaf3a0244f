"""Keeping a conversation within its model's window: when it is made shorter, how often, and when that is given up.

Whether it helped is measured, and after two tries that did not it ends. Nothing changes before the event is in the log,
so a cancel or a crash in the middle leaves all as it was. How it is made shorter is `room`'s business.
May import: errors, protocol, context, loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agi.context.compact_view import told
from agi.context.measuring import fixed_size, limit_of, request_size
from agi.errors import ModelError
from agi.loop.base import Plan, Ports
from agi.protocol.compaction import CompactionTrigger
from agi.protocol.events import CompactionStarted, ContextCompacted
from agi.protocol.messages import Message

MOST_TRIES = 2
"""For one call of the model."""
GROWN = 1.1
"""By how much a conversation has to grow before another compaction is tried where one has failed."""

MADE_SHORTER = "It was made shorter as far as that is possible."


class Compactor:
    """Looks after the room of one turn. `worked` tells how long the turn has worked."""

    def __init__(self, ports: Ports, worked: Callable[[], float]) -> None:
        self._ports = ports
        self._worked = worked
        self._tries = 0

    def begin(self) -> None:
        """Another call of the model, or another model: tries are counted anew."""
        self._tries = 0

    def told(self, history: Sequence[Message]) -> list[Message]:
        """What a model is told of a conversation."""
        return told(history, self._ports.journal.compaction())

    async def before_call(self, plan: Plan, history: Sequence[Message]) -> bool:
        """Make room where somebody asked for it, or where the window is nearly full; says whether anything changed."""
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
        while size > limit and self._tries < MOST_TRIES:
            done = await self.compact(plan, history, "threshold") or done
            size = self._size(plan, history)
        return done

    async def after_overflow(self, plan: Plan, history: Sequence[Message]) -> bool:
        """Make room because the provider says that there is none; False if that is of no use any more."""
        while plan.compaction.enabled and self._tries < MOST_TRIES:
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
        return isinstance(made[-1], ContextCompacted)

    def _fixed(self, plan: Plan) -> int:
        return fixed_size(plan.system, self._ports.toolbox.definitions())

    def _size(self, plan: Plan, history: Sequence[Message]) -> int:
        maker = (plan.model.provider, plan.model.name)
        compaction = self._ports.journal.compaction()
        return request_size(told(history, compaction), self._fixed(plan), maker, compaction)


def limit_for(plan: Plan) -> int | None:
    """How much may be sent before room is made; None if nobody knows the model's window."""
    provider, name = plan.model.provider, plan.model.name
    return limit_of(plan.facts, provider, name, plan.compaction, plan.options.get("max_tokens"))


def exhausted(plan: Plan, error: ModelError) -> ModelError:
    """The end of a turn for which there is no room, with what can be done about it."""
    how = (
        MADE_SHORTER
        if plan.compaction.enabled
        else "It is not made shorter by itself, since compaction.enabled is false."
    )
    hint = (
        "Compact it with a focus (`agi compact --focus …`), take back the last turns (`agi undo --conversation`), "
        "choose a model with a larger window, or begin a new session."
    )
    said = f"The conversation is longer than {plan.model.provider}/{plan.model.name} takes. {how} {error.message}"
    return ModelError(said, hint=hint, code="context_exhausted", status=error.status)
