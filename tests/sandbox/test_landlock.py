"""The second rung: what it lets through, and what it cannot do that the first one can."""

import os
import time

from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.workspace.launching import launch

from .conftest import ENV, ladder_on


def is_there(path):
    """Whether a path leads anywhere; that of an ended process's program does not."""
    return os.path.exists(path)


async def test_programs_find_places_for_what_they_would_keep_at_home(in_landlock):
    """Home cannot be written to, so the usual variables lead elsewhere; afterwards it is gone."""
    result = await in_landlock(
        "for place in $TMPDIR $XDG_CONFIG_HOME $XDG_CACHE_HOME; do mkdir -p $place/x && echo ok; done; echo $TMPDIR"
    )

    assert result.stdout.head.splitlines()[:3] == ["ok"] * 3
    assert not is_there(result.stdout.head.splitlines()[3])


async def test_ordinary_devices_work_and_disks_do_not(in_landlock):
    """Each device is named: as root, a disk could be read otherwise."""
    result = await in_landlock(
        "echo > /dev/null && head -c 3 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c && ls /dev | grep -cx null;"
        "for disk in /sys/class/block/*; do head -c 1 /dev/$(basename $disk); done; echo x > /dev/mem"
    )

    assert result.stdout.head.split() == ["3", "3", "1"]
    assert "Permission denied" in result.stderr.head


async def test_there_are_no_sockets_at_all(in_landlock):
    """Without a network of one's own, a way to oneself is a way to the machine."""
    for family in ("AF_INET", "AF_INET6", "AF_UNIX"):
        result = await in_landlock(f'python3 -c "import socket; socket.socket(socket.{family})" 2>&1 | tail -1')
        assert result.stdout.head == "PermissionError: [Errno 1] Operation not permitted\n"


async def test_a_list_of_hosts_counts_as_none(in_landlock):
    """And the rung says so."""
    result = await in_landlock(
        'python3 -c "import socket; socket.socket()" 2>&1 | tail -1', network="allow-list", hosts=("good.example",)
    )

    assert "Operation not permitted" in result.stdout.head
    assert any("list of allowed hosts" in gap for gap in ladder_on("landlock").rung.gaps)


async def test_when_the_shim_is_killed_its_command_is_found_by_its_mark(workspace):
    """Nobody inside can clear up then, so it is done from outside."""
    cell = Cell(ladder_on("landlock"), Confinement(workspace=workspace))
    argv = ["/bin/sh", "-c", "echo $$ > pid; exec sleep 100"]
    launched = await launch(argv, cwd=workspace, env=ENV, on_bytes=lambda *_: None, cell=cell)
    until = time.monotonic() + 20
    while not ((workspace / "pid").exists() and (workspace / "pid").read_text()):
        assert time.monotonic() < until
        await launched.child.exited_within(0.01)
    pid = int((workspace / "pid").read_text())

    os.kill(launched.pid, 9)
    await launched.child.exited_within(20)
    aftermath = launched.close()

    assert aftermath.leftovers
    while is_there(f"/proc/{pid}/exe"):
        assert time.monotonic() < until
        await launched.child.exited_within(0.01)
