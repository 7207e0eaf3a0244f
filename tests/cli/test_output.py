"""The two streams: stdout holds the data and nothing else, and what is said to people begins on its own line."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

TALK = (
    "from agi.cli.output import put, say; put('One'); say('aside'); say('again'); put(' more'); say('last'); put('\\n')"
)


def run(stdout: int, stderr: int) -> None:
    subprocess.run([sys.executable, "-c", TALK], stdout=stdout, stderr=stderr, check=True, timeout=20)


def everything(descriptor: int) -> str:
    """What was written to the other end of a pipe or a terminal."""
    with open(descriptor, "rb", buffering=0) as end:
        return end.read(4096).decode().replace("\r\n", "\n")


def test_on_one_screen_a_note_begins_a_new_line():
    """The answer is interrupted, not run together with what is said beside it."""
    master, slave = pty.openpty()
    run(slave, slave)
    shown = everything(master)
    os.close(slave)

    assert shown == "One\naside\nagain\n more\nlast\n\n"


def test_in_one_file_a_note_begins_a_new_line_too(tmp_path):
    """`agi … > log 2>&1` is readable."""
    path = tmp_path / "log"
    with open(path, "wb") as file:
        run(file.fileno(), file.fileno())

    assert path.read_text() == "One\naside\nagain\n more\nlast\n\n"


def test_in_a_file_of_its_own_the_answer_is_untouched_and_so_are_the_notes(tmp_path):
    """Nobody sees both, so nothing has to be kept apart."""
    out, err = tmp_path / "out", tmp_path / "err"
    with open(out, "wb") as one, open(err, "wb") as other:
        run(one.fileno(), other.fileno())

    assert (out.read_text(), err.read_text()) == ("One more\n", "aside\nagain\nlast\n")


def test_through_a_pipe_the_answer_is_untouched_and_notes_at_the_terminal_begin_a_line():
    """Whoever reads the pipe may well write to the same terminal, as `tee` does."""
    master, slave = pty.openpty()
    reading, writing = os.pipe()
    run(writing, slave)
    os.close(writing)
    shown, answer = everything(master), everything(reading)
    os.close(slave)

    assert answer == "One more\n"
    assert shown == "\naside\nagain\n\nlast\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "arguments", [("hello there",), ("hello there", "--json"), ("--help",), ("sessions",)], ids=str
)
def test_an_output_that_takes_nothing_is_said_and_is_nobodys_fault(cli, arguments):
    """A full disk is one sentence and exit code 1."""
    command = [sys.executable, "-m", "agi.cli.main"]
    if arguments == ("sessions",):
        subprocess.run([*command, "hello there"], cwd=cli.project, env=cli.env, capture_output=True, check=True)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command, *arguments], cwd=cli.project, env=cli.env, stdout=full, stderr=subprocess.PIPE, timeout=20
        )

    assert done.returncode == 1
    assert b"agi: The output could not be written: No space left on device." in done.stderr
    assert b"report" not in done.stderr
