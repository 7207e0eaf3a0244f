"""One turn, from the user's message to its outcome: seed 000's eight steps as a loop over the history.

Each round looks at where the conversation stands and does what comes next, so a turn that was cut off goes on from its
last event. May import: errors, protocol, policy, models.base, loop.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from agi.errors import AgiError, StorageError
from agi.loop import guarding, shaping
from agi.loop.base import Outcome, Plan, Ports
from agi.loop.calling import answer_calls
from agi.loop.guarding import Guard
from agi.loop.history import calls_of, unanswered
from agi.loop.patience import Asker
from agi.loop.shaping import Shape
from agi.loop.verifying import refuse_dirty, verification_of, verify_changes
from agi.loop.watching import Watch
from agi.protocol.context import ORIGIN as CONTEXT
from agi.protocol.events import MessageAdded
from agi.protocol.ids import MESSAGE, PART, new_id
from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.protocol.sessions import ErrorInfo
from agi.protocol.times import to_rfc3339

GO_ON = "Your last answer was not the end of it: it was cut off, or what followed it failed. Go on from where it ended."
LOOP_NOTE = "It went round in circles: the same calls with the same results, or the same words over and over."


async def run_turn(plan: Plan, ports: Ports) -> Outcome:
    """Answer the turn's message. Canceling the task stops it; whoever canceled closes what is open."""
    try:
        turn = _Turn(plan, ports)
        return await turn.judged(await turn.run())
    except StorageError:
        raise  # nothing can be said about the turn any more; it stays as the log has it
    except AgiError as error:
        return _failed(error.code, error.message, error.hint)


class _Turn:
    """One turn while it runs."""

    def __init__(self, plan: Plan, ports: Ports) -> None:
        self._plan = plan
        self._ports = ports
        self._history = list(plan.history)
        self._began = time.monotonic()
        self._shape = Shape(plan.schema)
        self._asker = Asker(plan, ports, self._shape, self._worked)
        self._guard = Guard(ports.toolbox.changed_at, is_polling=self._is_polling)
        self._watch = Watch(plan, ports)
        self._watched = self._watch.ports()

    async def judged(self, outcome: Outcome) -> Outcome:
        """The outcome with what the log can say of the files; a turn that failed says nothing of them."""
        if outcome.error is not None or outcome.canceled:
            return outcome
        verification, fingerprint = await verification_of(self._plan, self._ports, self._watch)
        return replace(outcome, verification=verification, fingerprint=fingerprint)

    async def run(self) -> Outcome:
        await refuse_dirty(self._plan, self._ports)
        outcome = await self._approved()
        while outcome is None:
            own = self._own()
            calls = unanswered(own)
            if calls:
                cut = [message.stop_reason for message in own if message.role == "assistant"][-1] == "max_tokens"
                plan = self._asker.plan  # with the model that answers by now
                self._history += await answer_calls(plan, self._watched, calls, worked=self._worked(), cut=cut)
                continue
            outcome = await self._over(own) or await self._astray() or await self._ask()
        return outcome

    async def _approved(self) -> Outcome | None:
        """The end, if its steps were to be approved first and were not; else the model is told which were."""
        turn = self._ports.journal.turn()
        if not turn.preflight or turn.steps:
            return None  # after the first answer of the model it was approved, and the model was told
        from agi.loop.preflight import ORIGIN, prepare  # late: few turns begin with one

        outcome, model, told = await prepare(self._plan, self._ports, self._history, self._worked)
        self._asker.plan = replace(self._asker.plan, model=model)
        if outcome is None and not any(message.origin == ORIGIN for message in self._own()):
            await self._tell(told, ORIGIN)
        return outcome

    def _is_polling(self, name: str) -> bool:
        tool = self._ports.toolbox.find(name)
        return tool is not None and tool.polling

    def _worked(self) -> float:
        """Seconds, without the waiting for people."""
        return time.monotonic() - self._began - self._ports.people.waited

    def _own(self) -> list[Message]:
        """What somebody says meanwhile, without asking for an answer, does not change what this turn has to do."""
        turn_id = self._plan.turn_id
        return [message for message in self._history if message.turn_id == turn_id and message.origin != CONTEXT]

    async def _over(self, own: list[Message]) -> Outcome | None:
        """The end, if the model has given its answer and nothing speaks against it."""
        if not own or not _is_final(own[-1]):
            return None
        complaint = await verify_changes(self._plan, self._ports, self._watch)
        if complaint:
            await self._tell(complaint, "verification")
            return None
        return await self._shaped(own[-1])

    async def _shaped(self, last: Message) -> Outcome | None:
        """The end, if the answer fits what was asked for; one that does not is sent back once."""
        output, problem = self._shape.check(last.parts)
        stop = last.stop_reason or "end_turn"
        if not problem or stop == "refusal":
            return Outcome(stop_reason=stop) if output is None else Outcome(stop_reason=stop, output=output)
        if any(message.origin == shaping.ORIGIN for message in self._own()):
            said = f"The answer does not fit the schema, also when asked again.\n{problem}"
            return _failed("output_invalid", said, "Ask again, simplify the schema, or choose a larger model.")
        await self._tell(self._shape.complaint(problem), shaping.ORIGIN)
        return None

    async def _astray(self) -> Outcome | None:
        """The end, if the agent goes round in circles and was told so in vain."""
        verdict, times = await self._guard.look(self._own())
        if verdict == "end":
            return Outcome(stop_reason="loop_detected", note=LOOP_NOTE)
        if verdict == "note":
            await self._tell(guarding.NOTE.format(times), guarding.ORIGIN)
        return None

    async def _ask(self) -> Outcome | None:
        """One answer of the model, if it may be asked; the end, if nothing follows from it."""
        before = [message for message in self._history if message.origin != CONTEXT]
        if before and _is_final(before[-1]) and not self._own():
            # A retry: the model is told why it is asked again, and some providers want the last word to be the user's.
            _, problem = self._shape.check(before[-1].parts)
            await self._tell(self._shape.complaint(problem) if problem else GO_ON, "go_on")
        said, allowed = await self._asker.ask(self._history, join=self._joined)
        if said is None:
            return Outcome(stop_reason=allowed.stop or "error", note=allowed.note)
        self._history.append(said)
        if said.stop_reason == "loop_detected":
            return await self._endless()
        if calls_of(said):
            return None
        if said.stop_reason == "max_tokens" and allowed.max_tokens is not None:
            return Outcome(stop_reason="budget_exhausted", note="The answer was cut off where the budget ends.")
        return None if _is_final(said) else await self._shaped(said)  # nothing said and nothing asked for

    async def _joined(self) -> bool:
        """Whether people said something to this turn meanwhile; the conversation goes on from there."""
        said = await self._ports.journal.steered()
        self._history += said
        return bool(said)

    async def _endless(self) -> Outcome | None:
        """The end, if the model repeats itself without end for the second time."""
        if sum(message.stop_reason == "loop_detected" for message in self._own()) > 1:
            return Outcome(stop_reason="loop_detected", note=LOOP_NOTE)
        await self._tell(guarding.TEXT_NOTE, guarding.TEXT_ORIGIN)
        return None

    async def _tell(self, text: str, origin: str) -> None:
        """Say something to the model in the harness's own name."""
        message = Message(
            id=new_id(MESSAGE),
            role="user",
            parts=(Text(text=text, id=new_id(PART)),),
            created_at=to_rfc3339(time.time()),
            session_id=self._plan.session_id,
            turn_id=self._plan.turn_id,
            status="complete",
            origin=origin,
        )
        await self._ports.journal.emit(MessageAdded(message=message, run=False))
        self._history.append(message)


def _is_final(last: Message) -> bool:
    """The model has spoken and asks for nothing more."""
    spoke = last.role == "assistant" and last.status == "complete"
    return spoke and bool(last.parts) and not calls_of(last)


def _failed(code: str, message: str, hint: str) -> Outcome:
    return Outcome(stop_reason="error", error=ErrorInfo(code=code, message=message, hint=hint))
