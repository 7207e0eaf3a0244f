"""verify: run the project's verification commands. May import: protocol, policy, tools.

Which commands these are is not asked for. What they prove is put into the log by the loop, as for any command.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from agi.protocol.parts import Json, Text
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
            description="Run the project's verification commands, one after the other, and tell what each found.",
            input_schema=input_schema(VerifyInput),
            kind=ToolKind.EXEC,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Run all commands; what one finds does not keep the next from running."""
        read_input(call, VerifyInput)
        if not context.verify_commands:
            return failed(call, "No verification commands are configured (verify.commands), and none were found.")
        ran = [
            (command, await run_for_tool(context, command, timeout_s=TIMEOUT_S)) for command in context.verify_commands
        ]
        return _answer(call, ran)


def _answer(call: ToolCall, ran: list[tuple[str, Ran]]) -> ToolResult:
    failures = [command for command, one in ran if not one.ok]
    return ToolResult(
        id=call.id,
        ok=not failures,
        parts=(Text(text="\n".join(f"$ {command}\n{one.text}" for command, one in ran)),),
        error=f"verification failed: {', '.join(failures)}" if failures else "",
        result={
            "status": "failed" if failures else "passed",
            "commands": [_found(command, one) for command, one in ran],
        },
        artifacts=tuple(artifact.path for _, one in ran for artifact in one.artifacts),
    )


def _found(command: str, one: Ran) -> Json:
    """How a command ended, and the tests that failed, where its output tells."""
    from agi.policy.failing import failing_tests  # late: only a failure needs it, and its patterns take time to make

    how: Json = {"command": command, "exit_code": one.result.exit_code, "timed_out": one.result.timed_out}
    return how if one.ok else {**how, "failing": failing_tests(one.text)}
