"""How jobs are told to a model. Pure. May import: protocol."""

from __future__ import annotations

from agi.protocol.jobs import Job, JobOutput

NO_JOBS = "There are no background jobs here."


def shown_output(said: JobOutput) -> str:
    """What was said, ended by a newline, with a note where something before it is gone."""
    gone = f"[{said.left_out:,} bytes before this are no longer kept]\n" if said.left_out else ""
    return gone + said.text + ("\n" if said.text and not said.text.endswith("\n") else "")


def status(job: Job, said: JobOutput, *, is_asking: bool = False) -> str:
    """The last line: how it stands, and how to read on."""
    more = said.total - said.next
    rest = f"; {more:,} bytes more" if more else ""
    where = f"{rest}; read on with since={said.next}" if more or job.status == "running" else ""
    if is_asking:
        where = "; it seems to wait for input, which it cannot get" + where
    return f"[{job.id} {standing(job)}{where}]"


def standing(job: Job) -> str:
    """How it stands, in a few words."""
    if job.status == "running":
        return "runs in the background"
    if job.reason:
        return f"was ended: {job.reason}"
    return f"ended by {job.signal}" if job.signal else f"ended with exit code {job.exit_code}"
