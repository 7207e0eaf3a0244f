"""The entry point: the right command, quickly, and never a traceback."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from agi import __version__
from agi.cli.main import ASK_OPTIONS, COMMANDS
from agi.cli.words import ASK, BY_COMMAND

HEAVY = (
    "asyncio",
    "msgspec",
    "typing",
    "collections",
    "re",
    "argparse",
    "starlette",
    "uvicorn",
    "sqlite3",
    "agi.client",
)
LOADED = (
    "import sys; before = set(sys.modules); from agi.cli.main import main; code = main(sys.argv[1:]);"
    "sys.stderr.write(' '.join(sorted(set(sys.modules) - before))); sys.exit(code)"
)

DEAF = (
    "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
    "os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
)
"""A starter that has the end of its children ignored, as some supervisors do."""
FAILING_CHILD = (
    "import subprocess; from agi.cli import main;"
    "main.main = lambda argv: subprocess.run(['/bin/sh', '-c', 'exit 3']).returncode; main.run()"
)


async def test_how_children_end_is_heard_whoever_started_us(cli):
    """Where their end is ignored, which is inherited, every program would seem to end well."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DEAF, FAILING_CHILD, env=cli.env)

    assert await process.wait() == 3


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), (), ("help", "serve"), ("sessions", "--help")])
async def test_telling_about_itself_loads_next_to_nothing(cli, arguments):
    """A version or a help text costs hardly more than starting Python."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", LOADED, *arguments, env=cli.env, stdout=-1, stderr=-1
    )
    _, loaded = await process.communicate()

    assert process.returncode == 0
    assert not set(HEAVY) & set(loaded.decode().split())


async def test_the_version_is_one_line(cli):
    """`agi --version` is for scripts too."""
    result = await cli("--version")

    assert (result.code, result.out, result.err) == (0, f"agi {__version__}\n", "")


async def test_without_arguments_it_says_what_it_can_do(cli):
    """Nothing is started by accident."""
    result = await cli()

    assert (result.code, result.out, result.err) == (0, ASK, "")
    assert not (cli.project / ".agi").exists()


async def test_text_that_is_piped_in_is_not_thrown_away_silently(cli):
    """Without arguments nothing reads it; it is said how to have it read."""
    bare = await cli(stdin=b"What is this?")
    empty = await cli("--yes", stdin=b"What is this?")

    assert (bare.code, bare.out, empty.code, empty.out) == (2, "", 2, "")
    assert "`agi -` reads it from stdin." in bare.err
    assert "`agi -` reads it from stdin." in empty.err


def test_help_on_help_is_help(here):
    """Nobody is turned away."""
    assert here("help", "help") == here("--help")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_is_explained_with_its_options_and_examples(command):
    """What can be said is written down."""
    text = BY_COMMAND[command]

    assert [option for option in COMMANDS[command][1] if option not in text] == []
    assert "Examples:" in text
    assert f"agi {command}" in ASK


def test_every_option_of_asking_is_explained():
    """The same for `agi "…"`."""
    assert [option for option in ASK_OPTIONS if option not in ASK] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--modle", "x", "hello"], "Did you mean --model?"),
        (["hello", "world"], "more than one prompt"),
        (["hello", "--", "world"], "two prompts"),
        (["   "], "empty"),
        (["--yes"], "empty"),
        (["--", ""], "empty"),
        (["hello", "--timeout", "never"], "--timeout must be a number"),
        (["hello", "--session", "s", "--continue"], "exclude each other"),
        (["hello", "--project", "/does/not/exist"], "There is no folder"),
        (["serve", "--port", "70000"], "--port must be a number"),
        (["serve", "now"], "does not take 'now'"),
        (["sessions", "shwo", "x"], "Did you mean show?"),
        (["sessions", "show"], "needs the id"),
        (["trust", "--list", "."], "does not take"),
        (["trust", "--list", "--revoke"], "exclude each other"),
        (["doctor", "--jsno"], "Did you mean --json?"),
        (["help", "sesions"], "Did you mean sessions?"),
        (["sesions"], "Did you mean `agi sessions`? To ask it as a prompt: agi -- sesions"),
        (["Doctor", "--json"], "Did you mean `agi doctor`?"),
        (["sesions", "show", "x"], "Did you mean `agi sessions`?"),
        (["version"], "Did you mean `agi --version`?"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_does_nothing(here, arguments, said):
    """The message says what is wrong, stdout stays empty, the folder untouched."""
    result = here(*arguments)

    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.startswith("agi: ")
    assert not list(here.project.iterdir())


async def test_an_unexpected_error_is_one_sentence_unless_debugging(cli):
    """A fault of ours looks like one, without a page of Python."""
    broken = cli.home.parent.parent / "sitecustomize.py"
    broken.parent.mkdir(parents=True, exist_ok=True)
    broken.write_text("import agi.cli.words as w\ndel w.BY_COMMAND\n")
    env = {"PYTHONPATH": f"{broken.parent}{os.pathsep}{cli.env['PYTHONPATH']}"}

    plain = await cli("serve", "--help", env=env)
    debug = await cli("serve", "--help", env={**env, "AGI_DEBUG": "1"})

    assert plain.code == debug.code == 1
    assert plain.err.splitlines()[0].startswith("agi: something went wrong: AttributeError")
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err


async def test_a_reader_that_left_is_no_error(cli):
    """`agi help | head -0` ends quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agi.cli.main", "--help", env=cli.env, stdout=writing, stderr=-1
    )
    os.close(writing)
    _, err = await process.communicate()

    assert (process.returncode, err) == (141, b"")


async def test_closed_streams_do_not_end_up_in_our_files(cli):
    """With stdout closed, the answer must not be written into whatever was opened next."""
    shell = f"{sys.executable} -m agi.cli.main hello <&- >&- 2>&-"
    process = await asyncio.create_subprocess_shell(shell, env=cli.env, cwd=cli.project)
    await process.wait()
    result = await cli("sessions", "export", (await cli("sessions", "--json")).out.split('"')[3])

    assert process.returncode == 0
    assert result.types[0] == "session_created"
    assert result.types[-1] == "session_completed"
