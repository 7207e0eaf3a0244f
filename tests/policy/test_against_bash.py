"""What bash would really start is the judge: no line that is let through starts a deletion."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from agi.policy.destructive import destroys

PIECES = (
    *(
        "rm x",
        "rm",
        "r",
        "m",
        "'rm x'",
        '"rm x"',
        '"$(rm x)"',
        "{rm,x}",
        "echo",
        "true",
        "cat ",
        "a",
        "x=",
        "1",
        "-",
        "*",
    ),
    *("$(", ")", "(", "`", "'", '"', "\\", "\\\n", "$", "$'", "''", "${", "}", ":-", "$((", "((", "))", "[", "]", "="),
    *(
        ";",
        "&&",
        "|",
        "||",
        "|&",
        "\n",
        " ",
        " ",
        "#",
        "{ ",
        " }",
        "[[ ",
        " ]]",
        "!",
        "<",
        ">",
        "2>&1",
        "&>",
        "<<<",
        "<(",
    ),
    *("<<E", "\nE\n", "if ", "then ", "fi", "else ", "do ", "done", "for a in b", "until ", "time ", "function f "),
    *("f() ", "f\n", "eval ", "sh -c ", "env ", "xargs ", "exec ", "nice ", "timeout 1 ", "command ", "-c ", "trap '"),
)
LINES = 1500


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with a few real programs, and an `rm` that only leaves a trace."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "rm").write_text(f"#!/bin/sh\n: > {tmp_path}/trace\n")
    (folder / "rm").chmod(0o755)
    for name in ("env", "xargs", "sh", "nice", "timeout", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


@pytest.mark.threat("T22")
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_no_line_that_is_let_through_starts_a_deletion(programs, tmp_path):
    """Random lines of the shell's own signs, run for real where the judge sees no harm."""
    chance, tried = random.Random(42), 0
    for _ in range(LINES):
        line = "".join(chance.choice(PIECES) for _ in range(chance.randint(2, 10)))
        if "r" not in line or destroys(line):
            continue
        tried += 1
        _run(line, programs, tmp_path)
        assert not (tmp_path / "trace").exists(), line

    assert tried > 40


def test_the_trace_is_left_when_it_should_be(programs, tmp_path):
    """The judge of the judge."""
    _run("env rm x", programs, tmp_path)

    assert (tmp_path / "trace").exists()


def _run(line: str, programs: Path, tmp_path: Path) -> None:
    (tmp_path / "cwd").mkdir()
    try:
        subprocess.run(
            [str(shutil.which("bash")), "-c", line],
            env={"PATH": str(programs)},
            cwd=tmp_path / "cwd",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2,
        )
    except subprocess.TimeoutExpired:
        pass
    shutil.rmtree(tmp_path / "cwd")
