"""Which daemon to believe: a file that came with the project, or was left behind, leads nowhere."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agi.client.running import is_locked, locked, running_daemon
from agi.errors import Conflict, StorageError


def record(here, **changes: object) -> None:
    """Write a daemon's record, right in every respect but the changes."""
    here.data.mkdir(mode=0o700, exist_ok=True)
    path = here.data / "daemon.json"
    fields = {"url": "http://127.0.0.1:8787", "pid": os.getpid(), "started_at": "2026", "token": "t" * 20}
    path.write_text(json.dumps({**fields, **changes}))
    path.chmod(0o600)


@contextmanager
def held(here) -> Iterator[None]:
    """Hold the lock as a daemon does."""
    here.data.mkdir(mode=0o700, exist_ok=True)
    with open(here.data / "daemon.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_daemon_that_lives_is_found(here):
    """Its address and token are what it wrote."""
    record(here)
    with held(here):
        found = running_daemon(here.project)

    assert found is not None
    assert (found.url, found.token) == ("http://127.0.0.1:8787", "t" * 20)


def test_without_the_lock_the_record_is_stale_or_planted(here):
    """A file alone proves nothing, whoever's process it names."""
    record(here)
    assert running_daemon(here.project) is None
    (here.data / "daemon.lock").touch()
    assert running_daemon(here.project) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"pid": 2**22 + 12345},
        {"pid": 0},
        {"pid": -1},
        {"pid": 2**70},
        {"url": "file:///etc/passwd"},
        {"url": 7},
        {"token": None},
    ],
    ids=str,
)
def test_a_record_that_makes_no_sense_is_ignored(here, changes):
    """No such process, no such address, no such shape."""
    record(here, **changes)
    with held(here):
        assert running_daemon(here.project) is None


def test_a_record_others_can_read_or_write_is_ignored(here):
    """It holds a token; only its owner may have touched it."""
    record(here)
    (here.data / "daemon.json").chmod(0o644)
    with held(here):
        assert running_daemon(here.project) is None


def test_a_record_behind_a_link_is_ignored(here, tmp_path):
    """The project cannot point at somebody else's file."""
    record(here)
    elsewhere = tmp_path / "elsewhere.json"
    (here.data / "daemon.json").rename(elsewhere)
    (here.data / "daemon.json").symlink_to(elsewhere)
    with held(here):
        assert running_daemon(here.project) is None


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(here):
    """Neither the record nor the lock is waited for."""
    here.data.mkdir()
    os.mkfifo(here.data / "daemon.json", 0o600)
    os.mkfifo(here.data / "daemon.lock", 0o600)

    assert running_daemon(here.project) is None
    assert not is_locked(here.project)


def test_where_there_is_no_folder_there_is_no_daemon(here):
    """And none is made by looking."""
    assert running_daemon(here.project) is None
    assert not here.data.exists()


def test_the_lock_keeps_daemons_out_and_says_who_is_in(here):
    """Whoever repairs has the folder alone."""
    here.data.mkdir()
    with locked(here.project):
        assert is_locked(here.project)
    assert not is_locked(here.project)
    record(here)
    with held(here), pytest.raises(Conflict, match=f"process {os.getpid()}"), locked(here.project):
        pass


def test_a_lock_that_is_taken_away_meanwhile_is_taken_anew(here, monkeypatch):
    """A daemon that is refused removes its own; whoever had just opened that one would hold what nobody else finds."""
    here.data.mkdir()
    flock, lock = fcntl.flock, here.data / "daemon.lock"

    def removed_first(descriptor: int, how: int) -> None:
        monkeypatch.undo()
        lock.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    with locked(here.project):
        assert is_locked(here.project)


@pytest.mark.parametrize("thing", ["folder", "link"])
def test_what_stands_in_place_of_the_lock_is_named(here, thing):
    """It stays there, and what helps is said."""
    here.data.mkdir()
    lock = here.data / "daemon.lock"
    lock.mkdir() if thing == "folder" else lock.symlink_to("elsewhere")

    with pytest.raises(StorageError, match="cannot be opened") as refused, locked(here.project):
        pass

    assert "is no link or folder" in refused.value.hint
    assert os.path.lexists(lock)
