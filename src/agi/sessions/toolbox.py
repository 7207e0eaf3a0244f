"""The running turn's tools: judged by policy, run in the session's workspace, their output told as it comes.

May import: errors, protocol, checkpoints, policy, tools, workspace, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from agi.agents.base import Agent
from agi.checkpoints.opened import store_at
from agi.errors import Unavailable
from agi.jobs.base import SessionJobs
from agi.policy.approval import NOWHERE, Decision, Ground, digest_of, is_listed, judge
from agi.policy.detecting import Checks, checks_for
from agi.protocol.checkpoints import CheckpointPolicy
from agi.protocol.events import EventData, Notice, ToolOutputDelta
from agi.protocol.grants import Grant
from agi.protocol.policies import ApprovalPolicy
from agi.protocol.preflight import PreflightStep
from agi.protocol.showing import exact
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.sessions.ground import ground_for
from agi.sessions.looked import Looked
from agi.tools.base import Channel, Preview, Registry, ToolContext
from agi.tools.remembered import SessionMemory
from agi.views.state import Agreed
from agi.workspace.handle import Workspace

if TYPE_CHECKING:
    from agi.editing.seen import Seen
    from agi.redaction import Redactor
    from agi.sandbox.cell import Cell
    from agi.sessions.checkpointing import Checkpoints
    from agi.skills.loading import Skills
    from agi.workspace.fingerprint import Tree

FLUSH_S = 0.1
NO_SANDBOX = "no_sandbox"
SHOWN_COMMANDS = 1_000
PIECE = 4096
SHOWN = 65_536
"""Characters of live output a call may put into the log; the whole of it is in its result and artifact."""


class Toolbox:
    """What one turn's agent can use, and how."""

    def __init__(
        self,
        *,
        registry: Registry,
        agent: Agent,
        policy: ApprovalPolicy,
        grants: Callable[[], Sequence[Grant]],
        workspace: Workspace,
        session_folder: Path,
        turn_id: str,
        verify_commands: tuple[str, ...],
        no_commands: str,
        note: Callable[[EventData], None],
        jobs: SessionJobs | None = None,
        memory: SessionMemory | None = None,
        ground: Ground = NOWHERE,
        cell: Callable[[], Cell] | None = None,
        seen: Seen | None = None,
        approved: Callable[[str], Agreed] = lambda call_id: Agreed(),
        checkpoints: CheckpointPolicy = CheckpointPolicy(),  # noqa: B008 - frozen
        was_noticed: Callable[[str], bool] = lambda code: False,
        skills: Callable[[], Skills] | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._redactor = redactor
        self._jobs = jobs
        self._memory = memory
        self._registry = registry
        self._agent = agent
        self._policy = policy
        self._grants = grants
        self._workspace = workspace
        self._session_folder = session_folder
        self._turn_id = turn_id
        self._verify_commands = verify_commands
        self._no_commands = no_commands
        self._note = note
        self._ground = msgspec.structs.replace(ground, locate=workspace.locate)
        self._make_cell = cell
        self._cell: Cell | None = None
        self._seen = seen
        self._said_what_holds = False
        self._approved = approved
        self._keeping = checkpoints
        self._was_noticed = was_noticed
        self._skills = skills
        self._checkpoints: Checkpoints | None = None
        self._definitions: tuple[tuple[ToolDefinition, ...], tuple[ToolDefinition, ...]] | None = None
        """What is offered, and what of it this agent is."""

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What this agent is offered; it may use what was held back only for want of room, once it found it."""
        offered = self._registry.offered()
        if self._definitions is None or self._definitions[0] is not offered:
            own = tuple(tool for tool in offered if is_listed(tool, self._agent.tools))
            self._definitions = (offered, own)
        return self._definitions[1]

    def find(self, name: str) -> ToolDefinition | None:
        """Look up any tool, allowed or not."""
        return self._registry.find(name)

    def judge(self, call: ToolCall) -> Decision:
        """May it run: allow, ask or deny. A tool that does not exist is denied."""
        definition = self._registry.find(call.name)
        if definition is None:
            return Decision(verdict="deny", rule="unknown_tool", reason=f"There is no tool {call.name!r}.", risk="low")
        if self._no_commands and definition.kind == ToolKind.EXEC:
            return Decision(verdict="deny", rule="sandbox_required", reason=self._no_commands, risk="high")
        try:
            ground = self._ground_for(definition)
        except Unavailable as error:  # what holds it is not known now, so nobody could say yes to it
            return Decision(verdict="deny", rule=error.code, reason=f"{error.message} {error.hint}", risk="high")
        decision = judge(
            self._policy,
            definition,
            call,
            allowed_tools=self._agent.tools,
            granted=self._grants(),
            ground=ground,
        )
        if decision.verdict != "deny":
            self._say_what_holds(call)  # before anybody is asked
        if decision.verdict != "ask" or not ground.runs:
            return decision
        told = "; ".join(ground.runs)[:SHOWN_COMMANDS]
        return msgspec.structs.replace(decision, reason=f"{decision.reason} It runs: {exact(told)}")

    def covering(self, call: ToolCall, decision: Decision, steps: Sequence[PreflightStep]) -> PreflightStep | None:
        """The approved step by which a call may run that would be asked about, if there is one."""
        from agi.policy.preflight import covering  # late: few turns have a plan

        definition = self._registry.find(call.name)
        if definition is None:
            return None
        return covering(steps, definition, call, decision, self._ground_for(definition))

    async def propose(self, call: ToolCall, after: Preview | None) -> Preview:
        """The change a call would make, after another one that is still to come."""
        return await asyncio.to_thread(self._registry.propose, self._workspace, call, after)

    async def use(self, call: ToolCall) -> ToolResult:
        """Run it; its output is told while it runs. What a person approved is run as it was shown, or not at all."""
        agreed = self._approved(call.id)
        try:
            if not self._is_what_was_approved(call, agreed.arguments):
                return failed(call, "Its arguments are not those that were approved, so it was not run.")
        except Unavailable as error:
            return failed(call, f"{error.message} {error.hint}")
        output = _Output(call.id, self._note, self._redactor)
        context = ToolContext(
            workspace=self._workspace,
            artifacts=self._session_folder / "artifacts" / self._turn_id,
            artifact_ref=f"artifacts/{self._turn_id}",
            output=output.take,
            jobs=self._jobs,
            memory=self._memory,
            verify_commands=self.checks().commands if call.name == "verify" else (),
            seen=self._seen,
            cell=self._held(),
            approved=agreed.change,
            accepted=agreed.hunks,
            remark=agreed.reason,
            skills=self._skills() if self._skills is not None and call.name == "skill" else None,
            redactor=self._redactor,
        )
        try:
            result = await self._watched(call, lambda: self._registry.invoke(context, call))
        finally:
            output.close()
        return self._located(result)

    async def _watched(self, call: ToolCall, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Run a call; what it changes can be taken back, unless it only reads anyway."""
        definition = self._registry.find(call.name)
        if definition is None or definition.kind == ToolKind.READ:
            return await run()
        if self._checkpoints is None:
            from agi.sessions.checkpointing import Checkpoints  # late: most one-shots only read

            self._checkpoints = Checkpoints(
                store=store_at(self._session_folder.parent.parent),
                workspace=self._workspace,
                policy=self._keeping,
                session_id=self._session_folder.name,
                turn_id=self._turn_id,
                note=self._note,
                was_noticed=self._was_noticed,
            )
        return await self._checkpoints.around(call, definition, run)

    def _is_what_was_approved(self, call: ToolCall, digest: str) -> bool:
        definition = self._registry.find(call.name)
        return not digest or definition is None or digest == digest_of(definition, call, self._ground_for(definition))

    def _say_what_holds(self, call: ToolCall) -> None:
        """Say it once a session, where commands run and nothing keeps them in."""
        definition, cell = self._registry.find(call.name), self._held()
        if definition is None or definition.kind != ToolKind.EXEC or cell is None or cell.rung.confines:
            return
        if not self._said_what_holds and not self._was_noticed(NO_SANDBOX):
            self._said_what_holds = True
            why = "; ".join(cell.rung.why)
            self._note(Notice(code=NO_SANDBOX, message=f"Commands run without a sandbox here ({why})."))

    def _ground_for(self, definition: ToolDefinition) -> Ground:
        ground = ground_for(self._ground, definition, self._held())
        return ground if definition.name != "verify" else msgspec.structs.replace(ground, runs=self.checks().commands)

    def _held(self) -> Cell | None:
        if self._cell is None and self._make_cell is not None:
            self._cell = self._make_cell()
        return self._cell

    async def changed_at(self) -> int:
        """When a file of the workspace last changed, in nanoseconds since 1970."""
        return await asyncio.to_thread(self._workspace.changed_at)

    def checks(self) -> Checks:
        """The commands that verify the workspace: the configured ones, or those that its files suggest."""
        return checks_for(self._verify_commands, Looked(self._workspace))

    async def tree(self) -> Tree:
        """The files of the workspace as they are now."""
        from agi.workspace.fingerprint import take_tree  # late: only a turn that changes something needs it

        return await asyncio.to_thread(take_tree, self._workspace)

    def _located(self, result: ToolResult) -> ToolResult:
        """Name an artifact's place from the project's root, where clients can find it."""
        if result.artifact is UNSET or not result.artifact.path:
            return result
        path = f".agi/sessions/{self._session_folder.name}/{result.artifact.path}"
        return msgspec.structs.replace(result, artifact=msgspec.structs.replace(result.artifact, path=path))


class _Output:
    """Gathers a call's output into pieces worth an event, up to a limit; none of them ends within a secret."""

    def __init__(self, call_id: str, note: Callable[[EventData], None], redactor: Redactor | None) -> None:
        self._call_id = call_id
        self._note = note
        self._redactor = redactor
        self._pieces: dict[Channel, list[str]] = {}
        self._size = 0
        self._offsets: dict[Channel, int] = {}
        self._left = SHOWN
        self._timer: asyncio.TimerHandle | None = None

    def take(self, channel: Channel, text: str) -> None:
        text = text[: self._left]
        if not text:
            return
        self._left -= len(text)
        self._pieces.setdefault(channel, []).append(text)
        self._size += len(text)
        if self._size >= PIECE:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def close(self) -> None:
        """What is left is in the result; only a call that has been telling must tell its end too."""
        if self._offsets:
            self._flush(is_last=self._left > 0)  # at the limit, what was cut off may be the rest of a secret
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self, *, is_last: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pieces, self._pieces, self._size = self._pieces, {}, 0
        for channel, texts in pieces.items():
            text = "".join(texts)
            held = 0 if is_last or self._redactor is None else self._redactor.unfinished(text)
            chunk = text[: len(text) - held]
            if held:
                self._pieces[channel] = [text[len(chunk) :]]
                self._size += held
            if not chunk:
                continue
            offset = self._offsets.get(channel, 0)
            self._note(ToolOutputDelta(tool_call_id=self._call_id, channel=channel, chunk=chunk, offset=offset))
            self._offsets[channel] = offset + len(chunk)
