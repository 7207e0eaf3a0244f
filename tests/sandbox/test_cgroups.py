"""Control groups, where they can be made."""

import _thread
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agi.errors import Unavailable
from agi.sandbox import cgroups
from agi.sandbox.base import MIB, Confinement, Limits
from agi.sandbox.cell import Cell
from agi.sandbox.cgroups import Group, find_groups
from agi.sandbox.claims import claim
from agi.sandbox.holding import is_settled
from agi.sandbox.ladder import CONFINING, Ladder
from agi.workspace.processes import capture, run_command

from .conftest import ENV


@pytest.fixture
def groups():
    found = find_groups()
    if found is None:
        pytest.skip("control groups cannot be made here")
    yield found
    found.close()


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def members(group):
    return {int(pid) for path in group.joins for pid in Path(path).read_text().split()}


def test_a_process_and_all_it_started_become_members(groups):
    """Also what it started before, and in another session."""
    group = groups.take(Limits())
    script = "setsid sleep 60 & sleep 60 & (sleep 60) & wait"
    process = subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.DEVNULL)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: len(children.read_text().split()) == 3)

    group.adopt(process.pid, lambda _: None)

    wait_for(lambda: len(members(group)) >= 4)
    assert process.pid in members(group)
    for pid in members(group):
        os.kill(pid, 9)
    process.wait()
    wait_for(lambda: group.is_empty)


def test_a_group_is_used_again_once_it_is_empty(groups):
    """Making one costs more than using one."""
    first = groups.take(Limits())
    second = groups.take(Limits())
    groups.give_back(first)

    assert second is not first
    assert groups.take(Limits(memory=100 * MIB)) is first


def test_where_there_can_be_no_thread_to_make_members_that_is_said(groups, monkeypatch):
    """And the group is not for good one that somebody is on the way into."""

    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refused)
    group, said = groups.take(Limits()), []

    group.adopt(os.getpid(), said.append)

    assert [str(problem) for problem in said] == ["can't start new thread"]
    assert group.is_empty


def test_after_many_commands_at_once_few_groups_are_kept(groups):
    """Each that waits for a command keeps a folder and open descriptors."""
    taken = [groups.take(Limits()) for _ in range(40)]
    for group in taken:
        groups.give_back(group)
    groups.give_back(groups.take(Limits()))

    left = {path for group in taken for path in group.joins if os.path.exists(path)}

    assert len(left) == 32 * len(taken[0].joins)


def test_groups_that_no_longer_work_are_not_kept_when_others_are_used(groups, monkeypatch):
    """Each holds a folder and descriptors; one that a command is still in goes when that is over."""
    ladder = Ladder(ENV, tried=["namespaces"])
    before, there = len(os.listdir("/proc/self/fd")), set(folders_of_ours(groups))
    assert ladder.rung
    first = ladder._groups
    busy = first.take(Limits())
    for _ in range(3):
        with monkeypatch.context() as failing:
            failing.setattr(ladder._groups, "work", lambda: False)
            ladder.failed()
            assert ladder.rung
    assert len(set(folders_of_ours(groups)) - there) == len(folders(busy)) * 2

    first.give_back(busy)
    ladder.close()

    assert set(folders_of_ours(groups)) == there
    while not is_settled():
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/fd")) == before


def folders_of_ours(groups):
    return [entry for parent in set(groups._parents.values()) for entry in parent.glob(f"agi-{os.getpid()}-*")]


def test_groups_are_removed_with_their_owner(groups):
    """At the end, and if the owner was killed, by the next one who looks."""
    code = (
        "import os, sys\nfrom agi.sandbox.base import Limits\nfrom agi.sandbox.cgroups import find_groups\n"
        "print(find_groups().take(Limits()).joins[0], flush=True)\nif sys.argv[1:]: os._exit(9)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    killed = subprocess.run([sys.executable, "-c", code, "killed"], capture_output=True, text=True).stdout.strip()
    assert not os.path.exists(ended)
    assert os.path.exists(killed)

    find_groups().close()

    assert not os.path.exists(killed)


def folders(group):
    return [os.path.dirname(path) for path in group.joins]


@pytest.mark.parametrize("which", [slice(None), slice(1)])
def test_a_group_that_somebody_has_removed_is_not_used_again(groups, which):
    """As an agi that sees other processes' numbers than ours might; also if it has removed one folder of it only."""
    lost, kept = groups.take(Limits()), groups.take(Limits())
    groups.give_back(lost)
    groups.give_back(kept)
    for folder in folders(lost)[which]:
        os.rmdir(folder)

    taken = [groups.take(Limits()) for _ in range(3)]

    assert lost not in taken
    assert kept in taken
    assert all(map(os.path.exists, (path for group in taken for path in group.joins)))


def test_a_group_whose_limits_cannot_be_set_is_none(groups):
    """Limits that were only asked for hold nobody."""
    lost = groups.take(Limits())
    for folder in folders(lost):
        os.rmdir(folder)

    assert not lost.limit(Limits(memory=100 * MIB))
    assert not lost.limit(Limits())


def test_what_is_held_is_not_swept_whatever_its_number_says(groups):
    """Its owner may live where processes have other numbers; once he is no more, it goes."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    theirs = [f"{os.path.dirname(folder)}/agi-{ended.pid}-elsewhere-1" for folder in folders(groups.take(Limits()))]
    for folder in theirs:
        os.mkdir(folder)
    held = [claim(folder) for folder in theirs]

    find_groups().close()
    there = list(map(os.path.exists, theirs))
    for fd in held:
        os.close(fd)
    find_groups().close()

    assert there == [True] * len(theirs)
    assert not any(map(os.path.exists, theirs))


@pytest.mark.parametrize("removed", ["after it was made", "after it was held"])
def test_a_group_that_is_swept_while_it_is_made_is_none(groups, monkeypatch, removed):
    """Nothing of it is left, and the next one is another."""

    def swept(folder):
        held = claim(folder) if removed == "after it was held" else None
        os.rmdir(folder)
        return claim(folder) if held is None else held

    assert groups.take(Limits()) is not None  # the one it was tried with
    with monkeypatch.context() as patched:
        patched.setattr("agi.sandbox.cgroups.claim", swept)
        assert groups.take(Limits()) is None

    assert groups.take(Limits()) is not None


@pytest.fixture(params=[*CONFINING, "none"])
def cell(request, workspace):
    """A cell on a ladder of its own, whose commands are limited by groups."""
    ladder = Ladder(ENV, "off") if request.param == "none" else Ladder(ENV, tried=[request.param])
    if ladder.rung.name != request.param:
        pytest.skip(f"{request.param} does not work here: {'; '.join(ladder.rung.why)}")
    if ladder._groups is None:
        pytest.skip("control groups cannot be made here")
    yield Cell(ladder, Confinement(workspace=workspace))
    ladder.close()


def remove_when_taken(cell, monkeypatch):
    """Somebody removes each group at the worst moment: it was taken for a command that has not begun."""
    groups = cell.ladder._groups
    take = groups.take

    def taken(limits):
        group = take(limits)
        for folder in folders(group):
            os.rmdir(folder)
        return group

    monkeypatch.setattr(groups, "take", taken)


@pytest.mark.threat("T35")
async def test_a_command_whose_group_is_gone_does_not_run_without_limits(cell, workspace, monkeypatch):
    """It is said why, and what the next one is limited by is found out anew."""
    remove_when_taken(cell, monkeypatch)
    argv = ["/bin/sh", "-c", "touch ran"]

    with pytest.raises(Unavailable, match="could not be limited together with all it starts") as refused:
        await capture(argv, cwd=workspace, env=ENV, timeout_s=60, limit=999, cell=cell)

    assert refused.value.code == "sandbox_failed"
    assert "anew" in refused.value.hint
    assert not (workspace / "ran").exists()
    result = await run(cell, "cat /proc/self/cgroup")
    assert f"/agi-{os.getpid()}-" in result.stdout.head


async def test_a_holder_goes_into_its_group_by_itself_where_it_can(cell, monkeypatch):
    """Then nobody has to put it there, for which the kernel would have the command wait."""
    put: list[int] = []
    adopt = Group.adopt
    monkeypatch.setattr(Group, "adopt", lambda self, pid, then: (put.append(pid), adopt(self, pid, then)))
    has_way_in = "pids" in cgroups._own()

    result = await run(cell, "cat /proc/self/cgroup")

    assert f"/agi-{os.getpid()}-" in result.stdout.head
    assert bool(put) == (cell.ladder.rung.name == "bubblewrap" or not has_way_in)


@pytest.fixture
def unified():
    """Groups of the second version, where folders of them can be made; limits need not be there."""
    mounts, own = cgroups._mounts(), cgroups._own()
    place = Path(f"{mounts.get('', '/nowhere')}/{own.get('', '')}")
    if not os.access(place, os.W_OK):
        pytest.skip("no control groups of the second version can be made here")
    found = cgroups.Groups({"memory": place, "pids": place}, unified=True)
    yield found
    found.close()


async def test_a_holder_is_born_in_its_group_where_it_can(cell, unified, monkeypatch):
    """In the second version: all of the command is in it, and nobody was put there."""
    if cell.ladder.rung.name == "bubblewrap":
        pytest.skip("nobody is born in a group there")
    monkeypatch.setattr(Group, "limit", lambda *_: True)  # the controllers may be with the first version
    monkeypatch.setattr(Group, "adopt", lambda *_: pytest.fail("somebody was put into the group"))
    monkeypatch.setattr(cell.ladder, "_groups", unified)
    inside: list[int] = []

    def look(*_):
        inside.extend(members(unified._all[0]))

    await run_command(
        "echo one; sleep 0.1 & wait", cwd=cell.confinement.workspace, timeout_s=60, env=ENV, on_output=look, cell=cell
    )

    assert len(inside) >= 2  # the holder and the shell, by their numbers out here


async def test_one_that_could_not_be_born_in_its_group_is_put_there(cell, unified, monkeypatch):
    """As on a system that is older than that."""
    monkeypatch.setattr(Group, "limit", lambda *_: True)
    monkeypatch.setattr(cell.ladder, "_groups", unified)
    taken = unified.take(Limits())
    taken.birthplace = "/nowhere"
    put: list[int] = []
    adopt = taken.adopt
    monkeypatch.setattr(taken, "adopt", lambda pid, then: (put.append(pid), adopt(pid, then)))
    monkeypatch.setattr(unified, "take", lambda _: taken)

    result = await run(cell, "echo done")

    assert result.stdout.head == "done\n"
    assert len(put) == 1


async def test_where_groups_work_no_more_each_process_is_limited(cell, monkeypatch):
    """The command that finds it out is tried again, and runs; what holds is said anew."""
    remove_when_taken(cell, monkeypatch)
    monkeypatch.setattr("agi.sandbox.ladder.find_groups", lambda: None)

    result = await run(cell, "ulimit -d; cat /proc/self/cgroup", Limits(memory=2000 * MIB))

    assert result.stdout.head.startswith(f"{2000 * 1024}\n")
    assert "/agi-" not in result.stdout.head
    assert cell.ladder.rung.name == "none" or any("no control groups" in gap for gap in cell.ladder.rung.gaps)


async def run(cell, command, limits=None):
    folder = cell.confinement.workspace
    where = Cell(cell.ladder, Confinement(workspace=folder, limits=limits or Limits()))
    return await run_command(command, cwd=folder, timeout_s=60, env=ENV, on_output=lambda *_: None, cell=where)
