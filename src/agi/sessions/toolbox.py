"""The running turn's tools: judged by policy, run in the session's workspace, their output told as it comes.

May import: protocol, policy, tools, workspace, sessions.journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import UNSET

from agi.agents.base import Agent
from agi.policy.approval import Decision, is_listed, judge
from agi.protocol.events import EventData, ToolOutputDelta
from agi.protocol.policies import ApprovalPolicy
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import Channel, Registry, ToolContext
from agi.workspace.handle import Workspace

FLUSH_S = 0.1
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
        grants: Callable[[], list[str]],
        workspace: Workspace,
        session_folder: Path,
        turn_id: str,
        verify_commands: tuple[str, ...],
        no_commands: str,
        note: Callable[[EventData], None],
    ) -> None:
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
        self._offered = tuple(tool for tool in registry.definitions() if is_listed(tool, agent.tools))

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What this agent may use."""
        return self._offered

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
        return judge(self._policy, definition, call, allowed_tools=self._agent.tools, granted=self._grants())

    def preview(self, call: ToolCall) -> str:
        """The change a call would make, as a diff."""
        patch = self._registry.preview(self._workspace, call)
        return patch if len(patch) <= SHOWN else patch[:SHOWN] + "\n[cut here]\n"

    async def use(self, call: ToolCall) -> ToolResult:
        """Run it; its output is told while it runs."""
        output = _Output(call.id, self._note)
        context = ToolContext(
            workspace=self._workspace,
            artifacts=self._session_folder / "artifacts" / self._turn_id,
            artifact_ref=f"artifacts/{self._turn_id}",
            output=output.take,
            verify_commands=self._verify_commands,
        )
        try:
            result = await self._registry.invoke(context, call)
        finally:
            output.close()
        return self._located(result)

    async def changed_at(self) -> int:
        """When a file of the workspace last changed, in nanoseconds since 1970."""
        return await asyncio.to_thread(self._workspace.changed_at)

    def _located(self, result: ToolResult) -> ToolResult:
        """Name an artifact's place from the project's root, where clients can find it."""
        if result.artifact is UNSET or not result.artifact.path:
            return result
        path = f".agi/sessions/{self._session_folder.name}/{result.artifact.path}"
        return msgspec.structs.replace(result, artifact=msgspec.structs.replace(result.artifact, path=path))


class _Output:
    """Gathers a call's output into pieces worth an event, up to a limit."""

    def __init__(self, call_id: str, note: Callable[[EventData], None]) -> None:
        self._call_id = call_id
        self._note = note
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
            self._flush()
        elif self._timer is not None:
            self._timer.cancel()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pieces, self._pieces, self._size = self._pieces, {}, 0
        for channel, texts in pieces.items():
            chunk = "".join(texts)
            offset = self._offsets.get(channel, 0)
            self._note(ToolOutputDelta(tool_call_id=self._call_id, channel=channel, chunk=chunk, offset=offset))
            self._offsets[channel] = offset + len(chunk)
