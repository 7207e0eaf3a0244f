"""What the sandbox's tests share: a workspace, a place elsewhere, and a way to run a command on each rung."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import agi
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import CONFINING, Ladder
from agi.workspace.processes import CommandResult, child_environment, run_command

ENV = child_environment(os.environ, os.getpid())
LADDERS = {**{rung: Ladder(ENV, tried=[rung]) for rung in CONFINING}, "none": Ladder(ENV, "off")}
"""A ladder on which no rung is tried but the one named."""

APART = ("namespaces", "bubblewrap")
"""The rungs that make a machine of its own for a command."""

Run = Callable[..., Awaitable[CommandResult]]


def ladder_on(rung: str) -> Ladder:
    """The ladder whose rung is the one asked for; where that does not work, the test is skipped and says why."""
    ladder = LADDERS[rung]
    if ladder.rung.name != rung:
        pytest.skip(f"{rung} does not work here: {'; '.join(ladder.rung.why)}")
    return ladder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder to work in."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is neither in /tmp nor at home, so that a sandbox shows it."""
    folder = Path(tempfile.mkdtemp(prefix="agi-", dir="/var/tmp")).resolve()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def python_of(user: int) -> list[str]:
    """A way to run our Python as another user; what this one runs may lie where others cannot look."""
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    name = f"python3.{sys.version_info.minor}"
    for program in (sys.executable, *(f"{place}/{name}" for place in ("/usr/local/bin", "/usr/bin"))):
        code = "import msgspec, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
        tried = subprocess.run([*become, program, "-c", code], env=environment_of_another(), capture_output=True)
        if tried.returncode == 0:
            return [*become, program]
    pytest.skip("no Python that another user could run")


def environment_of_another() -> dict[str, str]:
    """What another user's Python needs to find us."""
    paths = [str(Path(str(module.__file__)).parents[1]) for module in (agi, msgspec)]
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/"}


def runner(rung: str, workspace: Path) -> Run:
    """Run commands in a workspace on a rung; the rest says what they may reach."""
    ladder = ladder_on(rung)

    async def run(command: str, *, timeout_s: float = 60.0, env: dict[str, str] | None = None, **reach: Any) -> Any:
        cell = Cell(ladder, Confinement(**{"workspace": workspace, **reach}))
        return await run_command(
            command,
            cwd=cell.confinement.workspace,
            timeout_s=timeout_s,
            env={**ENV, **(env or {})},
            on_output=lambda *_: None,
            cell=cell,
        )

    return run


@pytest.fixture(params=LADDERS)
def on_every_rung(request: pytest.FixtureRequest, workspace: Path) -> Run:
    """Run a command in the workspace, on each rung in turn."""
    return runner(request.param, workspace)


@pytest.fixture(params=CONFINING)
def confined(request: pytest.FixtureRequest, workspace: Path) -> Run:
    """Run a command in the workspace, on each rung that keeps it in."""
    return runner(request.param, workspace)


@pytest.fixture(params=APART)
def apart(request: pytest.FixtureRequest, workspace: Path) -> Run:
    """Run a command in the workspace, in a machine of its own, on each rung that makes one."""
    return runner(request.param, workspace)


@pytest.fixture
def in_landlock(workspace: Path) -> Run:
    """Run a command in the workspace, on the third rung."""
    return runner("landlock", workspace)
