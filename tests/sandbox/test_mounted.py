"""File systems of the kernel's below the workspace: they are found, and a command writes nothing to them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agi.sandbox import mounted
from agi.sandbox.ladder import CONFINING
from agi.sandbox.mounted import kernel_mounts

from .conftest import APART

TABLE = rb"""22 27 0:21 / /proc rw,relatime - proc proc rw
40 27 0:50 / /w/root/proc rw shared:5 - proc proc rw
41 27 0:51 / /w/a\040b\134c/sys rw - sysfs none rw
42 27 0:52 / /w/disk rw - ext4 /dev/sda rw
43 27 0:53 / /workspaces/proc rw - proc proc rw
44 27 0:54 / /w/root/proc rw - proc proc rw
"""
MOUNTS = """
mount -t proc proc "$1/a b/proc" && mount -t sysfs sysfs "$1/a b/sys" && mount -t proc proc "$1/.agi/proc" &&
mount -t tmpfs none "$1/disk" && shift && exec "$@"
"""
OPEN = ": >> 'a b/proc/sys/kernel/core_pattern' || : >> 'a b/sys/power/state'"
"""Opened for writing, and nothing is written: the day this is let through must not be a day of harm."""


def in_a_root_of_its_own(rung, workspace, *commands):
    """What came of commands where a system's root, with its `/proc`, lies in the workspace; none of it is left."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare, to mount something")
    for name in ("a b/proc", "a b/sys", ".agi/proc", "disk"):
        (workspace / name).mkdir(parents=True)
    script = str(Path(__file__).with_name("one_by_one.py"))
    inside = [sys.executable, script, rung, str(workspace), json.dumps(commands)]
    command = ["unshare", "-m", "sh", "-c", MOUNTS, "sh", str(workspace), *inside]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=110)
    if "does not work here" in ran.stderr:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.threat("T32")
@pytest.mark.parametrize("rung", CONFINING)
def test_the_kernels_settings_are_not_changed_through_a_mount_in_the_workspace(rung, elsewhere):
    """Root could name there a program for the kernel to run; power is not asked for."""
    [said] = in_a_root_of_its_own(rung, elsewhere, OPEN)

    assert said[0] != 0
    assert "Read-only file system" in said[2] or said[0] == "sandbox_failed"


@pytest.mark.parametrize("rung", APART)
def test_other_mounts_in_the_workspace_can_be_changed(rung, elsewhere):
    """Only the kernel's own are kept."""
    [said] = in_a_root_of_its_own(rung, elsewhere, "echo x > disk/file && echo x > 'a b/file' && cat disk/file")

    assert said[:2] == [0, "x\n"]


def test_those_below_the_places_named_are_found_and_no_others(monkeypatch):
    """Each once, by its name as it is; a place whose name only begins alike is another."""
    monkeypatch.setattr(mounted, "_read", lambda path: TABLE)

    assert kernel_mounts(["/w"]) == ["/w/root/proc", "/w/a b\\c/sys"]
    assert kernel_mounts(["/w/a b\\c"]) == ["/w/a b\\c/sys"]
    assert kernel_mounts(["/w/root/proc", "/w/disk"]) == ["/w/root/proc"]
    assert kernel_mounts(["/work", "/w/disk", "/w/roo"]) == []
