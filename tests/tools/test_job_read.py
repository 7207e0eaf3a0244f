"""job_read: what a job has said, now or later."""

import os
import time

import pytest

from agi.jobs import prompts
from agi.tools import shell
from agi.tools.job_read import SHOWN, JobReadTool


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(shell, "FIRST_S", 0.0)


@pytest.fixture
def start(busy):
    """Begin a job; gives its id."""

    async def begin(command):
        return (await busy.use("shell", command=command, background=True)).result["job_id"]

    return begin


async def test_reading_goes_on_from_an_offset(busy, start):
    """Each answer says where the next one begins."""
    os.mkfifo(busy.root / "gate")
    job_id = await start("echo one; cat gate; echo two; exec sleep 100")
    first = await busy.use("job_read", id=job_id, wait_for="one")
    nothing = await busy.use("job_read", id=job_id, since=first.result["next"])
    (busy.root / "gate").write_text("")
    second = await busy.use("job_read", id=job_id, since=first.result["next"], wait_for="two")

    assert first.parts[0].text == f"one\n[{job_id} runs in the background; read on with since=4]"
    assert nothing.parts[0].text == f"[{job_id} runs in the background; read on with since=4]"
    assert second.parts[0].text == f"two\n[{job_id} runs in the background; read on with since=8]"
    assert second.result == {
        "status": "running",
        "exit_code": None,
        "reason": "",
        "start": 4,
        "next": 8,
        "total": 8,
        "found": True,
    }


async def test_waiting_ends_with_the_pattern(busy, start):
    """Plain, or as an expression."""
    job_id = await start("sleep 0.1; echo 'listening on 127.0.0.1:8080'; exec sleep 100")

    plain = await busy.use("job_read", id=job_id, wait_for="listening on", timeout_s=20)
    expression = await busy.use("job_read", id=job_id, wait_for=r"on [\d.]+:\d+$", regex=True, timeout_s=20)

    assert (plain.ok, expression.ok) == (True, True)
    assert "127.0.0.1:8080" in plain.parts[0].text


async def test_waiting_in_vain_is_said(busy, start):
    """It is no success; what was said instead is shown."""
    job_id = await start("echo something; exec sleep 100")
    await busy.use("job_read", id=job_id, wait_for="something")

    result = await busy.use("job_read", id=job_id, wait_for="else", timeout_s=0.05)

    assert not result.ok
    assert result.parts[0].text.startswith("something\n[it has not said 'else']\n")
    assert result.result["found"] is False


async def test_waiting_ends_with_the_job(busy, start):
    """It will not say anything more."""
    job_id = await start("echo broken; exit 3")
    began = time.monotonic()

    result = await busy.use("job_read", id=job_id, wait_for="ready", timeout_s=60)

    assert time.monotonic() - began < 20
    assert result.parts[0].text == f"broken\n[it has not said 'ready']\n[{job_id} ended with exit code 3]"


async def test_the_end_can_be_waited_for(busy, start):
    """For so long and no longer."""
    quick, slow = await start("sleep 0.05; echo done"), await start("exec sleep 100")

    over = await busy.use("job_read", id=quick, timeout_s=20)
    late = await busy.use("job_read", id=slow, timeout_s=0.05)

    assert (over.result["status"], over.result["exit_code"]) == ("ended", 0)
    assert late.result["status"] == "running"


async def test_a_long_output_is_shown_by_its_end_and_read_from_any_offset(busy, start):
    """All of it is kept in a file, and said how to get on."""
    job_id = await start("seq 1 200000")
    await busy.use("job_read", id=job_id, timeout_s=30)

    last = await busy.use("job_read", id=job_id)
    first = await busy.use("job_read", id=job_id, since=0)
    second = await busy.use("job_read", id=job_id, since=first.result["next"])

    assert last.parts[0].text.endswith(f"\n199999\n200000\n[{job_id} ended with exit code 0]")
    assert len(last.parts[0].text) <= SHOWN + 200
    assert first.parts[0].text.startswith("1\n2\n3\n")
    assert f"bytes more; read on with since={first.result['next']}]" in first.parts[0].text
    shown = "".join(one.parts[0].text.rpartition("[")[0] for one in (first, second))
    assert len(shown) > 1.9 * SHOWN
    assert "".join(f"{n}\n" for n in range(1, 20_000)).startswith(shown)


async def test_a_job_that_seems_to_wait_for_input_is_told_as_such(busy, start, monkeypatch):
    """It is not ended for it: nobody waits."""
    monkeypatch.setattr(prompts, "SILENT_S", 0.05)
    job_id = await start("printf 'Use port 8081 instead? (Y/n) '; exec sleep 100")
    await busy.use("job_read", id=job_id, wait_for="instead?")

    text = (await busy.use("job_read", id=job_id, timeout_s=0.3)).parts[0].text

    assert "it seems to wait for input, which it cannot get" in text
    assert "runs in the background" in text


async def test_a_job_that_is_not_there_is_said(busy):
    """With where to look."""
    result = await busy.use("job_read", id="job_" + "0" * 32)

    assert "There is no job" in result.error
    assert "job_list" in result.error


@pytest.mark.parametrize(
    "given", [{"since": -1}, {"timeout_s": 601}, {"wait_for": ""}, {"wait_for": "x" * 501}, {"lines": 3}]
)
async def test_limits_are_kept(busy, start, given):
    """Nothing waits for ever."""
    job_id = await start("true")

    assert "schema" in (await busy.use("job_read", id=job_id, **given)).error


async def test_an_expression_that_cannot_be_is_refused(busy, start):
    """At once."""
    job_id = await start("true")

    assert "regular expression" in (await busy.use("job_read", id=job_id, wait_for="(?=x)", regex=True)).error


async def test_without_a_session_there_are_no_jobs(desk):
    """It is said plainly."""
    assert "no background jobs" in (await desk.use("job_read", id="job_1")).error


def test_it_may_be_asked_again_and_again():
    """The loop guard goes by this."""
    assert JobReadTool().definition.polling
