"""Jobs over HTTP: list, read, stop, move."""

from __future__ import annotations

import pytest

from agi.testing.box import eventually
from agi.tools import shell

JOB = "job_" + "0" * 32


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(shell, "FIRST_S", 0.0)


@pytest.fixture
async def session(daemon):
    """A session whose agent has a job that says `up` and stays; gives the session's path."""
    daemon.model.calls("shell", command="echo up; echo sk-ant-api03-0123456789; exec sleep 100", background=True)
    daemon.model.says("It runs.")
    turn = await daemon.ask("start it")
    await turn.approve()
    await turn.ended()
    return f"/v1/sessions/{turn.session_id}"


def heard(daemon, job: dict) -> int:
    """How much a job has said."""
    (session,) = [one.id for one in daemon.harness.sessions() if any(job["id"] == its.id for its in one.jobs)]
    return daemon.harness.jobs.output(session, job["id"], 0).total


async def output(daemon, path: str) -> dict:
    return (await daemon.get(path)).json()


async def test_a_job_is_listed_read_and_stopped(daemon, session):
    """Its whole life, as a client sees it."""
    (job,) = (await daemon.get(f"{session}/jobs")).json()["jobs"]
    path = f"{session}/jobs/{job['id']}"
    (shown,) = (await daemon.get(session)).json()["jobs"]

    await eventually(lambda: heard(daemon, job) > 10)
    said = await output(daemon, f"{path}/output?since=0")
    behind = await output(daemon, f"{path}/output?since={said['next']}")
    last = await output(daemon, f"{path}/output")
    stopped = await daemon.post(f"{path}/stop")
    again = await daemon.post(f"{path}/stop", {})

    assert (job["status"], job["command"].split(";")[0], job["cwd"]) == ("running", "echo up", ".")
    assert shown == job
    assert said["text"].startswith("up\n")
    assert (behind["text"], behind["start"]) == ("", said["next"])
    assert last["text"] == said["text"]
    assert (stopped.status, stopped.json()["status"], stopped.json()["reason"]) == (200, "ended", "stopped by the user")
    assert again.json() == stopped.json()
    assert [one["status"] for one in (await daemon.get(f"{session}/jobs")).json()["jobs"]] == ["ended"]
    assert (await daemon.get(session)).json()["jobs"] == []


async def test_clients_are_told_of_jobs(daemon, session):
    """In both vocabularies."""
    (job,) = (await daemon.get(f"{session}/jobs")).json()["jobs"]
    await daemon.post(f"{session}/jobs/{job['id']}/stop")

    events = (await daemon.get(f"{session}/events?follow=false")).body
    stream = daemon.stream(f"{session}/stream?after=0")
    words = []
    async for event in stream:
        words.append(event.event)
        if event.event == "job.ended":
            break
    await stream.aclose()

    assert events.count(b"event: job_started\n") == events.count(b"event: job_ended\n") == 1
    assert words.count("job.started") == 1


async def test_what_is_a_secret_is_not_shown(daemon, session):
    """Neither here nor in the log."""
    daemon.harness.redactor.learn("sk-ant-api03-0123456789")
    (job,) = (await daemon.get(f"{session}/jobs")).json()["jobs"]
    path = f"{session}/jobs/{job['id']}/output"
    await eventually(lambda: heard(daemon, job) > 10)
    said = await output(daemon, f"{path}?since=0")

    assert "0123456789" not in said["text"]


async def test_a_running_command_is_moved(daemon):
    """Its call is answered and the turn goes on."""
    daemon.model.calls("shell", command="echo up; exec sleep 100").then_says("It goes on.")
    turn = await daemon.ask("build it")
    await turn.approve()
    path = f"/v1/sessions/{turn.session_id}"
    await eventually(lambda: "tool_output_delta" in [e.type for e in daemon.harness.log.read(turn.session_id)])

    moved = await daemon.post(f"{path}/jobs", {})

    assert (moved.status, moved.json()["status"]) == (201, "running")
    assert await turn.answer() == "It goes on."
    assert (await daemon.get(path)).json()["jobs"] == [moved.json()]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", f"/jobs/{JOB}/output", None, 404, "job_not_found"),
        ("GET", "/jobs/nonsense/output", None, 404, "job_not_found"),
        ("POST", f"/jobs/{JOB}/stop", None, 404, "job_not_found"),
        ("POST", "/jobs", None, 409, "nothing_to_move"),
        ("POST", "/jobs", {"tool_call_id": "call_1"}, 409, "nothing_to_move"),
        ("POST", "/jobs", {"id": "call_1"}, 422, "invalid"),
        ("GET", f"/jobs/{JOB}/output?since=-1", None, 422, "invalid"),
        ("GET", f"/jobs/{JOB}/output?since=x", None, 422, "invalid"),
        ("POST", f"/jobs/{JOB}/stop", {"now": True}, 422, "invalid"),
    ],
)
async def test_what_cannot_be_is_refused(daemon, session, method, path, body, status, code):
    """And changes nothing."""
    reply = await daemon.call(method, session + path, body)

    assert (reply.status, reply.code) == (status, code)
    assert len((await daemon.get(session)).json()["jobs"]) == 1


@pytest.mark.parametrize("path", ["/jobs", f"/jobs/{JOB}/output"])
async def test_a_session_that_is_not_there_has_none(daemon, path):
    """It is told as such."""
    assert (await daemon.get(f"/v1/sessions/sess_{'0' * 32}{path}")).code == "session_not_found"
