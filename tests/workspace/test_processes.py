"""Running commands: bounded, clean, and nothing left behind."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time

import pytest
import uvloop

from agi.errors import Invalid
from agi.workspace.processes import CHILD_MARKER, capture, child_environment, find_program, run_command

ENV = child_environment(os.environ, os.getpid())


@pytest.fixture
def run(tmp_path):
    """Run a command in an empty folder; what it says is gathered in `run.heard`."""

    async def run_it(command, *, timeout_s=20.0, **options):
        return await run_command(
            command, cwd=tmp_path, timeout_s=timeout_s, env=ENV, on_output=lambda *said: heard.append(said), **options
        )

    heard = run_it.heard = []
    return run_it


def is_running(pid):
    """Whether a process is there and not merely waiting to be collected."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def has_children():
    """Whether this process has any child, running or not yet collected."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


async def wait_for(condition, seconds=5.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        await asyncio.sleep(0.005)


async def wait_until_gone(pids):
    await wait_for(lambda: not any(map(is_running, pids)))


async def pids_in(file, count):
    """The process ids a command wrote, once they are all there."""
    await wait_for(lambda: file.exists() and len(file.read_text().split()) == count)
    return [int(pid) for pid in file.read_text().split()]


async def test_a_command_says_what_it_says_and_how_it_ended(run):
    """Both channels are kept apart, and streamed as they come."""
    result = await run("echo out; echo err >&2; exit 3")

    assert (result.exit_code, result.signal, result.timed_out, result.leftovers) == (3, "", False, False)
    assert (result.stdout.head, result.stderr.head) == ("out\n", "err\n")
    assert sorted(run.heard) == [("stderr", "err\n"), ("stdout", "out\n")]


async def test_a_command_ended_by_a_signal_has_no_exit_code(run):
    """The signal is named instead."""
    result = await run("kill -SEGV $$")

    assert (result.exit_code, result.signal) == (None, "SIGSEGV")


@pytest.mark.threat("T29")
async def test_a_command_that_begins_with_a_dash_is_a_command(run):
    """It cannot become an option of the shell."""
    result = await run("-x; echo still here")

    assert result.stdout.head == "still here\n"


async def test_a_command_with_a_nul_is_refused(run):
    """It could not be passed on whole."""
    with pytest.raises(Invalid):
        await run("echo a\0b")


@pytest.mark.parametrize(
    "command", ["cat", "read x; echo got $x", "python3 -c 'input()'", "cat < /dev/tty", "sudo -S x"]
)
async def test_a_command_that_wants_input_ends_at_once(run, command):
    """There is no input and no terminal to wait for."""
    result = await run(command)

    assert not result.timed_out


async def test_git_opens_no_editor_and_no_pager(run):
    """Commands that would wait for a person go on without one."""
    await run(
        "git init -q . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m x"
    )

    result = await run("git log --oneline && git commit --allow-empty; echo ended")

    assert result.stdout.head.endswith("ended\n")


async def test_characters_split_between_pieces_stay_whole(run):
    """Text is decoded as a stream; bytes that are no text become replacement characters."""
    result = await run(r"printf '\xc3'; sleep 0.02; printf '\xa9\xff'")

    assert result.stdout.head == "é\ufffd"
    assert "".join(text for _, text in run.heard) == "é\ufffd"


async def test_time_is_up_for_the_whole_tree(run, tmp_path):
    """Children in the background, under nohup, forked twice, in a pipeline and deaf to SIGTERM are all ended."""
    command = """
        sleep 100 & echo $! >> pids
        nohup sleep 100 >/dev/null 2>&1 & echo $! >> pids
        ( (echo $BASHPID >> pids; exec sleep 100) & )
        (trap '' TERM; echo $BASHPID >> pids; while :; do sleep 1; done) &
        sleep 100 | sleep 100
    """
    result = await run(command, timeout_s=0.2)

    assert result.timed_out
    assert result.exit_code is None
    await wait_until_gone(await pids_in(tmp_path / "pids", 4))


async def test_canceling_the_task_ends_the_whole_tree(run, tmp_path):
    """The cancellation is passed on once the processes are gone."""
    task = asyncio.create_task(
        run("nohup sleep 100 & echo $! >> pids; sleep 100 & echo $! >> pids; echo $$ >> pids; wait")
    )
    pids = await pids_in(tmp_path / "pids", 3)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await wait_until_gone(pids)


async def test_canceling_twice_does_not_wait_for_the_deaf(run, tmp_path):
    """An impatient second cancel kills at once."""
    task = asyncio.create_task(run("trap '' TERM; echo $$ >> pids; while :; do sleep 0.05; done"))
    pids = await pids_in(tmp_path / "pids", 1)

    task.cancel()
    await asyncio.sleep(0.02)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert time.monotonic() - started < 0.3
    await wait_until_gone(pids)


async def test_a_command_ends_with_its_shell_not_with_its_pipes(run, tmp_path):
    """A child that holds the pipe open does not hold up the result, and is ended."""
    started = time.monotonic()
    result = await run("sleep 100 & echo $! > pids; echo done")

    assert time.monotonic() - started < 2
    assert (result.exit_code, result.stdout.head, result.leftovers) == (0, "done\n", True)
    await wait_until_gone(await pids_in(tmp_path / "pids", 1))


async def test_what_comes_right_after_the_exit_is_still_heard(run):
    """The drain is short, but it is there."""
    result = await run("(sleep 0.05; echo late) & echo early")

    assert result.stdout.head == "early\nlate\n"
    assert not result.leftovers


async def test_fifty_megabytes_are_kept_in_little_memory(run, tmp_path):
    """The two ends are kept, the counts are exact, the whole goes to the spill."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spilled = tmp_path / "spilled"

    result = await run_command(
        "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo end",
        cwd=tmp_path,
        timeout_s=60,
        env=ENV,
        on_output=lambda *_: None,
        capture_limit=1000,
        spill=lambda _: spilled.open("wb"),
    )

    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert result.stdout.head == "x" * 500
    assert result.stdout.tail.endswith("xxx\nend\n")
    assert (result.stdout.omitted_bytes, result.stdout.omitted_lines) == (50_000_005 - 1000, 0)
    assert spilled.stat().st_size == 50_000_005
    assert grown_kib < 20 * 1024


async def test_endless_output_stops_with_the_time(run):
    """A flood is read until time is up, and no longer."""
    result = await run("yes", timeout_s=0.2)

    assert result.timed_out
    assert result.stdout.omitted_bytes > 0


async def test_a_listener_that_fails_ends_the_command_and_is_heard(tmp_path):
    """The failure rises; nothing runs on unheard."""

    def refuse(channel, text):
        raise RuntimeError("no ear")

    with pytest.raises(RuntimeError, match="no ear"):
        await run_command("echo $$ > pids; echo x; sleep 100", cwd=tmp_path, timeout_s=20, env=ENV, on_output=refuse)

    await wait_until_gone(await pids_in(tmp_path / "pids", 1))


async def test_a_folder_that_is_gone_is_an_error_and_leaks_nothing(tmp_path):
    """The descriptors made for the command are closed again."""
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(FileNotFoundError):
        await run_command("true", cwd=tmp_path / "gone", timeout_s=1, env=ENV, on_output=lambda *_: None)

    assert len(os.listdir("/proc/self/fd")) == before


async def test_no_descriptor_and_no_zombie_is_left(run):
    """After a command everything of it is gone."""
    await run("true")
    before = len(os.listdir("/proc/self/fd"))

    await run("sleep 100 & true")

    assert len(os.listdir("/proc/self/fd")) == before
    assert not has_children()


def test_commands_run_the_same_on_uvloop(tmp_path):
    """The daemon's event loop is another one than the tests'."""

    async def main():
        result = await run_command("sleep 100 & echo hi", cwd=tmp_path, timeout_s=9, env=ENV, on_output=lambda *_: None)
        late = await run_command("sleep 100", cwd=tmp_path, timeout_s=0.1, env=ENV, on_output=lambda *_: None)
        return result, late

    result, late = uvloop.run(main())

    assert (result.stdout.head, result.exit_code, result.leftovers) == ("hi\n", 0, True)
    assert late.timed_out


async def test_without_pidfds_the_exit_is_noticed_by_a_thread(run, monkeypatch):
    """Older kernels and other systems get the same results."""
    monkeypatch.delattr(os, "pidfd_open")

    result = await run("echo hi; exit 4")
    late = await run("sleep 100", timeout_s=0.1)

    assert (result.exit_code, result.stdout.head) == (4, "hi\n")
    assert late.timed_out


@pytest.mark.threat("T33")
def test_the_environment_of_a_child_holds_no_secret():
    """Only a few harmless names pass, whatever the daemon's environment holds."""
    base = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "LC_API_KEY": "sk-1",
        "OPENAI_API_KEY": "sk-2",
        "MY_TOKEN": "t",
        "DB_PASSWORD": "p",
        "BASH_ENV": "/evil",
        "LD_PRELOAD": "/evil.so",
        "GIT_DIR": "/evil",
        "TERM": "xterm",
    }

    assert child_environment(base, 42) == {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "EDITOR": "true",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        CHILD_MARKER: "42",
    }


async def test_a_command_sees_only_that_environment(run, monkeypatch):
    """Nothing of the daemon's own environment is inherited beside it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")

    result = await run("env")

    assert "sk-planted" not in result.stdout.head
    assert f"{CHILD_MARKER}={os.getpid()}\n" in result.stdout.head


def test_a_program_is_not_taken_from_a_hostile_place(tmp_path):
    """Relative parts of PATH, and those inside the workspace, do not count."""
    (tmp_path / "git").write_text("#!/bin/sh\n")
    os.chmod(tmp_path / "git", 0o755)
    path = f".::{tmp_path}:/usr/bin:/bin"

    assert find_program("git", path, str(tmp_path)) in ("/usr/bin/git", "/bin/git")
    assert find_program("git", path) == str(tmp_path / "git")
    assert find_program("no-such-program", path) is None


async def test_captured_output_is_bounded_by_killing(tmp_path):
    """A program that says too much is stopped, not listened to."""
    answer = await capture(["/usr/bin/yes"], cwd=tmp_path, env=ENV, timeout_s=20, limit=10_000)

    assert (len(answer.stdout), answer.truncated, answer.exit_code) == (10_000, True, -signal.SIGKILL)


async def test_captured_programs_are_given_time_and_input(tmp_path):
    """Too slow a program is stopped; one that reads gets what it is given."""
    slow = await capture(["/bin/sleep", "100"], cwd=tmp_path, env=ENV, timeout_s=0.1, limit=10)
    (tmp_path / "f").write_text("given")
    given = os.open(tmp_path / "f", os.O_RDONLY)
    fed = await capture(["/bin/cat"], cwd=tmp_path, env=ENV, timeout_s=9, limit=10, stdin=given)
    os.close(given)

    assert slow.timed_out
    assert (fed.stdout, fed.exit_code) == (b"given", 0)


def test_importing_the_room_is_light():
    """No heavy library is loaded before it is used."""
    code = (
        "import sys, agi.workspace.handle; print([m for m in ('ctypes', 'asyncio', 'unicodedata') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)

    assert said.stdout == "[]\n"
