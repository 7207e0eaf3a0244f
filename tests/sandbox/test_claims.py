"""Folders that are held while their maker lives."""

import os
import signal
import subprocess
import sys

import pytest

from agi.sandbox.claims import claim, unclaimed

HOLDING = """
import sys
from agi.sandbox.claims import claim
held = claim(sys.argv[1])
print(held is not None, flush=True)
sys.stdin.read()
"""


def test_what_a_process_holds_is_nobody_elses_until_it_ends(tmp_path):
    """However it ends; also before it has closed anything."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "True\n"
        with pytest.raises(BlockingIOError), unclaimed(str(tmp_path)):
            pass
        with pytest.raises(FileNotFoundError):
            claim(str(tmp_path))
        other.send_signal(signal.SIGKILL)
        other.wait()

    with unclaimed(str(tmp_path)):
        pass
    held = claim(str(tmp_path))
    assert held is not None
    os.close(held)


def test_a_folder_that_is_not_there_is_not_held(tmp_path):
    """Whoever made it makes another."""
    with pytest.raises(FileNotFoundError):
        claim(str(tmp_path / "swept"))


def test_what_cannot_be_opened_is_not_held_and_not_refused(tmp_path):
    """Its name has to do, as where no more files can be opened."""
    (tmp_path / "link").symlink_to(tmp_path)

    assert claim(str(tmp_path / "link")) is None
