"""How a command ends: one sentence and what to do, whoever is at fault."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys

import pytest

from agi.cli import exits

WITHOUT_OVERRIDE = [
    *("setpriv", "--bounding-set", "-dac_override,-dac_read_search"),
    *("--inh-caps", "-dac_override,-dac_read_search"),
]
AS_ANYBODY = [] if os.geteuid() else WITHOUT_OVERRIDE
"""Nothing is forbidden to root as long as it has these rights."""


def unprivileged(cli, *command):
    """Run a command without the right to read what is forbidden to it."""
    whole = [*AS_ANYBODY, sys.executable, "-m", "agi.cli.main", *command]
    return subprocess.run(whole, env=cli.env, cwd=cli.project, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("command", [("hello",), ("sessions",), ("gc",), ("serve", "--port", "0"), ("log", "verify")])
def test_a_data_folder_that_may_not_be_read_is_named_with_what_to_do(cli, command):
    """It is no fault of ours, and is not called one."""
    data = cli.project / ".agi"
    data.mkdir(mode=0o000)
    process = unprivileged(cli, *command)
    data.chmod(0o700)

    assert (process.returncode, process.stdout) == (1, "")
    first, second = process.stderr.splitlines()
    assert first.startswith(f"agi: {data}")
    assert first.endswith("Permission denied.")
    assert second.startswith("     ")


def test_doctor_tells_of_a_data_folder_that_may_not_be_read_and_goes_on(cli):
    """What is broken is a finding, and not the end of looking."""
    data = cli.project / ".agi"
    data.mkdir(mode=0o000)
    process = unprivileged(cli, "doctor")
    data.chmod(0o700)

    assert process.returncode == 1
    assert f"✗ data folder  {data} (mode 000) cannot be read and written." in process.stdout
    assert "git" in process.stdout


@pytest.mark.parametrize("number", sorted(exits.OUTSIDE))
def test_what_a_disk_refuses_is_told_with_its_path(capfd, number):
    """And with a hint, instead of a request to report it."""
    code = exits.report_unexpected(OSError(number, os.strerror(number), "/some/where"))

    err = capfd.readouterr().err
    assert code == exits.FAILED
    assert err.startswith(f"agi: /some/where cannot be used: {os.strerror(number)}.\n     ")
    assert "report it" not in err


@pytest.mark.parametrize(
    "error", [OSError(errno.EACCES, "no path"), OSError(errno.EBADF, "Bad", "/x"), ValueError("odd")]
)
def test_what_nobody_foresaw_is_ours(capfd, error):
    """Then it is asked to be reported."""
    assert exits.report_unexpected(error) == exits.FAILED
    assert "Please report it." in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (sqlite3.DatabaseError("database disk image is malformed"), True),
        (sqlite3.OperationalError("Could not decode to UTF-8 column 'data' with text 'x'"), True),
        (sqlite3.OperationalError("no such column: nmae"), False),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), False),
    ],
    ids=str,
)
def test_a_damaged_database_is_told_with_what_to_do(capfd, error, is_told):
    """Whoever came upon it; a statement of ours that is wrong is still our fault."""
    assert exits.report_unexpected(error) == exits.FAILED

    said = capfd.readouterr().err
    assert ("agi repair" in said) == is_told
    assert ("Please report it" in said) != is_told
