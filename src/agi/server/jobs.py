"""`/v1/sessions/{session_id}/jobs`: what runs in the background: list, read, stop, and move there.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.protocol.commands import Command, MoveToBackground
from agi.protocol.jobs import Job, JobOutput
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class Jobs(Struct, frozen=True):
    """Those that run, then those that ended, the last first."""

    jobs: list[Job]


class OutputQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where to read."""

    since: (
        Annotated[int, Meta(ge=0, le=1 << 50, description="The `next` of an earlier answer; absent: the last words.")]
        | UnsetType
    ) = UNSET


class StopJob(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing needs to be said."""


async def list_jobs(request: Request[None, None]) -> ASGIApp:
    """What runs in the background, and what did."""
    return Json(Jobs(await request.harness.jobs.all(request.session_id)))


async def move(request: Request[MoveToBackground, None]) -> ASGIApp:
    """Let a running command go on as a job; its call is answered with the job's id."""
    job = await request.wait(request.harness.jobs.move(request.session_id, request.body.tool_call_id))
    return Json(job, 201)


async def output(request: Request[None, OutputQuery]) -> ASGIApp:
    """A piece of what a job said."""
    since = None if request.query.since is UNSET else request.query.since
    return Json(request.harness.jobs.output(request.session_id, request.path["job_id"], since))


async def stop(request: Request[StopJob, None]) -> ASGIApp:
    """End a job."""
    return Json(await request.harness.jobs.stop(request.session_id, request.path["job_id"]))


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/jobs",
        handler=list_jobs,
        name="listJobs",
        summary="List what runs in the background, and what ended there last.",
        answers={200: Jobs},
        errors=(404,),
    ),
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/jobs",
        handler=move,
        name="moveToBackground",
        summary="Let the command of a running call go on as a job.",
        body=MoveToBackground,
        body_is_optional=True,
        answers={201: Job},
        errors=(404, 409, 422, 503),
        example={"tool_call_id": "call_019a00000000700080000000000000bb"},
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/jobs/{job_id}/output",
        handler=output,
        name="getJobOutput",
        summary="What a job said: at most 64 KiB since an offset, or its last words.",
        query=OutputQuery,
        answers={200: JobOutput},
        errors=(404, 422),
    ),
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/jobs/{job_id}/stop",
        handler=stop,
        name="stopJob",
        summary="End a job with all its processes; one that is over stays as it is.",
        body=StopJob,
        body_is_optional=True,
        answers={200: Job},
        errors=(404, 409, 422),
        example={},
    ),
)
