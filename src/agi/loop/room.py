"""Making a conversation shorter: old outputs go first, without a model; then a summary, or what the log can say.

Gives the events that would make it so; nothing is changed here. May import: protocol, context, loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agi.context.compact_record import digest_of
from agi.context.compact_transcript import transcript
from agi.context.compact_view import record_text
from agi.context.measuring import limit_of, size_of
from agi.loop.base import Plan, Ports
from agi.loop.compacting import FULL_AGAIN, GREW_BACK, limit_for
from agi.loop.shortening import LEAST, Draft, Task
from agi.loop.summing import sum_up, summariser_name
from agi.protocol.compaction import CompactionTrigger
from agi.protocol.events import CompactionFailed, ContextCompacted, EventData
from agi.protocol.messages import Message

OVERFLOWN = 0.7
"""What of a request a provider that refused it as too long may take, when nothing better is known."""
MOST_CHARACTERS = 600_000
"""Of what is given to be summed up."""
LONGEST_DIGEST = 8_000
"""Characters of what stands there when no model has summed up."""
MOST_OWED = 6
"""Answers that summaries of a turn may be short of; then no model is asked for another."""
NOT_SHRUNK = "It could not be made enough shorter: what is left is the newest part, or cannot be left out."
NOTHING = "There is nothing to leave out yet: the conversation is about as short as a summary of it would be."


class Need(Struct, frozen=True, kw_only=True):
    """Why room is needed, and how much there is of what."""

    trigger: CompactionTrigger
    focus: str
    pre: int
    """Tokens of the request as it would be now."""
    fixed: int
    """Tokens of it that no compaction touches."""
    hard: bool
    """The first try was not enough."""


async def make_room(
    plan: Plan, ports: Ports, history: Sequence[Message], need: Need, worked: float
) -> Sequence[EventData]:
    """What becomes true if these events are written; the last one says whether it worked."""
    if not history:
        return [_failed(need, "nothing_to_compact", NOTHING)]
    draft = Draft(_task(plan, ports, history, need))
    pruned = draft.pruned()
    if pruned is not None and draft.is_enough(pruned):
        return [pruned]
    if need.trigger == "manual" and pruned is None and _is_little(draft, need):
        return [_failed(need, "nothing_to_compact", NOTHING)]
    made: list[EventData] = []
    would_help = bool(draft.cut) and draft.is_worth_it(draft.summed_up("", ""))
    is_in_vain = need.trigger != "manual" and ports.journal.turn().owed >= MOST_OWED
    if would_help and not is_in_vain:
        made, best = await _summed_up(plan, ports, draft, need, worked)
        if draft.is_worth_it(best):
            return [*made, best]
    if pruned is not None and draft.is_worth_it(pruned):
        return [*made, pruned]
    if would_help and is_in_vain:
        return [_failed(need, FULL_AGAIN, GREW_BACK)]
    return [*made, _failed(need, "not_shrunk", NOT_SHRUNK)]


async def _summed_up(
    plan: Plan, ports: Ports, draft: Draft, need: Need, worked: float
) -> tuple[list[EventData], ContextCompacted]:
    """A summary by a model; where there is none to be had, or none that is shorter, a list from the log."""
    current = ports.journal.compaction()
    earlier = current.summary if current is not None else ""
    before = f"{record_text(current)}\n\n" if current is not None and earlier else ""
    limit = limit_of(plan.facts, *summariser_name(plan), plan.compaction) or limit_for(plan) or need.pre
    most = min(MOST_CHARACTERS, max(4_000, 3 * limit))
    material = before + transcript(draft.dropped, max(2_000, most - len(before)))
    found = await sum_up(plan, ports, material, need.focus, worked)
    cost: list[EventData] = [] if found.cost is None else [found.cost]
    if found.text:
        made = draft.summed_up(found.text, found.by)
        if draft.is_worth_it(made):
            return cost, made
    listed = f"{earlier}\n{digest_of(draft.dropped)}".strip()
    return cost, draft.summed_up(listed[-LONGEST_DIGEST:], "")


def _task(plan: Plan, ports: Ports, history: Sequence[Message], need: Need) -> Task:
    room = limit_for(plan) or need.pre
    if need.trigger == "overflow":
        room = min(room, int(need.pre * OVERFLOWN))
    part = max(0, need.pre - need.fixed) if need.trigger == "manual" else room
    return Task(
        history=history,
        current=ports.journal.compaction(),
        trigger=need.trigger,
        focus=need.focus,
        pre=need.pre,
        fixed=need.fixed,
        room=room,
        keep=min(plan.compaction.keep_recent_tokens, part // 4),
        hard=need.hard,
        asked=ports.journal.turn().message_id,
        recorded=ports.journal.recorded(),
    )


def _is_little(draft: Draft, need: Need) -> bool:
    return not draft.cut or size_of(draft.dropped) < max(LEAST, (need.pre - need.fixed) // 10)


def _failed(need: Need, code: str, reason: str) -> CompactionFailed:
    return CompactionFailed(trigger=need.trigger, code=code, reason=reason, pre_tokens=need.pre)
