"""The loop's ports, played from the record: its journal is the tape, its tools and people say what they said then.

Nothing is run and nothing is written. May import: protocol, policy, tools.base, views, workspace.fingerprint, replay.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from agi.policy.approval import Decision
from agi.policy.detecting import Checks
from agi.protocol import events as ev
from agi.protocol.compaction import CompactionRequest
from agi.protocol.events import Event, EventData, ModelOutputDelta
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Json, Text
from agi.protocol.preflight import PreflightAnswer, PreflightStep
from agi.protocol.tools import ToolCall, ToolDefinition, ToolResult
from agi.replay.tape import Tape, was_closed
from agi.tools.base import Preview
from agi.views import queries, told
from agi.views.folding import fold
from agi.views.ledger import Ledger
from agi.views.state import Answer, SessionState, TurnState
from agi.workspace.fingerprint import Tree

if TYPE_CHECKING:
    from agi.views.recorded import Recorded

_VERIFIED_BY, _AS, _SUGGESTS = "Changes are verified by `", "`, as ", " suggests. `verify"
"""How a notice goes that says which commands were found, and where."""
_TOOK = re.compile(r"It took ([\d.e+-]+) s the last time, and ")


class TapeJournal:
    """What the turn writes is compared, not written."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._deferred: list[EventData] = []

    def state(self) -> SessionState:
        """The session as it stands, with what is deferred."""
        state = self._tape.state()
        for data in self._deferred:
            fold(state, Event.of(state.last_seq, state.updated_at, state.id, self._tape.turn_id, data))
        return state

    def turn(self) -> TurnState:
        """The turn, likewise."""
        turn = self.state().turn
        assert turn is not None  # noqa: S101 - it plays
        return turn

    def session_usage(self) -> Usage:
        """What the whole session has used."""
        return self.state().usage

    def withheld(self) -> Mapping[str, str]:
        """What models are no longer told."""
        return self.state().withheld

    def compaction(self) -> ev.ContextCompacted | None:
        """What stands for the beginning of the conversation."""
        return told.compaction_of(self._tape.db, self.state())

    def compaction_asked(self) -> CompactionRequest | None:
        """A compaction that somebody asked for, if it was made now."""
        following = next((one for one in self._tape.ahead() if self._tape.is_loops(one)), None)
        if following is not None and isinstance(following.data, ev.CompactionStarted):
            while self._tape.at < following.seq - 1:
                self._tape.supply()
        return self.state().compaction

    def compacted_to(self) -> int:
        """Tokens that a compaction could do nothing about."""
        return self.state().compacted_to

    def recorded(self) -> Recorded:
        """What the log knows of the conversation by itself."""
        from agi.views.recorded import recorded

        return recorded(self._tape.db, self.state())

    def was_noticed(self, code: str) -> bool:
        """Whether a notice of this code was given."""
        return code in self.state().noticed

    def ledger(self) -> Ledger:
        """What verification has shown."""
        return self.state().ledger

    def known(self, command: str, fingerprint: str) -> ev.VerificationCompleted | None:
        """What a command found on these files; other sessions count only as far as the record has it."""
        check = self.state().ledger.find(command, fingerprint)
        if check is not None:
            data = self._tape.read(self._tape.session_id, check.seq - 1, 1)[0].data
            return data if isinstance(data, ev.VerificationCompleted) else None
        for event in self._tape.ahead():
            data = event.data
            if isinstance(data, ev.VerificationCompleted):
                return data if data.known and data.command == command else None
        return None

    def took(self, command: str) -> float:
        """How many seconds a command took last; what another session knew of it the record tells."""
        for event in self._tape.ahead():
            data = event.data
            if isinstance(data, ev.VerificationCompleted) and data.command == command:
                told = _TOOK.match(data.reason)
                return float(told[1]) if told else self.state().ledger.took.get(command, 0.0)
        return self.state().ledger.took.get(command, 0.0)

    async def steered(self) -> list[Message]:
        """What people said to this turn, if it took it up here; what is deferred was written before that."""
        own = [one for one in self._tape.ahead() if self._tape.is_loops(one) or one.type == ev.MessageSteered.TYPE]
        if [one.type for one in own[len(self._deferred) :]][:1] != [ev.MessageSteered.TYPE]:
            return []
        for one in self.take_deferred():
            self._tape.compare(one)
        taken: list[str] = []
        while self._tape.at < len(self._tape.events) and not self._tape.is_loops(self._tape.events[self._tape.at]):
            data = self._tape.events[self._tape.at].data
            if taken and not isinstance(data, ev.MessageSteered | ev.TurnCanceled):
                break
            if isinstance(data, ev.MessageSteered):
                taken.append(data.message_id)
            self._tape.supply()
        return queries.messages_by_id(self._tape.db, self._tape.session_id, taken)

    def defer(self, *data: EventData) -> None:
        """Remember events that are compared together with the next ones."""
        self._deferred += data
        for one in data:
            self._tape.expect(one)

    async def emit(self, *data: EventData) -> None:
        """Compare; lets others go on in between, as a write would."""
        deferred = self.take_deferred()
        for place, one in enumerate((*deferred, *data)):
            if self._tape.is_cut():
                self._deferred = deferred[place:]  # it was never written, unless by whoever closed the turn
                await asyncio.Event().wait()
            self._tape.compare(one)
        await asyncio.sleep(0)

    async def speak(self, delta: ModelOutputDelta) -> None:
        """Compared in the pieces in which it was logged."""
        if self._deferred and not self._tape.is_cut():
            await self.emit()
        while delta.delta:
            following = next((one.data for one in self._tape.ahead() if self._tape.is_loops(one)), None)
            if not isinstance(following, ModelOutputDelta):
                return  # it was never logged; the whole answer is compared at its end
            size = len(following.delta)
            self._tape.compare(replace(delta, delta=delta.delta[:size]))
            delta = replace(delta, delta=delta.delta[size:], offset=delta.offset + size)

    def take_deferred(self) -> list[EventData]:
        """What is still to be compared."""
        waiting, self._deferred = self._deferred, []
        return waiting

    def deferred_messages(self) -> list[Message]:
        """What the model said last, if it was not compared yet."""
        return [data.message for data in self._deferred if isinstance(data, ev.ModelOutputCompleted)]


class RecordedToolbox:
    """Judges and answers as it was then."""

    def __init__(self, tape: Tape, offered: Sequence[ToolDefinition], known: Sequence[ToolDefinition]) -> None:
        self._tape = tape
        self._offered = tuple(offered)
        self._known = {name: tool for tool in known for name in (tool.name, *tool.aliases)}
        self._moved = asyncio.Event()
        tape.moved = self._move

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the agent was offered."""
        return self._offered

    def find(self, name: str) -> ToolDefinition | None:
        """Look up any tool."""
        return self._known.get(name)

    def judge(self, call: ToolCall) -> Decision:
        """What was decided: asked about, begun, or answered without being run."""
        call_id = self._tape.recorded_id(call.id)
        is_reviewed = False
        for event in self._tape.ahead():
            data = event.data
            if isinstance(data, ev.PatchReviewed) and data.tool_call_id == call_id:
                is_reviewed = True
            if isinstance(data, ev.ApprovalRequested) and data.tool_call_id == call_id:
                return _asked(data, by_step=self._ran_by_step(call_id))
            if isinstance(data, ev.ToolCallStarted) and data.tool_call.id == call_id:
                if data.preflight_step is not UNSET:
                    return Decision(verdict="ask", rule="recorded", reason="It is in the plan.", risk="low")
                break
            if isinstance(data, ev.VerificationStarted) and data.verification_id == call_id:
                break
            if was_closed(event):
                continue
            if isinstance(data, ev.VerificationCompleted) and data.verification_id == call_id:
                return Decision(verdict="deny", rule="rule:deny", reason=data.reason, risk="low")
            if isinstance(data, ev.ToolCallCompleted) and data.tool_call_id == call_id and data.blocked:
                if is_reviewed:
                    break  # nothing spoke against it until then
                return Decision(verdict="deny", rule="recorded", reason=data.tool_result.error, risk="low")
        return Decision(verdict="allow", rule="recorded", reason="It ran.", risk="low")

    def _ran_by_step(self, call_id: str) -> bool:
        """Whether a call ran by an approved step."""
        began = (one.data for one in self._tape.ahead() if isinstance(one.data, ev.ToolCallStarted))
        return any(one.tool_call.id == call_id and one.preflight_step is not UNSET for one in began)

    def covering(self, call: ToolCall, decision: Decision, steps: Sequence[PreflightStep]) -> PreflightStep | None:
        """The step by which it ran."""
        call_id = self._tape.recorded_id(call.id)
        for event in self._tape.ahead():
            data = event.data
            if isinstance(data, ev.ToolCallStarted) and data.tool_call.id == call_id:
                return next((step for step in steps if step.id == data.preflight_step), None)
        return None

    async def propose(self, call: ToolCall, after: Preview | None) -> Preview:
        """The change as it was shown."""
        call_id = self._tape.recorded_id(call.id)
        shown = Preview()
        for event in self._tape.ahead():
            data = event.data
            if isinstance(data, ev.PatchProposed) and data.tool_call_id == call_id:
                shown = Preview(data.patch, data.preview_digest)
            elif isinstance(data, ev.ApprovalRequested) and data.tool_call_id == call_id:
                return Preview(data.preview, data.preview_digest, data.hunks)
        return shown

    async def use(self, call: ToolCall) -> ToolResult:
        """What came of it then; calls that ran side by side end in the order in which they did."""
        call_id = self._tape.recorded_id(call.id)
        while True:
            done = self._next_result()
            if isinstance(done, ev.VerificationCompleted) and done.verification_id == call_id:
                return _of_verification(call, done)
            if isinstance(done, ev.ToolCallCompleted) and done.tool_call_id == call_id:
                return _result(call, done.tool_result)
            self._moved.clear()
            await self._moved.wait()

    def _next_result(self) -> EventData | None:
        for event in self._tape.ahead():
            data = event.data
            if was_closed(event):
                continue
            if isinstance(data, ev.ToolCallCompleted):
                return data
            if isinstance(data, ev.VerificationCompleted) and not data.tool_call_id:
                return data
        return None

    def _move(self) -> None:
        self._moved.set()

    async def changed_at(self) -> int:
        """Just now, unless the record goes on as if nothing had changed."""
        for event in self._tape.ahead():
            if self._tape.is_loops(event):
                is_told = isinstance(event.data, ev.MessageAdded) and event.data.message.origin == "loop_guard"
                return 0 if is_told else time.time_ns()
            if isinstance(event.data, ev.TurnCompleted):
                return 0 if event.data.stop_reason == "loop_detected" else time.time_ns()
        return 0

    def checks(self) -> Checks:
        """The commands that verified the workspace in this turn, in their order."""
        placed: dict[int, str] = {}
        commands: dict[str, None] = {}
        found: tuple[str, ...] = ()
        note, announced = "", 0
        for event in self._tape.of_turn():
            data = event.data
            if isinstance(data, ev.VerificationStarted | ev.VerificationCompleted) and data.command:
                commands[data.command] = None
                if not data.baseline and (isinstance(data, ev.VerificationStarted) or not data.tool_call_id):
                    placed.setdefault(data.index, data.command)
            elif isinstance(data, ev.VerificationCompleted) and data.status == "not_run" and not was_closed(event):
                note = data.reason
            elif isinstance(data, ev.Notice) and (named := _announced(data.message)):
                commands.update(dict.fromkeys(named[0]))
                found, announced = named[1], event.seq
            elif isinstance(data, ev.ApprovalRequested) and data.name == "verify":
                commands[_command(data)] = None
        if any(one.type == "tool_call_completed" and one.seq < announced for one in self._tape.ahead()):
            return Checks(note=note)  # it was a call still to come that brought them
        ordered = dict.fromkeys((*(placed[index] for index in sorted(placed)), *commands))
        return Checks(commands=tuple(ordered), found=found, note="" if ordered else note)

    async def tree(self) -> Tree:
        """The files by their fingerprint; as the last turn left them where nothing is verified now."""
        following = next((one for one in self._tape.ahead() if self._tape.is_loops(one)), None)
        data = following.data if following is not None else None
        is_unread = isinstance(data, ev.VerificationCompleted) and data.baseline and not data.fingerprint
        if is_unread or isinstance(data, ev.ToolCallCompleted):
            return Tree(self._tape.state().ledger.left, {})
        for event in self._tape.ahead():
            data = event.data
            if isinstance(data, ev.VerificationCompleted) and data.fingerprint:
                is_running = bool(self._tape.state().turn and self._tape.state().turn.verifying)  # type: ignore[union-attr]
                return Tree(data.fingerprint if is_running else data.fingerprint_before or data.fingerprint, {})
            if isinstance(data, ev.TurnCompleted):
                return Tree(data.fingerprint, {})
        return Tree("", {})


class RecordedPeople:
    """Whoever answered then."""

    waited = 0.0

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def answer(self, call_id: str) -> Answer:
        """The answer, once the record comes to it; where nobody answered, nobody does."""
        while True:
            turn = self._tape.state().turn
            if turn is not None and call_id in turn.answers:
                return turn.answers[call_id]
            await self._hear_more()

    async def preflight(self) -> PreflightAnswer:
        """The answer to the steps, likewise."""
        while True:
            turn = self._tape.state().turn
            if turn is not None and turn.preflight_answer is not None:
                return turn.preflight_answer
            await self._hear_more()

    async def _hear_more(self) -> None:
        """Take the next event as given; nothing ever comes where the turn went on, or ended, without an answer."""
        following = self._tape.events[self._tape.at] if self._tape.at < len(self._tape.events) else None
        is_over = following is None or self._tape.next_of_turn() is following
        if is_over or isinstance(following.data, ev.CancelRequested):  # type: ignore[union-attr]
            await asyncio.Event().wait()
        self._tape.supply()


def _announced(notice: str) -> tuple[list[str], tuple[str, ...]] | None:
    """The commands that a notice names, and what suggests them. No pattern: a stranger's notice may be long."""
    if not notice.startswith(_VERIFIED_BY):
        return None
    told = notice[len(_VERIFIED_BY) :].rpartition(_SUGGESTS)[0]
    commands, is_told, found = told.rpartition(_AS)
    return (commands.split("`, `"), tuple(found.split(", "))) if is_told else None


def _command(data: ev.ApprovalRequested) -> str:
    """The command that a question about verification is about."""
    value = msgspec.json.decode(data.input)
    return str(value.get("command", "")) if isinstance(value, dict) else ""


def _asked(data: ev.ApprovalRequested, *, by_step: bool) -> Decision:
    """What was decided before a review had its say: a step of the plan covers only what would be asked about."""
    by_review = data.rule == "patch_review" and not by_step
    return Decision(
        verdict="allow" if by_review else "ask",
        rule=data.rule,
        reason=data.reason,
        risk=data.risk,
        digest=data.digest,
        remember=None if data.remember is UNSET else data.remember,
    )


def _result(call: ToolCall, recorded: ToolResult) -> ToolResult:
    return replace(recorded, id=call.id)


def _of_verification(call: ToolCall, done: ev.VerificationCompleted) -> ToolResult:
    """The result of a command, of which the record holds what verification made of it."""
    parts = (Text(text=done.output),)
    if done.status == "not_run":
        return ToolResult(id=call.id, ok=False, error=done.reason, parts=parts)
    how: Json = {"exit_code": done.exit_code}
    if done.exit_code is None:
        how["timed_out"] = True
    if done.failing is not None:
        how["failing"] = list(done.failing)
    return ToolResult(id=call.id, ok=done.exit_code == 0, parts=parts, result=how, artifacts=done.artifacts)
