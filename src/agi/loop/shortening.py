"""What a conversation looks like made shorter: which outputs are left out, where it is cut, and how much that saves.

Pure: it proposes; a proposal becomes true only as an event in the log. May import: protocol, context, views, loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agi.context.changes import FOLLOWED
from agi.context.compact_record import record_of
from agi.context.compact_view import told
from agi.context.measuring import size_of
from agi.loop.history import calls_of
from agi.protocol.compaction import CompactionTrigger, Dropped
from agi.protocol.events import ContextCompacted
from agi.protocol.ids import COMPACTION, new_id
from agi.protocol.messages import Message
from agi.protocol.parts import Text, ToolResultPart, plain_text
from agi.views.recorded import Recorded

WORTH = 400
"""Characters. Leaving out a shorter output makes no room."""
MOST_PRUNED = 1000
LEAST = 200
"""Tokens. There is no use in summing up less."""
MUST_SHRINK = 0.1
"""The share of a request by which a compaction has to make it smaller; else it counts as failed."""
ENOUGH = 0.6
"""The share of the room that may be taken after leaving out outputs alone; with more, a summary is made too."""


class Task(Struct, frozen=True, kw_only=True):
    """What is to be made shorter, and how far."""

    history: Sequence[Message]
    current: ContextCompacted | None
    trigger: CompactionTrigger
    focus: str
    pre: int
    """Tokens of the request as it would be now."""
    fixed: int
    """Tokens of it that no compaction touches."""
    room: int
    """Tokens there is room for."""
    keep: int
    """Tokens of the end that stay as they are, as far as possible."""
    hard: bool
    """The first try was not enough: also the newest outputs go."""
    asked: str
    """The message of the user that is being answered."""
    recorded: Recorded


class Draft:
    """One task, worked out step by step."""

    def __init__(self, task: Task) -> None:
        self._task = task
        before = size_of(told(task.history, task.current)) + task.fixed
        self._scale = min(4.0, max(0.25, task.pre / max(1, before)))
        current = task.current
        self._start = _place(task.history, current.first_kept) if current is not None else 0
        self._base = current or ContextCompacted(compaction_id="", trigger=task.trigger, pre_tokens=0, post_tokens=0)
        self._pruned = self._to_prune()
        self.cut = self._to_cut()
        """Where what stays begins; 0 if everything has to stay."""

    @property
    def dropped(self) -> Sequence[Message]:
        """What is to be summed up."""
        return self._task.history[self._start : self.cut] if self.cut else ()

    def pruned(self) -> ContextCompacted | None:
        """Only outputs left out, if there are any."""
        if not set(self._pruned) - set(self._base.pruned):
            return None
        carried = tuple(dict.fromkeys((*self._base.carried, *self._held())))
        return self._sized(replace(self._base, pruned=self._pruned, carried=carried, dropped=self._ledger(self._start)))

    def summed_up(self, summary: str, by: str) -> ContextCompacted:
        """What is dropped with a summary in its place."""
        kept = self._task.history[self.cut :]
        carried = self._carried()
        shown = {one.id for one in kept} | set(carried) | {call.id for one in kept for call in calls_of(one)}
        ids = {call.id for one in kept for call in calls_of(one)}
        return self._sized(
            replace(
                self._base,
                first_kept=kept[0].id,
                carried=carried,
                pruned=tuple(one for one in self._pruned if one in ids),
                summary=summary,
                summarised_by=by,
                record=record_of(self._task.recorded, shown),
                dropped=self._ledger(self.cut),
            )
        )

    def is_worth_it(self, made: ContextCompacted) -> bool:
        """Whether it makes the request smaller by as much as it has to; a person is content with less."""
        task = self._task
        whole = max(0, task.pre - task.fixed) if task.trigger == "manual" else task.pre
        return made.post_tokens <= task.pre - max(1.0, whole * MUST_SHRINK)

    def is_enough(self, made: ContextCompacted) -> bool:
        """Whether outputs alone have made so much room that nothing has to be summed up."""
        wanted = self._task.trigger != "manual" and not self._task.hard
        return wanted and self.is_worth_it(made) and made.post_tokens <= self._task.room * ENOUGH

    def _sized(self, made: ContextCompacted) -> ContextCompacted:
        task = self._task
        made = replace(
            made,
            compaction_id=new_id(COMPACTION),
            trigger=task.trigger,
            focus=task.focus,
            pre_tokens=task.pre,
            last_message=task.history[-1].id,
        )
        post = int((size_of(told(task.history, made)) + task.fixed) * self._scale)
        return replace(made, post_tokens=post, dropped=replace(made.dropped, tokens=max(0, task.pre - post)))

    def _to_prune(self) -> tuple[str, ...]:
        """Calls whose output goes: long ones beyond the end that is kept; when it has to be, all of them."""
        task = self._task
        found = list(self._base.pruned)
        known = set(found)
        spent, newest = 0, True
        for one in reversed(task.history[self._start :]):
            for part in reversed(one.parts):
                is_old = task.hard or (not newest and spent >= task.keep)
                if is_old and isinstance(part, ToolResultPart) and part.content.id not in known and _is_long(part):
                    found.append(part.content.id)
            spent += size_of((one,))
            newest = newest and one.role == "tool"
        return tuple(found[:MOST_PRUNED])

    def _to_cut(self) -> int:
        """The first place from which what stays is no more than it should be; it is never an output's."""
        task = self._task
        shown = replace(self._base, first_kept="", pruned=self._pruned, summary="", record="")
        body = told(task.history[self._start :], shown) if task.history else []
        keep = task.room // 16 if task.hard else task.keep
        spent, best = 0, 0
        for place in range(len(body) - 1, 0, -1):
            spent += size_of((body[place],))
            if best and spent > keep:
                break
            if body[place].role != "tool":
                best = place
        return self._start + best if best else 0

    def _carried(self) -> tuple[str, ...]:
        """What must stay word by word: messages of the system, the user's last one, the one being answered, and what
        is held."""
        before, after = self._task.history[: self.cut], self._task.history[self.cut :]
        users = [one.id for one in before if one.role == "user" and not one.origin]
        last = {self._task.asked}
        if users and not any(one.role == "user" and not one.origin for one in after):
            last.add(users[-1])
        stay = [one.id for one in before if one.role == "system" or (one.role == "user" and one.id in last)]
        return tuple(dict.fromkeys((*stay, *self._held())))

    def _held(self) -> list[str]:
        """For the rest of a turn, what the harness said of rules and the like, which only the next one's head will say.

        Named also where it stays anyway, so that another compaction of the same turn knows of it.
        """
        task = self._task
        wanted = {id for key, id in task.recorded.added.items() if key.partition(" ")[0] in FOLLOWED}
        return [one.id for one in task.history if one.id in wanted] if task.asked else []

    def _ledger(self, cut: int) -> Dropped:
        """What is no longer told, counting what was dropped before."""
        gone = self._task.history[self._start : cut]
        before = self._base.dropped
        ids = {call.id for one in self._task.history[cut:] for call in calls_of(one)}
        return Dropped(
            messages=before.messages + len(gone),
            user=before.user + sum(one.role == "user" for one in gone),
            assistant=before.assistant + sum(one.role == "assistant" for one in gone),
            tool=before.tool + sum(one.role == "tool" for one in gone),
            calls=before.calls + sum(len(calls_of(one)) for one in gone),
            outputs=sum(one in ids for one in self._pruned),
            first_message=before.first_message or (gone[0].id if gone else ""),
            last_message=gone[-1].id if gone else before.last_message,
        )


def _is_long(part: ToolResultPart) -> bool:
    shown = part.content.parts
    return len(plain_text(shown)) >= WORTH or any(not isinstance(one, Text) for one in shown)


def _place(history: Sequence[Message], id: str) -> int:
    return next((place for place, one in enumerate(history) if one.id == id), 0) if id else 0
