"""shell: commands in the workspace."""

import asyncio
import os
import time

import pytest
from msgspec import Raw, structs

from agi.protocol.tools import ToolCall
from agi.tools.commands import STREAM_LIMIT


async def test_a_command_runs_in_the_workspace(desk):
    """Its output, its exit code, and what it said as it said it."""
    result = await desk.use("shell", command="pwd; echo oops >&2")

    assert result.ok
    assert result.parts[0].text == f"{desk.root}\n[stderr]\noops\n[exit code 0]"
    assert (result.result["exit_code"], result.result["timed_out"]) == (0, False)
    assert result.changed
    assert sorted(desk.heard) == [("stderr", "oops\n"), ("stdout", f"{desk.root}\n")]


async def test_a_failing_command_is_a_failed_result(desk):
    """The exit code is in the text and in the result."""
    result = await desk.use("shell.run", command="echo no; exit 7")

    assert (result.ok, result.error, result.result["exit_code"]) == (False, "exit code 7", 7)
    assert result.parts[0].text == "no\n[exit code 7]"


async def test_a_command_may_run_in_a_folder_below(desk):
    """But not beside the workspace, nor through a link that leads out."""
    (desk.root / "sub").mkdir()
    (desk.root / "out").symlink_to("/tmp")

    assert (await desk.text("shell", command="pwd", cwd="sub")).startswith(f"{desk.root}/sub\n")
    for cwd in ("..", "out", "/", "gone"):
        assert not (await desk.use("shell", command="touch canary", cwd=cwd)).ok
    assert desk.tree() == {}


async def test_a_command_that_takes_too_long_is_stopped(desk):
    """It is told why, and what it may have been waiting for."""
    result = await desk.use("shell", command="echo begun; sleep 100", timeout_s=0.2)

    assert not result.ok
    assert result.result["timed_out"]
    assert "begun\n[stopped after 0.2 s" in result.parts[0].text
    assert "no input" in result.error


async def test_a_server_left_in_the_background_is_ended_and_said(desk):
    """Nothing runs on unseen."""
    started = time.monotonic()

    text = await desk.text("shell", command="sleep 100 & echo up")

    assert text == "up\n[exit code 0; processes left in the background were ended]"
    assert time.monotonic() - started < 3


async def test_background_is_refused_clearly(desk):
    """Rather than run in the foreground by surprise."""
    result = await desk.use("shell", command="touch canary", background=True)

    assert "not available yet" in result.error
    assert desk.tree() == {}


@pytest.mark.parametrize("given", [{"timeout_s": 0}, {"timeout_s": 3601}, {"timeout_s": -1}, {"command": ""}])
async def test_limits_are_kept(desk, given):
    """A time-out is always armed, and has an end."""
    assert "schema" in (await desk.use("shell", **{"command": "true", **given})).error


async def test_a_long_output_is_shown_by_its_ends_and_kept_whole(desk):
    """The model can read all of it by the ref it is told."""
    result = await desk.use("shell", command="seq 1 100000")
    text = result.parts[0].text
    (ref,) = result.artifacts

    assert text.startswith("1\n2\n")
    assert text.endswith("99999\n100000\n[exit code 0]")
    assert f"The whole output can be read as {ref}." in text
    assert len(text) < 34_000
    assert (result.artifact.kind, result.artifact.path, result.artifact.size) == ("file", ref, 588_895)
    assert await desk.text("read_file", path=ref, start_line=50_000, end_line=50_000) == "50000\n"


async def test_a_flood_is_not_all_told_as_it_comes(desk):
    """The log keeps what is streamed, so that is bounded."""
    await desk.use("shell", command="head -c 3000000 /dev/zero | tr '\\0' x")

    told = sum(len(text) for _, text in desk.heard)
    assert STREAM_LIMIT <= told < STREAM_LIMIT + 100
    assert desk.heard[-1][1] == "\n[what follows is not shown as it comes]\n"


async def test_a_command_sees_no_secret(desk, monkeypatch):
    """Keys of the daemon stay with the daemon."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted")

    assert "sk-planted" not in await desk.text("shell", command="env; cat /proc/self/environ")


async def test_a_command_with_a_nul_is_refused(desk):
    """It could not be run as written."""
    assert "NUL" in (await desk.use("shell", command="a\0b")).error


async def test_canceling_stops_the_command(desk):
    """The task ends canceled, the process with it."""
    began = asyncio.Event()
    context = structs.replace(desk.context, output=lambda _, text: (desk.heard.append(text), began.set()))
    call = ToolCall("c", "shell", Raw(b'{"command": "echo $$; exec sleep 100"}'))
    task = asyncio.create_task(desk.registry.invoke(context, call))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    with pytest.raises(ProcessLookupError):
        os.kill(int(desk.heard[0]), 0)
