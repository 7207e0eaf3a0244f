"""Processes of a job whose daemon is gone."""

import os
import subprocess
from pathlib import Path

from agi.jobs.survivors import MARKER, end_survivors, survivors


def start(mark, *argv):
    env = {**os.environ, MARKER: mark}
    return subprocess.Popen(argv or ("sleep", "100"), env=env, start_new_session=True, stdout=subprocess.PIPE)


def test_they_are_found_by_their_mark_and_ended():
    """Wherever they went; others are left alone."""
    one, other = start("job_mine"), start("job_other")
    leaving = start("job_mine", "bash", "-c", "setsid sleep 100 & echo $!")
    away = int(leaving.stdout.readline())
    leaving.wait()
    while not Path(f"/proc/{away}/cmdline").read_bytes().startswith(b"sleep"):
        pass  # a process that is just becoming another program has no environment to look at
    try:
        found = survivors(["job_mine"])
        ended = end_survivors(["job_mine"])

        assert found == {one.pid, away}
        assert ended >= 2
        assert one.wait(10) == -9
        assert other.poll() is None
        assert survivors(["job_mine"]) == set()
    finally:
        for process in (one, other, leaving):
            process.kill()
            process.wait()
            process.stdout.close()


def test_a_mark_is_compared_whole():
    """One that begins like another is another."""
    process = start("job_mine_2")
    try:
        assert survivors(["job_mine", "", "ob_mine_2"]) == set()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_nothing_to_look_for_is_not_looked_for():
    """It would be slow."""
    assert end_survivors([]) == 0
