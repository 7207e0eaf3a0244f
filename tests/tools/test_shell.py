"""shell: commands in the workspace."""

import asyncio
import os
import re
import time

import pytest
from msgspec import Raw, structs

from agi.errors import Conflict
from agi.jobs import prompts
from agi.protocol.tools import ToolCall
from agi.tools import commands, shell
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


@pytest.mark.threat("T13")
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


async def test_without_a_session_there_is_no_background(desk):
    """It is refused rather than run in the foreground by surprise."""
    result = await desk.use("shell", command="touch canary", background=True)

    assert "no background jobs here" in result.error
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
    assert re.search(
        rf"\n\[[\d,]+ lines, [\d,]+ bytes left out; read them with read_file on {ref} from start_line=501\]\n", text
    )
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


@pytest.fixture
def impatient(monkeypatch):
    """A question counts after a moment."""
    monkeypatch.setattr(prompts, "SILENT_S", 0.2)
    monkeypatch.setattr(commands, "LOOK_S", 0.05)


async def test_a_command_that_waits_for_an_answer_is_stopped_and_told(desk, impatient):
    """Long before its time is up, and with what it asked."""
    result = await desk.use("shell", command="printf 'Overwrite a.txt? [y/N] '; sleep 100", timeout_s=60)

    assert not result.ok
    assert result.result["waited_for_input"]
    assert "seems to wait for input ('Overwrite a.txt? [y/N]')" in result.error
    assert result.parts[0].text.startswith("Overwrite a.txt? [y/N] \n[stopped after")
    assert result.result["duration_ms"] < 20_000


async def test_a_command_that_asks_for_ever_is_stopped_too(desk, impatient):
    """It gets no answer, and asks again, and again."""
    command = "while [ \"$answer\" != y ]; do printf 'Continue (y/n)? '; read answer; done"

    result = await desk.use("shell", command=command, timeout_s=60)

    assert "seems to wait for input" in result.error


async def test_a_password_asked_for_at_a_terminal_of_its_own_is_noticed(desk, impatient):
    """Programs that make themselves a terminal wait at it."""
    ask = "import os, pty; pty.spawn(['bash', '-c', 'read -s -p Password: x; echo got $x'], lambda fd: os.read(fd, 99))"
    hold = "import time; time.sleep(100)"

    result = await desk.use("shell", command=f'python3 -c "{hold}" | python3 -c "{ask}"', timeout_s=60)

    assert "seems to wait for input ('Password:')" in result.error


@pytest.mark.parametrize(
    "said", ["Compiling: ", "Downloading 4/9 ", "checking whether cc works... ", "Running tests: ", ""]
)
async def test_one_that_is_only_silent_is_left_alone(desk, impatient, said):
    """Half a line is no question."""
    result = await desk.use("shell", command=f"printf '{said}'; sleep 0.6; echo done", timeout_s=60)

    assert result.ok
    assert result.parts[0].text == f"{said}done\n[exit code 0]"


async def test_a_question_that_is_answered_is_none(desk, impatient):
    """What matters is where it stands."""
    assert (await desk.use("shell", command="printf 'Continue? [y/N] '; echo y; sleep 0.6")).ok


async def test_one_that_fails_for_want_of_input_says_so(desk):
    """There is no terminal to ask at."""
    tty = await desk.use("shell", command="head -c1 </dev/tty")
    python = await desk.use("shell", command="python3 -c 'input()'")

    assert "it seems to have wanted input, and a command gets none" in tty.error
    assert "it seems to have wanted input" in python.error


@pytest.mark.parametrize(
    "command", ["cat", "read x", "cat -", "bash -i", "python3 -i", "git commit", "less /etc/passwd", "vi"]
)
async def test_a_command_that_would_like_input_is_over_soon(desk, impatient, command):
    """Its input is at its end, it has no terminal, and pagers and editors are none."""
    result = await desk.use("shell", command=command, timeout_s=20)

    assert not result.result["timed_out"]


async def test_a_command_is_told_when_its_last_words_were_a_question(desk):
    """Time was up before that was clear."""
    assert (
        "its last words look like a question"
        in (await desk.use("shell", command="printf 'Continue? '; sleep 100", timeout_s=0.3)).error
    )


async def test_a_job_is_begun_and_the_call_returns(busy, monkeypatch):
    """With its id and its first words; it runs on."""
    monkeypatch.setattr(shell, "FIRST_S", 0.3)
    began = time.monotonic()

    result = await busy.use("shell", command="echo up; exec sleep 100", background=True)

    job_id = result.result["job_id"]
    assert result.ok
    assert result.parts[0].text == f"up\n[{job_id} runs in the background; read on with since=3]"
    assert result.result == {"job_id": job_id, "status": "running", "exit_code": None, "next": 3}
    assert time.monotonic() - began < 10
    (started,) = busy.job_events()
    assert (started.job_id, started.command, started.cwd) == (job_id, "echo up; exec sleep 100", ".")
    assert (started.tool_call_id, started.moved) == ("call_1", False)
    assert (busy.session / started.output).read_text() == "up\n"


async def test_a_job_that_ends_at_once_is_told_as_it_ended(busy):
    """A misspelled command is noticed where it was typed."""
    result = await busy.use("shell", command="no-such-command", background=True)

    assert not result.ok
    assert "no-such-command" in result.parts[0].text
    assert result.error.endswith("ended with exit code 127")
    assert [type(one).TYPE for one in busy.job_events()] == ["job_started", "job_ended"]


async def test_a_job_needs_a_folder_of_the_workspace(busy):
    """Nothing is begun otherwise."""
    for cwd in ("..", "/", "gone"):
        assert not (await busy.use("shell", command="touch canary", cwd=cwd, background=True)).ok
    assert busy.tree() == {}
    assert busy.job_events() == []


async def test_a_job_can_have_a_time(busy):
    """Without one it has none."""
    result = await busy.use("shell", command="sleep 100", background=True, timeout_s=0.1)

    assert result.parts[0].text.endswith("was ended: its time was up]")


async def test_too_many_jobs_are_refused_and_leave_nothing(busy, monkeypatch):
    """The limit is told with what to do."""
    monkeypatch.setattr(shell, "FIRST_S", 0.0)
    for _ in range(8):
        assert (await busy.use("shell", command="sleep 100", background=True)).ok

    result = await busy.use("shell", command="touch canary", background=True)

    assert "8 jobs in this session already" in result.error
    assert "Stop one" in result.error
    assert len(busy.job_events()) == 8
    assert len(list((busy.session / "artifacts").rglob("job*"))) == 8


async def test_a_job_whose_output_has_no_room_on_disk_runs_all_the_same(busy):
    """Its last words are kept in memory."""
    busy.context.artifacts.parent.mkdir(parents=True)
    busy.context.artifacts.write_text("a file where the folder should be")

    result = await busy.use("shell", command="echo hi", background=True)

    assert result.parts[0].text.startswith("hi\n[")
    assert busy.job_events()[0].output == ""


async def test_a_running_command_can_be_moved_to_the_background(busy):
    """Its call is answered, and it runs on with all it said."""
    os.mkfifo(busy.root / "gate")
    running = asyncio.create_task(busy.use("shell", command="echo one; cat gate; echo two", timeout_s=60))
    await busy.until(lambda: busy.heard)

    job = await busy.sessions_jobs._table.move(busy.jobs._session_id, {"call_1"})
    result = await running
    (busy.root / "gate").write_text("")
    found = await busy.use("job_read", id=job.id, wait_for="two")

    assert result.ok
    assert result.result["job_id"] == job.id
    assert (
        result.parts[0].text == f"one\n[moved to the background as {job.id}, where it runs on; read it with job_read]"
    )
    assert found.parts[0].text.startswith("one\ntwo\n")
    assert busy.job_events()[0].moved
    assert busy.heard == [("stdout", "one\n")]


async def test_where_there_is_no_room_for_a_job_a_command_stays_where_it_is(busy, monkeypatch):
    """Whoever asked is told, and the command is waited for."""
    monkeypatch.setattr("agi.jobs.table.MOST_IN_SESSION", 0)
    os.mkfifo(busy.root / "gate")
    running = asyncio.create_task(busy.use("shell", command="echo one; cat gate; echo two", timeout_s=60))
    await busy.until(lambda: busy.heard)

    with pytest.raises(Conflict):
        await busy.sessions_jobs._table.move(busy.jobs._session_id, {"call_1"})
    (busy.root / "gate").write_text("")

    assert (await running).parts[0].text == "one\ntwo\n[exit code 0]"
    assert busy.job_events() == []
    assert not list((busy.session / "artifacts").rglob("job*"))


async def test_canceling_a_turn_leaves_its_jobs(busy, monkeypatch):
    """A cancel is about the call that is waited for."""
    monkeypatch.setattr(shell, "FIRST_S", 0.0)
    job_id = (await busy.use("shell", command="sleep 100", background=True)).result["job_id"]
    task = asyncio.create_task(busy.use("shell", command="echo here; sleep 100"))
    await busy.until(lambda: busy.heard)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (await busy.jobs.find(job_id)).status == "running"
