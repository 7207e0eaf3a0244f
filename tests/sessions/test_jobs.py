"""Jobs of sessions: they outlive turns, never their process, and the log knows of each."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import processes_named

import agi
from agi.errors import Conflict, NotFound
from agi.jobs.survivors import MARKER
from agi.protocol import commands
from agi.protocol import events as ev
from agi.tools import shell

FREE = '{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}, "sandbox": {"mode": "off"}}'
"""Without a sandbox, where processes have the numbers they think they have."""
SOURCE = str(Path(agi.__file__).parent.parent)


@pytest.fixture
async def free(place, monkeypatch):
    """A place where every tool runs unasked, and jobs are not waited for."""
    monkeypatch.setattr(shell, "FIRST_S", 0.0)
    place.configure(FREE)
    return place


def stat_of(pid: int) -> list[str]:
    """What the system says of a process, behind its name."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def is_running(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be collected."""
    try:
        return stat_of(pid)[0] != "Z"
    except FileNotFoundError:
        return False


async def start(place, command: str = "echo $$ up; exec sleep 100") -> str:
    """Let the agent begin a job in a turn of its own; gives the job's id."""
    place.model.calls("shell", command=command, background=True).then_says("It runs.")
    await place.ask("start it")
    return json.loads(place.events("job_started")[-1].raw)["job_id"]


async def pid_of(place, job_id: str) -> int:
    """The process of a job that says its number first."""
    jobs = place.harness.jobs
    await place.until(lambda: " up\n" in jobs.output(place.session_id, job_id, 0).text)
    return int(jobs.output(place.session_id, job_id, 0).text.split()[0])


def data(event) -> dict:
    return json.loads(event.raw)


async def test_a_job_outlives_its_turn(free):
    """The session is over and lists what still runs; the next turn finds it."""
    job_id = await start(free)
    pid = await pid_of(free, job_id)

    session = free.harness.session(free.session_id)
    free.model.calls("job_read", id=job_id).then_says("Still up.")
    await free.ask("is it up?")

    assert (session.status, session.activity) == ("completed", "idle")
    assert [(job.id, job.status) for job in session.jobs] == [(job_id, "running")]
    assert is_running(pid)
    assert f"{pid} up\n[{job_id} runs in the background" in free.events("tool_call_completed")[-1].raw.decode().replace(
        "\\n", "\n"
    )
    folder = free.harness.session_folder(free.session_id)
    await free.harness.log.mirrored()
    assert json.loads((folder / "session.json").read_text())["jobs"][0]["id"] == job_id


async def test_a_job_is_written_down_before_it_runs_and_when_it_is_over(free):
    """The start belongs to the turn; the end comes when it comes."""
    job_id = await start(free, "sleep 0.2; exit 3")
    started, ended = await free.heard("job_started"), await free.heard("job_ended")

    call = data(free.events("tool_call_started")[0])["tool_call"]["id"]
    assert started.turn_id == free.events("turn_started")[0].turn_id
    assert (data(started)["tool_call_id"], data(started)["moved"]) == (call, False)
    assert started.seq < free.events("tool_call_completed")[0].seq
    assert {**data(ended), "duration_ms": 0} == {
        "job_id": job_id,
        "exit_code": 3,
        "signal": "",
        "reason": "",
        "output_bytes": 0,
        "duration_ms": 0,
    }
    assert data(ended)["duration_ms"] >= 200
    assert ended.turn_id is None
    assert free.harness.session(free.session_id).jobs == ()
    assert [(job.id, job.exit_code) for job in await free.harness.jobs.all(free.session_id)] == [(job_id, 3)]


async def test_a_stop_of_the_process_ends_its_jobs(free):
    """None is left, and each is closed in the log; what it said can still be read."""
    job_id = await start(free)
    pid = await pid_of(free, job_id)

    await free.reopen()

    assert not is_running(pid)
    assert data(free.events("job_ended")[0])["reason"] == "the daemon stopped"
    assert free.harness.session(free.session_id).jobs == ()
    said = free.harness.jobs.output(free.session_id, job_id, 0)
    assert (said.text, said.next, said.total) == (f"{pid} up\n", len(f"{pid} up\n"), len(f"{pid} up\n"))


async def test_in_a_sandbox_too_nothing_outlives_a_stop(place):
    """A job there is a small world of its own, and ends as one."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    mark = f"sleep 9{time.time_ns()}"
    await start(place, f"setsid {mark} & {mark} & echo ready up; wait")
    await place.until(lambda: len(processes_named(mark)) == 2)

    await place.reopen()

    await place.until(lambda: not processes_named(mark))
    assert data(place.events("job_ended")[0])["reason"] == "the daemon stopped"


CRASHING = """
import asyncio, os, signal, sys
from pathlib import Path
from agi.models.scripted import ScriptedModel
from agi.protocol import commands
from agi.sessions.harness import Harness, HarnessSettings

async def main():
    project, home = map(Path, sys.argv[1:3])
    model = ScriptedModel()
    settings = HarnessSettings(project=project, home_config=home, env={"PATH": "/usr/bin:/bin"}, trust_once=True)
    harness = Harness(settings, stand_in=model)
    model.calls("shell", command="setsid sleep 100 & echo $! $$; wait", background=True).then_says("It runs.")
    posted = await harness.post_message(sys.argv[3], commands.PostMessage(content="go"))
    await harness.wait_turn(sys.argv[3], posted.turn_id)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_killed_process_leaves_no_job_behind(free):
    """The next start ends what survived, wherever it went, and closes the job in the log."""
    await free.harness.close()
    arguments = (sys.executable, "-c", CRASHING, str(free.project), str(free.home), free.session_id)
    crashed = await asyncio.create_subprocess_exec(*arguments, env={**os.environ, "PYTHONPATH": SOURCE})
    assert await crashed.wait() == -signal.SIGKILL
    await free.open()
    (job,) = free.harness.session(free.session_id).jobs
    pids = [int(pid) for pid in free.harness.jobs.output(free.session_id, job.id, 0).text.split()]

    await free.harness.recover()

    assert len(pids) == 2
    await free.until(lambda: not any(map(is_running, pids)))
    (ended,) = free.events("job_ended")
    assert (data(ended)["job_id"], data(ended)["reason"]) == (job.id, "the daemon stopped")
    assert free.harness.session(free.session_id).jobs == ()


async def test_whoever_lists_jobs_sees_none_of_a_process_that_is_gone(free):
    """Also without a start of the daemon; a hostile name of a process is no process."""
    owners = ["999999999:1:00000000:abcd", "no process at all", free.harness.log.owner]
    started = [
        ev.JobStarted(job_id=f"job_{n}", command="x", cwd=".", tool_call_id="c", output="../../etc/passwd", owner=owner)
        for n, owner in enumerate(owners)
    ]
    await free.harness.log.append(free.session_id, [(None, one) for one in started])

    jobs = await free.harness.jobs.all(free.session_id)

    assert sorted((job.id, job.status, job.reason) for job in jobs) == [
        (f"job_{n}", "ended", "the daemon stopped") for n in range(3)
    ]
    assert free.harness.jobs.output(free.session_id, "job_0", 0).text == ""


async def test_a_job_of_another_living_process_is_left_to_it(free):
    """It is listed, and cannot be stopped from here."""
    other = await asyncio.create_subprocess_exec("sleep", "100")
    try:
        stat = stat_of(other.pid)
        boot = free.harness.log.owner.split(":")[2]
        owner = f"{other.pid}:{stat[19]}:{boot}:abcd"
        started = ev.JobStarted(job_id="job_1", command="x", cwd=".", tool_call_id="c", output="", owner=owner)
        await free.harness.log.append(free.session_id, [(None, started)])

        (job,) = await free.harness.jobs.all(free.session_id)
        with pytest.raises(Conflict) as refused:
            await free.harness.jobs.stop(free.session_id, "job_1")

        assert job.status == "running"
        assert (refused.value.code, str(other.pid) in refused.value.hint) == ("job_elsewhere", True)
        assert await free.harness.recover() >= 0
        assert free.events("job_ended") == []
    finally:
        other.kill()
        await other.wait()


async def test_deleting_a_session_ends_its_jobs(free):
    """And no late word brings back half of it."""
    job_id = await start(free)
    pid = await pid_of(free, job_id)

    await free.harness.delete_session(free.session_id)

    assert not is_running(pid)
    with pytest.raises(NotFound):
        free.harness.state(free.session_id)


async def test_a_session_deleted_by_another_process_ends_its_jobs_too(free):
    """Whoever holds them hears of it."""
    job_id = await start(free)
    pid = await pid_of(free, job_id)

    await free.harness.log.delete(free.session_id)

    await free.until(lambda: not is_running(pid))


async def test_a_one_shot_leaves_no_job(free):
    """Nobody can come back to it."""
    session = await free.harness.create_session(commands.CreateSession(), ephemeral=True)
    free.session_id = session.id
    await start(free)

    ended = await free.heard("job_ended")

    assert data(ended)["reason"] == "the one-shot was answered"


async def test_canceling_a_turn_leaves_jobs_running(free):
    """They are the session's, not the turn's."""
    job_id = await start(free)
    free.model.calls("shell", command="sleep 100")
    posted = await free.say("and wait")
    await free.heard("tool_call_started", 2)
    await free.cancel()
    await free.ended(posted)

    assert [job.id for job in free.harness.session(free.session_id).jobs] == [job_id]


async def test_a_running_command_is_moved_to_the_background(free):
    """The turn goes on with the job's id, and the command as if nothing had happened."""
    free.model.calls("shell", command="echo $$ up; exec sleep 100").then_says("It goes on.")
    posted = await free.say("build it")
    await free.heard("tool_output_delta")

    job = await free.harness.jobs.move(free.session_id, None)
    await free.ended(posted)
    pid = await pid_of(free, job.id)

    assert is_running(pid)
    assert f"moved to the background as {job.id}" in free.events("tool_call_completed")[0].raw.decode()
    assert data(free.events("job_started")[0])["moved"]
    assert free.answer() == "It goes on."
    stopped = await free.harness.jobs.stop(free.session_id, job.id)
    assert (stopped.status, stopped.reason) == ("ended", "stopped by the user")
    assert not is_running(pid)


@pytest.mark.parametrize("call_id", [None, "call_unknown"])
async def test_only_what_runs_can_be_moved(free, call_id):
    """Anything else is refused."""
    with pytest.raises(Conflict) as refused:
        await free.harness.jobs.move(free.session_id, call_id)

    assert refused.value.code == "nothing_to_move"


async def test_a_verification_cannot_be_moved(place):
    """Its verdict is waited for."""
    place.configure(
        '{"approval": {"requireForKinds": []}, "verify": {"commands": ["touch verifying; exec sleep 100"]}}'
    )
    place.model.calls("write_file", path="a.txt", content="x").then_says("Done.")
    posted = await place.say("write")
    await place.until((place.project / "verifying").exists)

    with pytest.raises(Conflict):
        await place.harness.jobs.move(place.session_id, None)
    await place.cancel()
    await place.ended(posted)


async def test_jobs_that_are_no_longer_needed_make_room(free):
    """Eight at a time, as many as one likes one after the other."""
    for _ in range(10):
        job_id = await start(free, "exec sleep 100")
        await free.harness.jobs.stop(free.session_id, job_id)

    assert len(free.events("job_ended")) == 10
    assert len(await free.harness.jobs.all(free.session_id)) == 8  # those remembered


async def test_a_command_carries_the_id_it_has_as_a_job(free):
    """By which its processes are found."""
    job_id = await start(free, f"echo ${MARKER}")
    await free.heard("job_ended")

    assert free.harness.jobs.output(free.session_id, job_id, 0).text == f"{job_id}\n"


async def test_what_a_job_said_is_found_after_a_restart(free):
    """However much it said before; secrets are not."""
    job_id = await start(free, "seq 1 60000; echo READY late; seq 1 30000")
    await free.heard("job_ended")
    await free.reopen()
    for wanted in ("READY late", "never said"):
        free.model.calls("job_read", id=job_id, wait_for=wanted, timeout_s=0).then_says("ok")
        await free.ask("is it up?")

    told = [data(event)["tool_result"] for event in free.events("tool_call_completed")[1:]]
    assert [one["result"]["found"] for one in told] == [True, False]
