"""A cell: where the commands of one workspace run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from agi.errors import Invalid, Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.sandbox.trusted import find_trusted
from agi.workspace.processes import run_command

from .conftest import APART, ENV, LADDERS, ladder_on


@pytest.fixture
def cell(workspace):
    return Cell(LADDERS["none"], Confinement(workspace=workspace))


@pytest.mark.threat("T13")
def test_the_folder_a_command_starts_in_never_widens_what_it_may_change(cell, workspace):
    """A folder deeper in works; one outside is refused, however it is spelled."""
    (workspace / "deep").mkdir()
    (workspace / "out").symlink_to("/")
    cell.wrap(["true"], cwd=workspace / "deep", env=ENV).close()

    for outside in (workspace.parent, Path("/"), Path(f"{workspace}-evil"), workspace / "..", workspace / "out"):
        with pytest.raises(Invalid):
            cell.wrap(["true"], cwd=outside, env=ENV)


@pytest.mark.threat("T13")
@pytest.mark.parametrize("folder", ["/", "/usr", "/etc", "/proc", "/dev"])
def test_a_folder_of_the_systems_is_no_workspace_for_a_sandbox(folder):
    """There would be nothing left to keep a command from."""
    cell = Cell(ladder_on("namespaces"), Confinement(workspace=Path(folder)))

    with pytest.raises(Invalid):
        cell.wrap(["true"], cwd=Path(folder), env=ENV)


@pytest.mark.parametrize("rung", APART)
async def test_a_sandbox_that_does_not_come_about_is_an_error_and_nothing_runs(workspace, rung):
    """The reason is told, and the next command finds out anew what works."""
    ladder = ladder_on(rung)
    (workspace / "gone").mkdir()
    cell = Cell(ladder, Confinement(workspace=workspace, writable=(workspace / "gone" / "not there",)))

    with pytest.raises((Unavailable, OSError)):
        await run_command("touch ran", cwd=workspace, timeout_s=20, env=ENV, on_output=lambda *_: None, cell=cell)

    assert not (workspace / "ran").exists()
    assert ladder.rung.name == rung


@pytest.fixture
def falling(tmp_path, monkeypatch):
    """A ladder whose best rung stops working once it was found, as where namespaces are switched off meanwhile."""
    working = find_trusted("bwrap", ENV["PATH"])
    ladder = Ladder(ENV, tried=["bubblewrap", "landlock"])
    if working is None or ladder.rung.name != "bubblewrap":
        pytest.skip(f"bubblewrap does not work here: {ladder.rung.why}")
    program = tmp_path / "bwrap"
    program.write_text(
        f'#!/bin/sh\n[ -e {tmp_path}/broken ] || exec {working} "$@"\n'
        "echo 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *_: str(program))
    ladder.failed()
    assert ladder.rung.name == "bubblewrap"
    return ladder


def fall(tmp_path, monkeypatch, *, landlock):
    (tmp_path / "broken").touch()
    if not landlock:
        monkeypatch.setattr("agi.sandbox.ladder.landlock_version", lambda: 0)


@pytest.mark.threat("T36")
@pytest.mark.parametrize("landlock", [True, False])
async def test_a_command_never_runs_on_another_rung_than_it_was_judged_on(
    falling, workspace, tmp_path, monkeypatch, landlock
):
    """Less would hold it than was said; the next cell finds out what holds now."""
    cell = Cell(falling, Confinement(workspace=workspace))
    assert cell.rung.name == "bubblewrap"
    fall(tmp_path, monkeypatch, landlock=landlock)

    for _ in range(2):
        with pytest.raises(Unavailable) as refused:
            await run_command("touch ran", cwd=workspace, timeout_s=20, env=ENV, on_output=lambda *_: None, cell=cell)
        assert refused.value.code == "sandbox_changed"
        assert "No permissions to create new namespace" in refused.value.message

    assert not (workspace / "ran").exists()
    assert cell.rung.name == "bubblewrap"
    anew = Cell(falling, Confinement(workspace=workspace))
    if landlock:
        assert anew.rung.name == "landlock"
    else:
        with pytest.raises(
            Unavailable, match="The rung `bubblewrap` held commands here, and no sandbox works any more"
        ):
            _ = anew.rung


@pytest.mark.threat("T36")
async def test_where_no_namespaces_are_to_be_had_any_more_the_next_cell_finds_out_what_holds(workspace, monkeypatch):
    """They can be switched off while the daemon runs: what runs next is judged by what works then."""
    ladder_on("namespaces")
    ladder_on("landlock")
    ladder = Ladder(ENV, tried=["namespaces"])
    cell = Cell(ladder, Confinement(workspace=workspace))
    assert cell.rung.name == "namespaces"
    monkeypatch.setattr("agi.sandbox.namespaces.Namespaces._plan", lambda *_: {"clone": 0xFFFF, "namespaces": 0})

    with pytest.raises(OSError, match="Function not implemented"):
        await run_command("touch ran", cwd=workspace, timeout_s=20, env=ENV, on_output=lambda *_: None, cell=cell)

    assert not (workspace / "ran").exists()
    monkeypatch.setattr(ladder, "_tried", ["namespaces", "landlock"])
    assert Cell(ladder, Confinement(workspace=workspace)).rung.name == "landlock"
    ladder.close()


async def test_one_that_was_never_asked_for_its_rung_does_not_fall_either(falling, workspace, tmp_path, monkeypatch):
    """Trying again is no new judgment."""
    fall(tmp_path, monkeypatch, landlock=False)
    cell = Cell(falling, Confinement(workspace=workspace))

    with pytest.raises(Unavailable):
        await run_command("touch ran", cwd=workspace, timeout_s=20, env=ENV, on_output=lambda *_: None, cell=cell)

    assert not (workspace / "ran").exists()


def test_a_narrower_cell_is_judged_like_the_one_it_comes_from(falling, workspace, tmp_path, monkeypatch):
    """As that of a project's tool is."""
    cell = Cell(falling, Confinement(workspace=workspace))
    assert cell.rung.confines
    narrow = Cell(falling, replace(cell.confinement, read_only=True))
    fall(tmp_path, monkeypatch, landlock=False)
    falling.failed()

    with pytest.raises(Unavailable):
        narrow.wrap(["true"], cwd=workspace, env=ENV)


@pytest.mark.threat("T36")
def test_where_a_sandbox_is_required_nothing_runs_without(workspace):
    """Whatever was found before."""
    cell = Cell(LADDERS["none"], Confinement(workspace=workspace, must_confine=True))

    with pytest.raises(Unavailable) as refused:
        cell.wrap(["true"], cwd=workspace, env=ENV)

    assert refused.value.code == "sandbox_required"


@pytest.mark.threat("T35")
@pytest.mark.parametrize("rung", LADDERS)
async def test_a_command_that_cannot_be_made_to_share_its_limits_is_not_begun(workspace, monkeypatch, rung):
    """Those of each process alone were not set for it: it would run without any."""
    ladder = ladder_on(rung)
    wrap = ladder.wrap

    def wrapped(*given, **more):
        made = wrap(*given, **more)
        made.join = lambda pid, then: then(OSError("no such group"))
        return made

    monkeypatch.setattr(ladder, "wrap", wrapped)
    cell = Cell(ladder, Confinement(workspace=workspace))

    with pytest.raises(Unavailable, match="no such group") as refused:
        await run_command("touch ran", cwd=workspace, timeout_s=60, env=ENV, on_output=lambda *_: None, cell=cell)

    assert refused.value.code == "sandbox_failed"
    assert not (workspace / "ran").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root enters what is closed to it")
@pytest.mark.parametrize("mode", [0o700, 0o750])
@pytest.mark.parametrize("rung", LADDERS)
async def test_root_in_a_project_below_somebodys_closed_home_is_told_whom_to_be(tmp_path, monkeypatch, rung, mode):
    """A command of root's has no power over what is another's: that is no failure of the sandbox, and has a way out."""
    failures = []
    ladder = ladder_on(rung)
    monkeypatch.setattr(ladder, "failed", lambda: failures.append(1))
    home = tmp_path.resolve() / "home"
    project = home / "deep" / "project"
    project.mkdir(parents=True)
    home.chmod(mode)
    for folder in (home, home / "deep", project):
        os.chown(folder, 65534, 65534)
    cell = Cell(ladder, Confinement(workspace=project))
    refused = None

    try:
        await run_command("true", cwd=project, timeout_s=60, env=ENV, on_output=lambda *_: None, cell=cell)
    except Invalid as problem:
        refused = problem

    assert failures == []
    assert rung != "namespaces" or refused is not None
    assert rung in APART or refused is None  # it enters before it gives up its power
    assert refused is None or (refused.code, str(home) in refused.message) == ("cwd_closed", True)
    assert refused is None or "start agi as that user" in refused.hint


WITHOUT_LANDLOCK = """
import asyncio, ctypes, struct, sys
from pathlib import Path
from agi.errors import Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import child_environment, run_command

env = child_environment({}, 0)
workspace = Path(sys.argv[1])
cell = Cell(Ladder(env, tried=["landlock"]), Confinement(workspace=workspace))
print(cell.rung.name)
rules = ((0x20, 0, 0, 0), (0x15, 2, 0, 444), (0x15, 1, 0, 445), (0x15, 0, 1, 446), (0x06, 0, 0, 0x00050000 | 38),
         (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *rule) for rule in rules), 48)
cell.ladder._helper.close()  # the next one is started by a process for which it is so
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("@HP", 6, ctypes.addressof(code)), 0, 0) == 0
try:
    asyncio.run(run_command("touch ran", cwd=workspace, timeout_s=20, env=env, on_output=lambda *_: None, cell=cell))
except Unavailable as refused:
    print(refused.code)
"""
"""A process for which Landlock ceases to exist once it was found: from then on the kernel says so."""


@pytest.mark.threat("T36")
def test_where_the_kernel_takes_landlock_back_nothing_runs(workspace):
    """The shim says that it could not shut itself in, and the command was not begun."""
    ladder_on("landlock")
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANDLOCK, workspace], capture_output=True, text=True, check=True, timeout=60
    )

    assert said.stdout.split() == ["landlock", "sandbox_changed"]
    assert not (workspace / "ran").exists()
