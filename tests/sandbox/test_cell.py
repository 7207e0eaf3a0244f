"""A cell: where the commands of one workspace run."""

from pathlib import Path

import pytest

from agi.errors import Invalid, Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import run_command

from .conftest import ENV, LADDERS, ladder_on


@pytest.fixture
def cell(workspace):
    return Cell(LADDERS["none"], Confinement(workspace=workspace))


def test_the_folder_a_command_starts_in_never_widens_what_it_may_change(cell, workspace):
    """A folder deeper in works; one outside is refused, however it is spelled."""
    (workspace / "deep").mkdir()
    (workspace / "out").symlink_to("/")
    cell.wrap(["true"], cwd=workspace / "deep", env=ENV).close()

    for outside in (workspace.parent, Path("/"), Path(f"{workspace}-evil"), workspace / "..", workspace / "out"):
        with pytest.raises(Invalid):
            cell.wrap(["true"], cwd=outside, env=ENV)


@pytest.mark.parametrize("folder", ["/", "/usr", "/etc", "/proc", "/dev"])
def test_a_folder_of_the_systems_is_no_workspace_for_a_sandbox(folder):
    """There would be nothing left to keep a command from."""
    cell = Cell(ladder_on("bubblewrap"), Confinement(workspace=Path(folder)))

    with pytest.raises(Invalid):
        cell.wrap(["true"], cwd=Path(folder), env=ENV)


async def test_a_sandbox_that_does_not_come_about_is_an_error_and_nothing_runs(workspace):
    """The reason is told, and the next command finds out anew what works."""
    ladder = Ladder(ENV)
    if ladder.rung.name != "bubblewrap":
        pytest.skip(f"bubblewrap does not work here: {ladder.rung.why}")
    (workspace / "gone").mkdir()
    cell = Cell(ladder, Confinement(workspace=workspace, writable=(workspace / "gone" / "not there",)))

    with pytest.raises((Unavailable, OSError)):
        await run_command("touch ran", cwd=workspace, timeout_s=20, env=ENV, on_output=lambda *_: None, cell=cell)

    assert not (workspace / "ran").exists()
    assert ladder.rung.name == "bubblewrap"
