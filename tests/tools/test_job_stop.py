"""job_stop: end a job."""

import pytest

from agi.tools import shell


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(shell, "FIRST_S", 0.0)


def is_running(pid):
    """Whether a process is there and not merely waiting to be collected."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_job_is_ended_with_its_children(busy):
    """And that is written down before the answer."""
    command = "sleep 100 & echo $! $$ pids; wait"
    job_id = (await busy.use("shell", command=command, background=True)).result["job_id"]
    said = (await busy.use("job_read", id=job_id, wait_for="pids")).parts[0].text

    result = await busy.use("job_stop", id=job_id)

    assert result.ok
    assert result.parts[0].text == f"[{job_id} was ended: stopped by the agent]"
    ended = busy.job_events()[-1]
    assert (ended.job_id, ended.reason, ended.exit_code) == (job_id, "stopped by the agent", None)
    assert ended.output_bytes == len(said.split("\n")[0]) + 1
    assert not any(map(is_running, said.split()[:2]))


async def test_stopping_what_is_over_changes_nothing(busy):
    """Twice, or too late, is no failure."""
    job_id = (await busy.use("shell", command="exit 3", background=True)).result["job_id"]
    await busy.use("job_read", id=job_id, timeout_s=20)

    again = [await busy.use("job_stop", id=job_id) for _ in range(2)]

    assert [one.parts[0].text for one in again] == [f"[{job_id} ended with exit code 3]"] * 2
    assert len(busy.job_events()) == 2


async def test_a_job_that_is_not_there_is_said(busy):
    """It is none of this session's."""
    assert "There is no job" in (await busy.use("job_stop", id="job_1")).error


async def test_without_a_session_there_are_no_jobs(desk):
    """It is said plainly."""
    assert "no background jobs" in (await desk.use("job_stop", id="job_1")).error
