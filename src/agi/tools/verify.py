"""verify: run the project's verification commands. May import: protocol, tools."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.commands import Ran, run_for_tool
from agi.tools.schema import input_schema, read_input

TIMEOUT_S = 1800.0


class VerifyInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to choose: which commands verify a project is configured, not asked for."""


class VerifyTool:
    """Checks the work."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="verify",
            description="Run the project's configured verification commands in order, up to the first that fails.",
            input_schema=input_schema(VerifyInput),
            kind=ToolKind.EXEC,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Run the commands; the first failure ends it."""
        read_input(call, VerifyInput)
        if not context.verify_commands:
            return failed(call, "No verification commands are configured (verify.commands).")
        ran: list[tuple[str, Ran]] = []
        for command in context.verify_commands:
            ran.append((command, await run_for_tool(context, command, timeout_s=TIMEOUT_S)))
            if not ran[-1][1].ok:
                break
        return _answer(call, ran)


def _answer(call: ToolCall, ran: list[tuple[str, Ran]]) -> ToolResult:
    passed = ran[-1][1].ok
    return ToolResult(
        id=call.id,
        ok=passed,
        parts=(Text(text="\n".join(f"$ {command}\n{one.text}" for command, one in ran)),),
        error="" if passed else f"verification failed: {ran[-1][0]}",
        result={
            "status": "passed" if passed else "failed",
            "commands": [{"command": command, "exit_code": one.result.exit_code} for command, one in ran],
        },
        artifacts=tuple(artifact.path for _, one in ran for artifact in one.artifacts),
    )
