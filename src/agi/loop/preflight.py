"""A preflight: before a turn begins, the agent proposes its steps, and nothing runs until somebody has said yes.

The proposal is one model call, under the turn's limits and with its patience, whose answer is no part of the
conversation: it becomes `preflight_requested`, and what was approved is told to the model in its place. What the log
has already is not done again. May import: errors, protocol, policy, loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from agi.loop.base import Journal, Outcome, Plan, Ports
from agi.loop.checklist import Proposed, make_checklist
from agi.loop.history import calls_of
from agi.loop.patience import Asker
from agi.loop.shaping import Shape
from agi.models.base import Model
from agi.protocol.events import EventData, ModelOutputCompleted, ModelOutputDelta, PreflightResolved
from agi.protocol.ids import MESSAGE, PART, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Json, Text
from agi.protocol.preflight import PreflightAnswer, PreflightStep
from agi.protocol.times import to_rfc3339
from agi.views.state import TurnState

ORIGIN = "preflight"
MOST_STEPS = 50
NOBODY = "Nobody is there to be asked."

QUESTION = """\
Before you begin, propose your plan. Do not call tools now and do not begin the work: the user reads the plan first and
may change it. Give the steps in the order in which you would take them, each of them one call of a tool:
- description: what is done and why, in one sentence.
- toolName: the name of the tool, exactly as it is offered to you; leave it out for a step that needs none.
- target: what exactly it is about: for a command the whole command line, for a file its path from the workspace's
  root, for a page its address. A command that you do not name is asked about again when it comes.
Steps that are approved run without another question, each once; whatever is not on the list is asked about.
Answer with JSON: {"steps": [{"description": "…", "toolName": "…", "target": "…"}]}, and nothing else."""
NO_CALLS = "- It calls tools. Nothing was run; propose the steps first."
NO_STEPS = "- It has no steps."

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "toolName": {"type": "string"},
                    "target": {"type": "string"},
                },
                "required": ["description"],
            },
        }
    },
    "required": ["steps"],
}


class _Proposal(msgspec.Struct, frozen=True):
    steps: tuple[Proposed, ...]


class Prepared(NamedTuple):
    """How the turn goes on: with this model and these words to it, or not at all."""

    outcome: Outcome | None
    model: Model
    told: str = ""


async def prepare(plan: Plan, ports: Ports, history: Sequence[Message], worked: Callable[[], float]) -> Prepared:
    """Have the steps of a turn proposed and approved; what is in the log already counts."""
    turn = ports.journal.turn()
    model = plan.model
    if turn.preflight_answer is None and turn.pending_preflight is None:
        asking = _Asking(plan, ports, history, worked)
        outcome = await asking.ask()
        model = asking.plan.model
        if outcome is not None:
            return Prepared(outcome, model)
        turn = ports.journal.turn()
    answer = turn.preflight_answer or await ports.people.preflight()
    if not answer.approved:
        return Prepared(Outcome(stop_reason="canceled", canceled=_why(answer)), model)
    turn = ports.journal.turn()
    return Prepared(None, model, _words(turn))


class _Asking:
    """One proposal: asked for, mended once if it cannot be read, put into the log as a checklist."""

    def __init__(self, plan: Plan, ports: Ports, history: Sequence[Message], worked: Callable[[], float]) -> None:
        self._shape = Shape(SCHEMA)
        shaped = msgspec.structs.replace(plan, schema=SCHEMA)
        self._asker = Asker(shaped, ports, self._shape, worked, _Unheard(ports.journal))
        self._ports = ports
        self._history = history
        self._schema = plan.schema
        self._asked = Usage()

    @property
    def plan(self) -> Plan:
        """The turn's plan, with the model that answers by now."""
        return msgspec.structs.replace(self._asker.plan, schema=self._schema)

    async def ask(self) -> Outcome | None:
        """Propose and put forward; an outcome if a limit forbids even that."""
        plan = self.plan
        beside = [_said(plan, QUESTION)]
        steps: tuple[Proposed, ...] = ()
        problem = ""
        for attempt in (1, 2):
            answer, allowed = await self._asker.ask(self._history, beside)
            if answer is None:
                return Outcome(stop_reason=allowed.stop or "error", note=allowed.note)
            self._asked = answer.usage or self._asked
            steps, problem = self._read(answer)
            if steps:
                break
            if attempt == 1:
                beside += [answer, _said(plan, self._shape.complaint(problem))]
        await self._put_forward(steps, problem)
        return None

    def _read(self, answer: Message) -> tuple[tuple[Proposed, ...], str]:
        if calls_of(answer):
            return (), NO_CALLS
        value, problem = self._shape.check(answer.parts)
        if value is None:
            return (), problem
        proposal = msgspec.json.decode(value, type=_Proposal)
        steps = tuple(step for step in proposal.steps if step.description.strip())
        return steps, "" if steps else NO_STEPS

    async def _put_forward(self, steps: tuple[Proposed, ...], problem: str) -> None:
        told = ""
        if not steps:
            told = f"The model proposed no steps that can be read, so every call is asked about. {_line(problem)}"
        elif len(steps) > MOST_STEPS:
            told = f"Only the first {MOST_STEPS} of {len(steps)} steps are listed; what is not listed is asked about."
        requested = await make_checklist(self.plan, self._ports, steps[:MOST_STEPS], told, self._history, self._asked)
        events: list[EventData] = [requested]
        if self._ports.journal.turn().on_ask == "deny":
            events.append(PreflightResolved(approved=False, cause="policy", reason=NOBODY))
        await self._ports.journal.emit(*events)


class _Unheard:
    """Hears an answer that is no part of the conversation: what it cost is kept, what it said is not told."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def speak(self, delta: ModelOutputDelta) -> None:
        """Nothing is shown."""

    def defer(self, *data: EventData) -> None:
        """Everything but the message itself."""
        self._journal.defer(*(one for one in data if not isinstance(one, ModelOutputCompleted)))


def _said(plan: Plan, text: str) -> Message:
    return Message(
        id=new_id(MESSAGE),
        role="user",
        parts=(Text(text=text, id=new_id(PART)),),
        created_at=to_rfc3339(time.time()),
        session_id=plan.session_id,
        turn_id=plan.turn_id,
        status="complete",
        origin=ORIGIN,
    )


def _why(answer: PreflightAnswer) -> str:
    """Why the turn ends, for people."""
    said = {
        "user": "The plan was not approved.",
        "expired": "Nobody answered the plan in time.",
        "policy": "The plan needs approval and nobody is there to give it.",
    }.get(answer.cause, "The plan was not answered.")
    return f"{said} The reason given: {answer.reason}" if answer.reason and answer.cause == "user" else said


def _words(turn: TurnState) -> str:
    """What the model is told of the answer."""
    if not turn.approved_steps:
        text = "The user lets you begin, but approved no steps: whatever needs approval is asked about."
    else:
        text = "The user approved this plan. Its steps run without another question, each once; keep to it.\n"
        text += "\n".join(f"{place}. {_told(step)}" for place, step in enumerate(turn.approved_steps, start=1))
    if turn.skipped_steps:
        text += "\n\nThese steps were taken out; do not take them:\n"
        text += "\n".join(f"- {_told(step)}" for step in turn.skipped_steps)
    answer = turn.preflight_answer
    return f"{text}\n\nThe user said: {answer.reason}" if answer is not None and answer.reason else text


def _told(step: PreflightStep) -> str:
    call = " ".join(one for one in (step.tool_name, step.target) if one)
    return f"{step.description} ({call})" if call else step.description


def _line(problem: str) -> str:
    return " ".join(problem.replace("- ", "").split())[:500]
