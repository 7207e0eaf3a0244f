"""Temporary folders of ours: one for who asks, and nothing left of those who were killed."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agi.sandbox.scratch import make_folder, remove_folder, sweep

MADE_AND_KILLED = """
import os, signal, sys
from agi.sandbox.scratch import make_folder
folder = make_folder({"TMPDIR": sys.argv[1]})
open(f"{folder}/file", "w").close()
print(folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_is_its_makers_alone(tmp_path):
    """By its mode; it is gone with all that is in it."""
    folder = make_folder({"TMPDIR": str(tmp_path)})
    os.mkdir(f"{folder}/deep")

    assert (os.path.dirname(folder), os.stat(folder).st_mode & 0o777) == (str(tmp_path), 0o700)
    assert make_folder({"TMPDIR": str(tmp_path)}) != folder
    remove_folder(folder)
    assert not os.path.exists(folder)


def test_what_the_killed_have_left_is_removed_and_nothing_else(tmp_path):
    """What is in use, what is somebody else's by its name, and links stay."""
    env = {"TMPDIR": str(tmp_path)}
    killed = subprocess.run([sys.executable, "-c", MADE_AND_KILLED, tmp_path], capture_output=True, text=True)
    left = killed.stdout.strip()
    used = make_folder(env)
    number = os.path.basename(left).split("-")[1]
    others = [
        tmp_path / f"agi-{number}",
        tmp_path / f"agi-{number}-benchmark-output",
        tmp_path / "agi-bench-0123456789abcdef",
        tmp_path / f"agi-{number}-short",
    ]
    for other in others:
        other.mkdir()
    (tmp_path / f"agi-{number}-0123456789abcdef").symlink_to(tmp_path / "elsewhere")

    assert os.path.exists(f"{left}/file")
    sweep(env)

    kept = {os.path.basename(used), *(other.name for other in others), f"agi-{number}-0123456789abcdef"}
    assert set(os.listdir(tmp_path)) == kept


def test_what_is_held_stays_whatever_its_number_says(tmp_path):
    """Somewhere else (a container, a machine) a process of that number runs; once it is no more, its folder goes."""
    env = {"TMPDIR": str(tmp_path)}
    ended = subprocess.Popen(["true"])
    ended.wait()
    made = make_folder(env)
    elsewhere = f"{tmp_path}/agi-{ended.pid}-{made[-16:]}"
    os.rename(made, elsewhere)

    sweep(env)
    held = os.path.exists(elsewhere)
    remove_folder(made)
    sweep(env)

    assert (held, os.path.exists(elsewhere)) == (True, False)


def test_where_no_folder_can_be_made_the_usual_place_is_taken(tmp_path):
    """As where a variable leads nowhere, or is no path."""
    (no_folder := tmp_path / "program").touch(mode=0o755)
    for odd in ("", "relative", str(tmp_path / "missing"), str(no_folder)):
        folder = make_folder({"TMPDIR": odd})
        assert os.path.dirname(folder) == os.path.realpath("/tmp")
        remove_folder(folder)


def test_where_no_more_files_can_be_opened_a_folder_stays_and_that_is_no_error(tmp_path, monkeypatch):
    """Whoever is done with it has something else to tell; nothing is kept open for it."""
    folder = make_folder({"TMPDIR": str(tmp_path)})
    (Path(folder) / "file").touch()
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setitem(sys.modules, "shutil", None)

    remove_folder(folder)

    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_a_place_that_is_named_as_the_last_one_is_taken_where_no_other_takes_a_folder(tmp_path, monkeypatch):
    """By where it leads, not by how it is spelled."""
    replaced, other, link = tmp_path / "replaced", tmp_path / "other", tmp_path / "link"
    replaced.mkdir()
    other.mkdir()
    link.symlink_to(replaced)
    env = {"TMPDIR": str(link)}
    monkeypatch.setattr("agi.sandbox.scratch._USUAL", (str(other),))
    first, usual = make_folder(env, last=[str(replaced)]), make_folder(env)
    monkeypatch.setattr("agi.sandbox.scratch._USUAL", (str(tmp_path / "missing"),))
    only = make_folder(env, last=[str(replaced)])

    assert [os.path.dirname(one) for one in (first, usual, only)] == [str(other), str(replaced), str(replaced)]
    for one in (first, usual, only):
        remove_folder(one)


@pytest.mark.parametrize("when", ["made", "opened", "looked at"])
def test_a_folder_that_is_swept_while_it_is_made_is_not_given_out(tmp_path, monkeypatch, when):
    """For an agi that does not see our process the name is nobody's until it is held; then another is made."""
    env = {"TMPDIR": str(tmp_path)}
    mkdir, flock, swept, held = os.mkdir, fcntl.flock, [], []

    def make(path, mode=0o777):
        mkdir(path, mode)
        if not swept:
            swept.append(path)
            if when == "made":
                os.rmdir(path)
            if when == "looked at":  # somebody holds it, and is just about to remove it
                held.append(os.open(path, os.O_RDONLY))
                flock(held[0], fcntl.LOCK_EX)

    def lock(fd, how):
        if when == "opened" and os.path.exists(swept[0]):
            os.rmdir(swept[0])
        flock(fd, how)

    monkeypatch.setattr(os, "mkdir", make)
    monkeypatch.setattr(fcntl, "flock", lock)
    folder = make_folder(env)

    assert folder != swept[0]
    assert os.path.isdir(folder)
    assert is_held(folder)
    remove_folder(folder)
    for fd in held:
        os.close(fd)


def is_held(folder):
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def test_where_there_are_no_locks_the_number_has_to_do(tmp_path, monkeypatch):
    """As on some disks of other machines."""

    def lock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", lock)
    folder = make_folder({"TMPDIR": str(tmp_path)})

    assert os.path.dirname(folder) == str(tmp_path)
    remove_folder(folder)
