"""Where there is nothing to keep commands in with, they still have limits."""

import subprocess

from agi.sandbox.base import Confinement, Limits
from agi.sandbox.plain import Plain

from .conftest import ENV


def test_a_command_runs_with_limits_and_nothing_else(workspace):
    """It is over when it is over; nothing has to be given back."""
    confinement = Confinement(workspace=workspace, limits=Limits(open_files=200))
    wrapped = Plain().wrap(["/bin/sh", "-c", "ulimit -n; exit 3"], confinement, cwd="/", env=ENV, grouped=False)
    ended = subprocess.run(wrapped.argv, env=wrapped.env, capture_output=True, text=True)
    wrapped.started(1)

    assert (ended.stdout, ended.returncode) == ("200\n", 3)
    assert wrapped.close().started
