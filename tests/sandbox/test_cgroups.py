"""Control groups, where they can be made."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agi.sandbox.base import MIB, Limits
from agi.sandbox.cgroups import find_groups


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

    group.adopt(process.pid, lambda: None)

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
