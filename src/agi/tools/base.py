"""The shape of a tool, and the registry that finds one by name, checks its input and always answers with a result.

Whether a call may run at all is policy's and sessions' business. May import: editing, errors, explain, jobs,
protocol, workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from agi.editing.seen import Seen
from agi.errors import AgiError
from agi.jobs.base import SessionJobs
from agi.protocol.hunks import Hunk
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.fitting import LIMITS
from agi.tools.limiter import limited
from agi.tools.remembered import SessionMemory
from agi.workspace.handle import Workspace

if TYPE_CHECKING:
    from agi.redaction import Redactor
    from agi.sandbox.cell import Cell
    from agi.skills.loading import Skills

__all__ = ["Registry", "Tool", "ToolCall", "ToolContext", "ToolDefinition", "ToolKind", "ToolResult", "failed"]

Channel = Literal["stdout", "stderr", "patch"]
UNFINISHED = "unfinished"
"""The folder of a session for changes of files in the making, by which a cut-off one is put back."""


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a running tool is given: the folder it may work in, where its files go, and how to say what it is doing."""

    workspace: Workspace
    artifacts: Path
    """The folder for this turn's files; made by the tool that first writes one."""
    artifact_ref: str
    """How that folder is named in results: `artifacts/<turn_id>`."""
    output: Callable[[Channel, str], None]
    """Tell a piece of output as it comes; returns at once."""
    verify_commands: tuple[str, ...] = ()
    seen: Seen | None = None
    """What the session has been shown of files; without it, nothing is known to be stale."""
    approved: str = ""
    """The digest of the change that was approved: the only one that may be made. Empty if none was shown."""
    accepted: tuple[str, ...] | None = None
    """The hunks of it that were accepted; None is all of them."""
    remark: str = ""
    """What was said when only some of them were."""
    jobs: SessionJobs | None = None
    """The session's background jobs; without them, every command is waited for."""
    memory: SessionMemory | None = None
    """What was said and done in this session and others of its workspace; without it, nothing can be recalled."""
    cell: Cell | None = None
    """Where commands run; None is without a sandbox."""
    skills: Skills | None = None
    """The skills of the workspace and its user; None where there can be none."""
    redactor: Redactor | None = None
    """Takes known secrets out of the files that are kept; None where nobody knows any."""


class Preview(Struct, frozen=True):
    """The change a call would make: as a diff, and as a digest by which it can be told from any other."""

    diff: str = ""
    digest: str = ""
    hunks: tuple[Hunk, ...] = ()
    """The same in pieces that can be accepted one by one; none if only all of it can be."""
    outcome: object = None
    """What the files would hold afterwards, for the preview of a call that comes after this one."""


NO_CHANGE = "none"
"""The digest for a call of which no change could be worked out when it was shown."""


class Tool(Protocol):
    """One thing an agent can do."""

    @property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Do it. A failure the model can act on is a result; canceling the task stops the work and its processes."""


@runtime_checkable
class Previewing(Protocol):
    """A tool that can show the change a call would make, without making it."""

    def propose(self, workspace: Workspace, call: ToolCall, after: Preview | None) -> Preview:
        """The change, made after another one that is still to come; raises what running it would raise."""


class Registry:
    """The tools there are, by name and alias."""

    def __init__(self, tools: Iterable[Tool] = (), *, held_back: Iterable[str] = ()) -> None:
        self._by_name: dict[str, Tool] = {}
        self._tools: dict[str, Tool] = {}
        self._held_back = set(held_back)
        self._offered: tuple[ToolDefinition, ...] | None = None
        self._ever: set[str] = set()
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        """Make a tool known; a name in use is refused, so nothing can stand in for a built-in."""
        names = (tool.definition.name, *tool.definition.aliases)
        for name in names:
            if name in self._by_name:
                raise ValueError(f"two tools are called {name!r}")
        self._tools[tool.definition.name] = tool
        self._offered = None
        self._by_name.update(dict.fromkeys(names, tool))
        self._ever.update(names)

    def joined(self, tools: Iterable[Tool], *, held_back: Iterable[str] = ()) -> Registry:
        """These tools and more; a name in use is refused here too. Those held back are there, and not offered."""
        both = Registry((*self._tools.values(), *tools), held_back=(*self._held_back, *held_back))
        self._ever |= both._ever
        both._ever = self._ever
        return both

    def offered(self) -> tuple[ToolDefinition, ...]:
        """The tools a model is told of, sorted by name; the same value until there are others."""
        if self._offered is None:
            self._offered = tuple(tool for tool in self.definitions() if tool.name not in self._held_back)
        return self._offered

    def offer(self, names: Iterable[str]) -> None:
        """Tell a model of these too, from its next request on."""
        self._held_back.difference_update(names)
        self._offered = None

    def names(self) -> frozenset[str]:
        """Every name and alias in use."""
        return frozenset(self._by_name)

    def ever_known(self) -> Set[str]:
        """Every name and alias there was, here or in a registry that was joined from this one."""
        return self._ever

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Every tool, sorted by name, so that what a provider is told stays the same from call to call."""
        return tuple(self._tools[name].definition for name in sorted(self._tools))

    def find(self, name: str) -> ToolDefinition | None:
        """Look a tool up by name or alias."""
        tool = self._by_name.get(name)
        return tool.definition if tool else None

    def propose(self, workspace: Workspace, call: ToolCall, after: Preview | None = None) -> Preview:
        """Show the change a call would make and name it, so that this one and no other can be approved.

        Of several calls that are asked about together, each is shown as it would be `after` the one before.
        """
        tool = self._by_name.get(call.name)
        if not isinstance(tool, Previewing):
            return Preview(outcome=after.outcome if after is not None else None)
        try:
            return tool.propose(workspace, call, after)
        except (AgiError, msgspec.MsgspecError, OSError, RecursionError):
            # Running it will say what is wrong. What is to come before it stays.
            return Preview(digest=NO_CHANGE, outcome=after.outcome if after is not None else None)

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Run a call; whatever goes wrong becomes a result that names the cause, whatever is long is limited."""
        tool = self._by_name.get(call.name)
        result = await self._answer(tool, context, call)
        return await limited(context, result, getattr(tool, "limits", LIMITS))

    async def _answer(self, tool: Tool | None, context: ToolContext, call: ToolCall) -> ToolResult:
        if tool is None:
            return failed(call, f"There is no tool named {call.name!r}. Tools: {', '.join(sorted(self._tools))}.")
        try:
            return await tool.invoke(context, call)
        except (msgspec.DecodeError, RecursionError) as error:
            return failed(call, _input_problem(tool.definition, call, error))
        except AgiError as error:
            return failed(call, f"{error.message} {error.hint}".strip())
        except OSError as error:
            return failed(call, f"{call.name} failed: {error.strerror or error}")


def _input_problem(definition: ToolDefinition, call: ToolCall, error: msgspec.DecodeError | RecursionError) -> str:
    """What is wrong with a call's input, so that the model can write it again."""
    from agi.explain import explain, where  # late: needed only for a mistake

    if isinstance(error, RecursionError):
        return f"The input of {call.name} is nested too deeply."
    if isinstance(error, msgspec.ValidationError):
        problem = explain(error, definition.input_schema, quote=True)
        return f"The input of {call.name} does not fit its schema: {problem}."
    return f"The input of {call.name} is not valid JSON: {where(bytes(call.input), error)}."
