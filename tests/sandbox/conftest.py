"""What the sandbox's tests share: a workspace, a place elsewhere, and a way to run a command on each rung."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import CommandResult, child_environment, run_command

ENV = child_environment(os.environ, os.getpid())
LADDERS = {
    "bubblewrap": Ladder(ENV),
    "landlock": Ladder({**ENV, "PATH": "/nonexistent"}),
    "none": Ladder(ENV, "off"),
}
"""A ladder whose highest rung is the one named: without a PATH there is no bubblewrap to find."""

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


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def on_every_rung(request: pytest.FixtureRequest, workspace: Path) -> Run:
    """Run a command in the workspace, on each rung in turn."""
    return runner(request.param, workspace)


@pytest.fixture(params=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest, workspace: Path) -> Run:
    """Run a command in the workspace, on each rung that keeps it in."""
    return runner(request.param, workspace)


@pytest.fixture
def in_bubblewrap(workspace: Path) -> Run:
    """Run a command in the workspace, on the first rung."""
    return runner("bubblewrap", workspace)


@pytest.fixture
def in_landlock(workspace: Path) -> Run:
    """Run a command in the workspace, on the second rung."""
    return runner("landlock", workspace)
