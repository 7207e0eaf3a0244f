"""job_stop: end a job. May import: protocol, tools."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.job_words import NO_JOBS, standing
from agi.tools.schema import input_schema, read_input


class JobStopInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which job."""

    id: Annotated[str, Meta(min_length=1, max_length=100, description="The job's id, job_….")]


class JobStopTool:
    """Ends a job."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="job_stop",
            description="End a background job of this session, with all its processes.",
            input_schema=input_schema(JobStopInput),
            # It only takes back what an approved call began, and doing it twice does no harm: nobody need be asked.
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """End it; one that is over stays as it is."""
        asked = read_input(call, JobStopInput)
        if context.jobs is None:
            return failed(call, NO_JOBS)
        job = await context.jobs.stop(asked.id)
        facts: Json = {"status": job.status, "exit_code": job.exit_code, "signal": job.signal, "reason": job.reason}
        return ToolResult(id=call.id, ok=True, parts=(Text(text=f"[{job.id} {standing(job)}]"),), result=facts)
