"""Ways out: each is tried on each rung that keeps commands in, as this user and as another, and refused or known."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agi.sandbox.ladder import CONFINING

from .conftest import environment_of_another, python_of

HERE = Path(__file__).parent
OTHER_USER = 23456

MEANS_NOTHING = {
    "namespaces": {"plant_a_start_up_file", "send_by_udp"},
    "bubblewrap": {"plant_a_start_up_file", "send_by_udp"},
    "landlock": set(),
}
"""What works inside, on things of one's own: nothing of it is seen outside, which is looked at too."""
OF_DEVICES = ("change_a_device_that_is_everybodys", "change_the_times_of_a_device_that_is_everybodys")
KNOWN = {
    "namespaces": {},
    "bubblewrap": dict.fromkeys(OF_DEVICES, "the mode and times of the machine's /dev/null and its like"),
    "landlock": dict.fromkeys(
        ("change_a_mode_outside", *OF_DEVICES), "The mode, owner and times of files outside can be changed"
    ),
}
"""What gets past, and how the rung says so of itself."""


@pytest.fixture
def folder():
    made = Path(tempfile.mkdtemp(prefix="agi-", dir="/var/tmp"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


def as_this_user():
    return [sys.executable]


def as_another_user():
    return python_of(OTHER_USER)


@pytest.mark.threat("T15", "T32")
@pytest.mark.parametrize("python", [as_this_user, as_another_user])
@pytest.mark.parametrize("rung", CONFINING)
def test_every_way_out_is_refused_or_known(rung, python, folder):
    """What gets past a rung is told by the rung itself; nothing else does, and outside nothing is touched."""
    command = [*python(), str(HERE / "escaping.py"), rung, str(folder / "world")]
    ran = subprocess.run(command, env=environment_of_another(), capture_output=True, text=True, timeout=110)
    if "does not work here" in ran.stderr:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)

    assert (said["rung"], said["exit_code"], said["damage"]) == (rung, 0, [])
    assert len(said["outcomes"]) > 60
    through = {name for name, outcome in said["outcomes"].items() if not outcome["refused"]}
    assert through - MEANS_NOTHING[rung] <= KNOWN[rung].keys()
    for name in through & KNOWN[rung].keys():
        assert any(KNOWN[rung][name] in gap for gap in said["gaps"])
