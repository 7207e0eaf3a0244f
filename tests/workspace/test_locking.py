"""One process at a time in a folder."""

import fcntl
import os
import subprocess
import sys

import pytest

from agi.errors import Conflict
from agi.workspace import locking
from agi.workspace.locking import locked


@pytest.fixture
def folder(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_another_process_waits_until_the_folder_is_free(folder, tmp_path):
    """And a folder named twice is locked once."""
    code = (
        "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); print('in', flush=True)"
    )
    with locked([folder, folder]):
        other = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True)
        assert other.poll() is None
    out, _ = other.communicate(timeout=30)

    assert out == "in\n"


def test_nobody_is_waited_for_without_end(folder, tmp_path, monkeypatch):
    """It is said instead, and the lock that was had is let go."""
    monkeypatch.setattr(locking, "_PATIENCE_S", 0.0)
    theirs = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(theirs, fcntl.LOCK_EX)
    with pytest.raises(Conflict, match="holds the folder locked"), locked([folder]):
        pass
    os.close(theirs)

    with locked([folder]):
        pass
