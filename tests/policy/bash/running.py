"""Lines run by the real bash, in an empty folder each, with a PATH of harmless programs; strace says what was started.

One strace watches a whole batch: a program that runs the lines one after the other, each in a process namespace of its
own where there is one; how each is begun tells it from the one before. Programs do nothing, but those that start others
do that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from agi.policy.bash.values import names

HARMLESS = names("rm ls cat git a b c d f r m E 1 - then fi do done in { } ! ] x=1")
STARTING = names("env xargs nice timeout nohup stdbuf find sh bash")
SECONDS = 0.7
"""How long a line may run."""
MARK = "a-line-begins"
"""What the program that begins a line is called; no line can call one by its path."""

DRIVER = """
import json, os, shutil, signal, subprocess, sys
work = json.load(sys.stdin)
for number, line in enumerate(work["lines"]):
    cwd = os.path.join(work["place"], str(number))
    os.mkdir(cwd)
    process = subprocess.Popen(
        [work["mark"], *work["options"], work["bash"], "-c", line], executable=work["begin"],
        env={"PATH": work["bin"], "HOME": cwd}, cwd=cwd,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )
    try:
        process.wait(work["seconds"])
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    shutil.rmtree(cwd, ignore_errors=True)
"""
_CALL = re.compile(r'^(\d+) +execve\("((?:[^"\\]|\\.)*)", \[(.*)$')
_RESUMED = re.compile(r"^(\d+) +<\.\.\. execve resumed>.* = 0$")


def make_programs(folder: Path) -> Path:
    """A PATH for such lines."""
    folder.mkdir()
    for name in HARMLESS:
        (folder / name).write_text(f"#!{shutil.which('true')}\n")
        (folder / name).chmod(0o755)
    for name in STARTING:
        if real := shutil.which(name):
            (folder / name).symlink_to(real)
    return folder


def started(lines: Sequence[str], programs: Path, place: Path) -> list[set[str]]:
    """Run the lines; gives, for each, the names of the programs that were started by it, as the system saw them."""
    place.mkdir()
    alone = shutil.which("unshare") if os.geteuid() == 0 else None
    work = {
        "lines": lines,
        "place": str(place),
        "begin": alone or shutil.which("env"),
        "options": ["-pf", "--kill-child"] if alone else [],
        "bash": shutil.which("bash"),
        "bin": str(programs),
        "seconds": SECONDS,
        "mark": MARK,
    }
    trace = place / "trace"
    watch = ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "4096", "-e", "trace=execve", "-o", str(trace)]
    command = [*watch, sys.executable, "-I", "-S", "-c", DRIVER]
    subprocess.run(command, input=json.dumps(work), text=True, check=True, stderr=subprocess.DEVNULL)
    return [{name.lower() for name in one[1:]} for one in _read(trace.read_text(errors="replace"))]


def _read(trace: str) -> list[list[str]]:
    """The programs since each mark, in their order; the first is the bash that reads the line."""
    found: list[list[str]] = []
    begun: dict[str, str] = {}
    for line in trace.splitlines()[1:]:  # the first is the driver itself
        if call := _CALL.match(line):
            name = call[2].rpartition("/")[2]
            if call[3].startswith(f'"{MARK}"'):
                found.append([])
            elif line.endswith("<unfinished ...>"):
                begun[call[1]] = name
            elif line.endswith(" = 0"):
                found[-1].append(name)
        elif (resumed := _RESUMED.match(line)) and resumed[1] in begun:
            found[-1].append(begun.pop(resumed[1]))
    return found
