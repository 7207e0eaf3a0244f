"""The ladder: the best that works is taken, and what does not work is said."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from agi.sandbox.ladder import Ladder

from .conftest import ENV, LADDERS, ladder_on

REFUSING = """
import ctypes, json, struct, sys
from agi.sandbox.ladder import Ladder

rules = ((0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *rule) for rule in rules), 32)
program = struct.pack("@HP", 4, ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
rung = Ladder({"PATH": "/nonexistent"}).rung
print(json.dumps([rung.name, rung.gaps, rung.why, rung.confines]))
"""
"""A process for which Landlock does not exist: the kernel is made to say so."""


def test_the_first_rung_is_taken_where_it_works():
    """It says what it does not hold."""
    rung = ladder_on("bubblewrap").rung

    assert (rung.name, rung.confines, rung.why) == ("bubblewrap", True, ())
    assert any("can be read" in gap for gap in rung.gaps)


@pytest.mark.threat("T36")
def test_without_bubblewrap_the_second_is_taken():
    """And says why, and what gets past it."""
    rung = ladder_on("landlock").rung

    assert (rung.name, rung.confines) == ("landlock", True)
    assert rung.why == ("bubblewrap: not installed where only the system's owner can change it",)
    assert any(".git/hooks" in gap for gap in rung.gaps)


@pytest.mark.threat("T36")
def test_without_landlock_there_is_nothing_and_that_is_said():
    """Both reasons are told."""
    said = subprocess.run([sys.executable, "-c", REFUSING], capture_output=True, text=True, check=True, env=os.environ)
    name, gaps, why, confines = json.loads(said.stdout)

    assert (name, confines) == ("none", False)
    assert gaps == ["Commands run as you: they can read, change and reach everything that you can."]
    assert why == [
        "bubblewrap: not installed where only the system's owner can change it",
        "Landlock: not offered by this kernel",
    ]


def test_switched_off_is_nothing_too():
    """Then nothing is tried."""
    rung = Ladder(ENV, "off").rung

    assert (rung.name, rung.why) == ("none", ("switched off (sandbox.mode)",))


@pytest.mark.threat("T36")
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create new namespace"),
        ('while [ $# -gt 0 ]; do [ "$1" = -- ] && break; shift; done; shift; exec "$@"', "does not keep commands in"),
        ("exit 0", "does not let commands work"),
    ],
)
def test_a_program_that_is_there_but_does_not_work_is_not_trusted(tmp_path, monkeypatch, script, why):
    """It is tried, not just looked for: one that lets everything through is no sandbox."""
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\n[ "$1" = --help ] && exit 0\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *_: str(program))

    rung = Ladder(ENV).rung

    assert rung.name != "bubblewrap"
    assert why in rung.why[0]


def test_what_holds_is_found_out_once_and_again_after_a_failure(monkeypatch):
    """Probing takes milliseconds, and machines change."""
    asked = []
    ladder = Ladder({"PATH": "/nonexistent"})
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *words: asked.append(words))
    assert ladder.rung == ladder.rung
    assert len(asked) == 1

    ladder.failed()
    assert ladder.rung
    assert len(asked) == 2


@pytest.mark.threat("T36")
def test_a_planted_bubblewrap_is_not_used(tmp_path):
    """Neither in a folder that this user or everyone may write to, nor on a relative part of PATH."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    tmp_path.chmod(0o777)
    (tmp_path / "bwrap").write_text("#!/bin/sh\ntouch /tmp/planted\n")
    (tmp_path / "bwrap").chmod(0o755)

    rung = Ladder({**ENV, "PATH": f"{tmp_path}:.:{ENV['PATH']}"}).rung

    assert rung == LADDERS["bubblewrap"].rung
