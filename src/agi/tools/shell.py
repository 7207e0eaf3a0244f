"""shell: run a command in the workspace. May import: protocol, tools."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import UNSET, Meta, Struct

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.commands import run_for_tool
from agi.tools.schema import input_schema, read_input


class ShellInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which command, for how long, and where."""

    command: Annotated[str, Meta(min_length=1, max_length=100_000, description="The command, as typed in bash.")]
    timeout_s: Annotated[float, Meta(gt=0, le=3600, description="Seconds after which it is stopped.")] = 120
    cwd: Annotated[str, Meta(min_length=1, max_length=4096, description="Folder; the workspace root if absent.")] = "."
    background: Annotated[bool, Meta(description="Leave it running; not available yet.")] = False


class ShellTool:
    """Runs a command."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="shell",
            description="Run a bash command and wait for it. It gets no input and no terminal; what it leaves running "
            "in the background is ended with it.",
            input_schema=input_schema(ShellInput),
            kind=ToolKind.EXEC,
            aliases=("shell.run",),
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Run the command to its end."""
        asked = read_input(call, ShellInput)
        if asked.background:
            return failed(call, "Background commands are not available yet. Run it in the foreground with a timeout_s.")
        ran = await run_for_tool(context, asked.command, cwd=asked.cwd, timeout_s=asked.timeout_s)
        result = ran.result
        return ToolResult(
            id=call.id,
            ok=ran.ok,
            parts=(Text(text=ran.text),),
            error="" if ran.ok else ran.text.rpartition("\n")[2].strip("[]"),
            result={
                "exit_code": result.exit_code,
                "signal": result.signal,
                "timed_out": result.timed_out,
                "duration_ms": result.duration_ms,
            },
            artifact=ran.artifacts[0] if ran.artifacts else UNSET,
            artifacts=tuple(artifact.path for artifact in ran.artifacts),
            changed=True,
        )
