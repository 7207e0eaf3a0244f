"""job_list: what runs in the background."""

import pytest

from agi.tools import shell
from agi.tools.job_list import JobListTool


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(shell, "FIRST_S", 0.0)


async def test_those_that_run_come_first_then_those_that_ended(busy):
    """With what each is, and how it stands."""
    ended = (await busy.use("shell", command="exit 3", background=True)).result["job_id"]
    await busy.use("job_read", id=ended, timeout_s=20)
    running = (await busy.use("shell", command="sleep 100\n# a comment", background=True)).result["job_id"]

    result = await busy.use("job_list")

    first, second = result.parts[0].text.split("\n")
    assert first.startswith(f"{running} runs in the background, started 2")
    assert first.endswith(": sleep 100 …")
    assert second.startswith(f"{ended} ended with exit code 3, started 2")
    assert [job["status"] for job in result.result["jobs"]] == ["running", "ended"]
    assert result.result["jobs"][1]["exit_code"] == 3


async def test_nothing_is_said_to_be_nothing(busy):
    """An empty answer would be puzzling."""
    assert (await busy.text("job_list")) == "Nothing runs in the background, and nothing did."


async def test_without_a_session_there_are_no_jobs(desk):
    """It is said plainly."""
    assert "no background jobs" in (await desk.use("job_list")).error


def test_it_may_be_asked_again_and_again():
    """The loop guard goes by this."""
    assert JobListTool().definition.polling
