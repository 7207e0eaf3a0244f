"""Before the calls of a step run: show the changes they would make, have them reviewed, and put the questions.

All of it is in the log before anything runs, and what the log has already is not done again. A change that was shown is
bound to its digest from here on. May import: protocol, policy, views, loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agi.loop.base import Plan, Ports
from agi.policy.approval import Decision, request_for
from agi.protocol.events import ApprovalDenied, EventData, PatchProposed, PatchReviewed
from agi.protocol.tools import ToolCall, ToolKind
from agi.views.state import Review, TurnState

if TYPE_CHECKING:
    from agi.tools.base import Preview

SHOWN = 65_536
"""Characters of a change that are shown; its digest is about all of it."""


class Gated(Struct, frozen=True):
    """A call and what is to become of it."""

    call: ToolCall
    kind: ToolKind
    decision: Decision
    refusal: str = ""
    """Why it cannot run at all; empty if it can."""
    proposed: bool = False
    """Whether its change is shown as a patch first."""
    step: str = ""
    """The step of an approved plan by which it runs unasked."""

    @property
    def asks(self) -> bool:
        """Whether a person is to be asked."""
        return self.decision.verdict == "ask" and not self.refusal

    @property
    def changes_files(self) -> bool:
        """Whether there is a change to be shown."""
        return self.kind is ToolKind.WRITE and not self.refusal


async def put_forward(plan: Plan, ports: Ports, gated: Sequence[Gated], worked: float) -> list[Gated]:
    """Show, review and ask; gives what is to become of each call now. `worked`: seconds the turn has taken."""
    turn = ports.journal.turn()
    asked_before = _asked(turn)
    last = max((n for n, one in enumerate(gated) if _is_to_be_shown(one, asked_before)), default=-1)
    settled: list[Gated] = []
    questions: list[EventData] = []
    after: Preview | None = None
    for place, one in enumerate(gated):
        # Each change is shown as it would be after those before it, also those that nobody is asked about.
        shown = await ports.toolbox.propose(one.call, after) if place <= last and one.changes_files else None
        if one.call.id in asked_before:
            one = _waiting(one)  # what was once asked waits for its answer, whatever the rules say by now
        elif one.proposed and plan.review.mode == "auto":
            one = await _reviewed(plan, ports, one, shown, worked, turn)
            questions += _question(turn, one, shown)
        else:
            questions += _proposal(one, shown) + _question(turn, one, shown)
        settled.append(one)
        after = shown if shown is not None and not one.refusal else after
    if questions:
        await ports.journal.emit(*questions)
    return settled


def _asked(turn: TurnState) -> set[str]:
    return {*turn.answers, *(pending.tool_call_id for pending in turn.pending)}


def _is_to_be_shown(one: Gated, asked_before: set[str]) -> bool:
    return one.changes_files and (one.asks or one.proposed) and one.call.id not in asked_before


def _waiting(one: Gated) -> Gated:
    return one if one.asks or one.refusal else replace(one, decision=replace(one.decision, verdict="ask"))


def _proposal(one: Gated, shown: Preview | None) -> list[EventData]:
    if not one.proposed or shown is None:
        return []
    call = one.call
    return [PatchProposed(tool_call_id=call.id, name=call.name, patch=_cut(shown.diff), preview_digest=shown.digest)]


def _question(turn: TurnState, one: Gated, shown: Preview | None) -> list[EventData]:
    """What must be in the log before people can answer."""
    if not one.asks:
        return []
    request = request_for(one.call, one.decision, _cut(shown.diff) if shown is not None else "")
    if shown is not None:
        request = replace(request, preview_digest=shown.digest, hunks=shown.hunks)
    if turn.on_ask != "deny":
        return [request]
    reason = "Nobody is there to be asked."
    denial = ApprovalDenied(tool_call_id=one.call.id, name=one.call.name, cause="policy", reason=reason)
    return [request, denial]


async def _reviewed(
    plan: Plan, ports: Ports, one: Gated, shown: Preview | None, worked: float, turn: TurnState
) -> Gated:
    """What a reviewing agent makes of a call; its verdict is durable, and is not asked for twice."""
    review = turn.reviews.get(one.call.id)
    if review is None and shown is not None:
        if turn.changes.get(one.call.id) != shown.digest:
            await ports.journal.emit(*_proposal(one, shown))
        await ports.journal.emit(*await _verdict(plan, ports, one, shown, worked))
        review = ports.journal.turn().reviews.get(one.call.id)
    return _judged(one, review) if review is not None else one


async def _verdict(plan: Plan, ports: Ports, one: Gated, shown: Preview, worked: float) -> list[EventData]:
    if not shown.digest:
        reason = f"It cannot be shown what {one.call.name} changes."
        return [PatchReviewed(tool_call_id=one.call.id, verdict="ask", reason=reason, reviewer="")]
    if not shown.diff:
        return []  # it changes nothing, or cannot be worked out; and it is bound to that
    from agi.loop.reviewing import review_change  # late: changes are seldom reviewed

    return await review_change(plan, ports, one.call.id, shown.diff, worked)


def _judged(one: Gated, review: Review) -> Gated:
    """A verdict may make the rules stricter, never looser."""
    if review.verdict == "reject":
        why = f"The change was reviewed and rejected, so it was not made. The reason given: {review.reason}"
        return replace(one, refusal=why)
    if review.verdict == "accept" or one.decision.verdict == "ask":
        return one
    reason = f"The reviewer leaves it to you: {review.reason}"
    return replace(one, decision=replace(one.decision, verdict="ask", rule="patch_review", reason=reason))


def _cut(diff: str) -> str:
    return diff if len(diff) <= SHOWN else diff[:SHOWN] + "\n[cut here]\n"
