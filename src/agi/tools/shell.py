"""shell: run a command in the workspace, or start it there as a job.

May import: errors, jobs, protocol, tools.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import UNSET, Meta, Struct

from agi.errors import AgiError
from agi.jobs.base import SessionJobs, Wanted
from agi.jobs.running import LONGEST_S, Running
from agi.protocol.ids import JOB, new_id
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.commands import JobFile, Ran, launcher, run_for_tool
from agi.tools.fitting import Limits
from agi.tools.job_words import shown_output, status
from agi.tools.schema import input_schema, read_input

TIMEOUT_S = 120.0
FIRST_S = 1.0
"""How long a job's first words, or its early end, are waited for."""


class ShellInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which command, for how long, where, and whether to wait for it."""

    command: Annotated[str, Meta(min_length=1, max_length=100_000, description="The command, as typed in bash.")]
    timeout_s: (
        Annotated[float, Meta(gt=0, le=3600, description="Seconds after which it is stopped (120; a job: never).")]
        | None
    ) = None
    cwd: Annotated[str, Meta(min_length=1, max_length=4096, description="Folder; the workspace root if absent.")] = "."
    background: Annotated[
        bool, Meta(description="Start it as a job and go on at once; for servers and long work. See job_read.")
    ] = False


class ShellTool:
    """Runs a command."""

    limits = Limits(lines=2_100, size=68 * 1024, line=4_000)
    """Each channel is limited already."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="shell",
            description="Run a bash command and wait for it. It gets no input and no terminal; what it leaves running "
            "by itself is ended with it. What is to run on, such as a server, needs background: true.",
            input_schema=input_schema(ShellInput),
            kind=ToolKind.EXEC,
            aliases=("shell.run",),
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Run the command to its end, or start it."""
        asked = read_input(call, ShellInput)
        if asked.background:
            if context.jobs is None:
                return failed(call, "There are no background jobs here. Run it in the foreground with a timeout_s.")
            return await _start(context, context.jobs, call, asked)
        timeout_s = asked.timeout_s or TIMEOUT_S
        ran = await run_for_tool(context, asked.command, cwd=asked.cwd, timeout_s=timeout_s, call_id=call.id)
        return ToolResult(
            id=call.id,
            ok=ran.ok,
            parts=(Text(text=ran.text),),
            error="" if ran.ok else ran.text.rpartition("\n")[2].strip("[]"),
            result=_facts(ran),
            artifact=ran.artifacts[0] if ran.artifacts else UNSET,
            artifacts=tuple(artifact.path for artifact in ran.artifacts),
            changed=True,
        )


def _facts(ran: Ran) -> Json:
    facts: Json = {
        "exit_code": ran.result.exit_code,
        "signal": ran.result.signal,
        "timed_out": ran.result.timed_out,
        "duration_ms": ran.result.duration_ms,
    }
    if ran.question:
        facts["waited_for_input"] = True
    if ran.job is not None:
        facts["job_id"] = ran.job.id
    return facts


async def _start(context: ToolContext, jobs: SessionJobs, call: ToolCall, asked: ShellInput) -> ToolResult:
    with context.workspace.pinned(asked.cwd):
        pass  # a folder that is not there, or not ours, is told before anything is begun
    job_id, file = new_id(JOB), JobFile(context)
    wanted = Wanted(id=job_id, command=asked.command, cwd=asked.cwd, tool_call_id=call.id, output=file.ref)
    launch = launcher(context, wanted, asked.timeout_s or LONGEST_S)
    try:
        await jobs.start(wanted, lambda: file.keep(Running(launch)))
    except AgiError:
        file.drop()
        raise
    await jobs.wait(job_id, None, 0, FIRST_S)
    job = await jobs.find(job_id)
    said = jobs.read(job_id, 0, 8 * 1024)
    ok = job.status == "running" or job.exit_code == 0
    text = shown_output(said) + status(job, said)
    return ToolResult(
        id=call.id,
        ok=ok,
        parts=(Text(text=text),),
        error="" if ok else text.rpartition("\n")[2].strip("[]"),
        result={"job_id": job.id, "status": job.status, "exit_code": job.exit_code, "next": said.next},
        changed=True,
    )
