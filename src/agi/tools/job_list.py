"""job_list: what runs in the background. May import: protocol, tools."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct, to_builtins

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.job_words import NO_JOBS, standing
from agi.tools.schema import input_schema, read_input

_SHOWN = ("id", "status", "command", "cwd", "started_at", "ended_at", "exit_code", "signal", "reason", "output")


class JobListInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to choose."""


class JobListTool:
    """Lists the session's jobs."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="job_list",
            description="List the commands that run in the background in this session, and those that ended last.",
            input_schema=input_schema(JobListInput),
            kind=ToolKind.READ,
            polling=True,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """List them."""
        read_input(call, JobListInput)
        if context.jobs is None:
            return failed(call, NO_JOBS)
        jobs = await context.jobs.all()
        lines = [f"{job.id} {standing(job)}, started {job.started_at}: {_line(job.command)}" for job in jobs]
        facts = [{name: to_builtins(getattr(job, name)) for name in _SHOWN} for job in jobs]
        text = "\n".join(lines) or "Nothing runs in the background, and nothing did."
        return ToolResult(id=call.id, ok=True, parts=(Text(text=text),), result={"jobs": facts})


def _line(command: str) -> str:
    first, newline, _ = command.strip().partition("\n")
    return first[:200] + (" …" if newline or len(first) > 200 else "")
