"""job_read: what a job has said, now or once something has happened. May import: jobs, protocol, tools."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.jobs.patterns import LONGEST, Expression, Literal, Pattern
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.fitting import Limits
from agi.tools.job_words import NO_JOBS, shown_output, status
from agi.tools.schema import input_schema, read_input

SHOWN = 32 * 1024
WAIT_S = 30.0


class JobReadInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which job, from where, and what to wait for."""

    id: Annotated[str, Meta(min_length=1, max_length=100, description="The job's id, job_….")]
    since: (
        Annotated[int, Meta(ge=0, le=1 << 50, description="Offset to read from, as an earlier answer gave it.")] | None
    ) = None
    wait_for: (
        Annotated[str, Meta(min_length=1, max_length=LONGEST, description="Wait until it has said this, or ends.")]
        | None
    ) = None
    regex: Annotated[bool, Meta(description="wait_for is a regular expression, without look-around.")] = False
    timeout_s: (
        Annotated[
            float, Meta(ge=0, le=600, description="Seconds to wait for wait_for (30), or without it for the end (0).")
        ]
        | None
    ) = None


class JobReadTool:
    """Reads a job's output."""

    limits = Limits(lines=20_000, size=SHOWN + 2048, line=SHOWN + 200)
    """What is left out is read on with `since`."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="job_read",
            description="Show what a background job has said: since an offset, or its last words. Can wait for a text "
            "in its output, or for its end, instead of asking again and again.",
            input_schema=input_schema(JobReadInput),
            kind=ToolKind.READ,
            polling=True,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Wait, if that is asked for, then read."""
        asked = read_input(call, JobReadInput)
        jobs = context.jobs
        if jobs is None:
            return failed(call, NO_JOBS)
        await jobs.find(asked.id)
        found: bool | None = None
        if asked.wait_for is not None:
            pattern: Pattern = Expression(asked.wait_for) if asked.regex else Literal(asked.wait_for)
            seconds = WAIT_S if asked.timeout_s is None else asked.timeout_s
            found = await jobs.wait(asked.id, pattern, asked.since or 0, seconds)
        elif asked.timeout_s:
            await jobs.wait(asked.id, None, 0, asked.timeout_s)
        job = await jobs.find(asked.id)
        said = jobs.read(asked.id, asked.since, SHOWN)
        missed = f"[it has not said {asked.wait_for!r}]\n" if found is False else ""
        text = shown_output(said) + missed + status(job, said, is_asking=jobs.is_asking(asked.id))
        facts: Json = {
            "status": job.status,
            "exit_code": job.exit_code,
            "reason": job.reason,
            "start": said.start,
            "next": said.next,
            "total": said.total,
        }
        if found is not None:
            facts["found"] = found
        return ToolResult(id=call.id, ok=found is not False, parts=(Text(text=text),), result=facts)
