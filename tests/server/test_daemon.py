"""One daemon a folder: the lock decides, the record only says where."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agi.config.daemon import DaemonRecord, read_record
from agi.errors import Conflict, StorageError
from agi.server import daemon
from agi.server.daemon import Berth


@pytest.mark.threat("T17")
def test_the_record_is_private_and_tells_where(tmp_path: Path) -> None:
    """URL, process, time and token, for its owner's eyes; gone when the daemon leaves."""
    berth = Berth(tmp_path)
    berth.announce("http://127.0.0.1:1", "secret")

    record = read_record(tmp_path)

    assert record is not None
    assert (record.url, record.pid, record.token) == ("http://127.0.0.1:1", os.getpid(), "secret")
    assert record.started_at.endswith("Z")
    assert stat.S_IMODE((tmp_path / "daemon.json").stat().st_mode) == 0o600
    berth.leave()
    assert read_record(tmp_path) is None
    assert sorted(os.listdir(tmp_path)) == ["daemon.lock"]


def test_a_second_daemon_is_told_of_the_first(tmp_path: Path) -> None:
    """By its process and its address."""
    berth = Berth(tmp_path)
    with pytest.raises(Conflict, match="already") as early:
        Berth(tmp_path)
    berth.announce("http://127.0.0.1:1", "secret")
    with pytest.raises(Conflict, match=f"process {os.getpid()} at http://127.0.0.1:1") as late:
        Berth(tmp_path)
    assert early.value.code == late.value.code == "daemon_running"
    assert "secret" not in f"{late.value.message}{late.value.hint}"
    berth.leave()
    Berth(tmp_path).leave()


def test_a_data_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A file stands where it belongs, and stays as it is."""
    in_the_way = tmp_path / ".agi"
    in_the_way.write_text("mine")

    with pytest.raises(StorageError, match="cannot be made") as told:
        Berth(in_the_way)
    assert told.value.hint
    assert in_the_way.read_text() == "mine"


def test_a_daemon_that_never_was_leaves_nothing_that_it_made(tmp_path: Path) -> None:
    """What was there before, and what others put there meanwhile, stays."""
    Berth(tmp_path / "new").leave()
    (tmp_path / "old").mkdir()
    Berth(tmp_path / "old").leave()
    berth = Berth(tmp_path / "used")
    (tmp_path / "used" / "agi.sqlite").write_text("x")
    berth.leave()
    (tmp_path / "old" / "daemon.lock").touch()
    Berth(tmp_path / "old").leave()

    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "old",
        "old/daemon.lock",
        "used",
        "used/agi.sqlite",
    ]


def test_a_lock_that_was_taken_away_while_it_was_waited_for_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds a file that nobody else would find makes it anew: there is one daemon a folder."""
    folder = tmp_path / ".agi"
    first = Berth(folder)
    flock, left = fcntl.flock, [first.leave]

    def after_the_first_left(fd: int, how: int) -> None:
        if left:
            left.pop()()
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", after_the_first_left)
    second = Berth(folder)
    with pytest.raises(Conflict):
        Berth(folder)
    second.announce("http://127.0.0.1:1", "secret")
    second.leave()


@pytest.mark.threat("T54")
def test_a_killed_daemon_leaves_its_place_free(tmp_path: Path) -> None:
    """The lock dies with its process; a record that is left behind keeps nobody out."""
    script = (
        "import os, sys, pathlib; from agi.server.daemon import Berth; "
        "Berth(pathlib.Path(sys.argv[1])).announce('http://x', 't'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    left = read_record(tmp_path)
    assert left is not None

    berth = Berth(tmp_path)
    berth.leave()

    assert read_record(tmp_path) == left  # somebody else's record is not ours to remove


CHILD = """
import os, pathlib, sys
from agi.server.daemon import Berth

Berth(pathlib.Path(sys.argv[1])).announce("http://x", "t")
if os.fork():
    os._exit(9)
os.write(1, b"held")  # a command that was forked and has not begun: it still has all that the daemon had
os.read(0, 1)
"""


@pytest.fixture(params=["collected", "not yet collected"])
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon that died while a child of it was about to become a command; not every parent collects its children."""
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"held"
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if request.param == "collected":
            assert process.wait() == 9
        yield process


@pytest.mark.threat("T54")
def test_a_child_that_a_killed_daemon_was_about_to_start_is_waited_for(
    tmp_path: Path, killed: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the lock for a moment more; whoever starts the daemon again at once is not turned away."""
    pauses: list[bytes] = []

    def begins() -> None:
        killed.stdin.close()  # type: ignore[union-attr]
        pauses.append(killed.stdout.read())  # type: ignore[union-attr]  # returns when the child is gone

    monkeypatch.setattr(daemon, "_pause", begins)
    Berth(tmp_path).leave()

    assert pauses == [b""]


@pytest.mark.threat("T54")
def test_a_lock_that_is_not_given_back_is_not_waited_for_without_end(
    tmp_path: Path, killed: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has it, whoever it is."""
    pauses: list[None] = []
    monkeypatch.setattr(daemon, "_pause", lambda: pauses.append(None))

    with pytest.raises(Conflict, match="already"):
        Berth(tmp_path)
    assert len(pauses) == daemon.PAUSES


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"url": 1}', b"\xff", b'{"url":"u","pid":1,"token":"t"}'])
def test_a_damaged_record_is_none(tmp_path: Path, content: bytes) -> None:
    """Nobody can say, so nobody says."""
    (tmp_path / "daemon.json").write_bytes(content)
    assert read_record(tmp_path) is None


@pytest.mark.threat("T17")
def test_links_are_not_followed(tmp_path: Path) -> None:
    """A repository cannot point our lock or our record elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text('{"url": "http://evil", "pid": 1, "started_at": "now", "token": "t"}')
    folder = tmp_path / ".agi"
    folder.mkdir()
    (folder / "daemon.json").symlink_to(elsewhere)
    assert read_record(folder) is None
    berth = Berth(folder)
    berth.announce("http://127.0.0.1:1", "secret")
    assert "secret" not in elsewhere.read_text()
    assert isinstance(read_record(folder), DaemonRecord)
    berth.leave()
    (folder / "daemon.lock").unlink()
    (folder / "daemon.lock").symlink_to(elsewhere)
    with pytest.raises(StorageError) as refused:
        Berth(folder)
    assert "daemon.lock in it is no link" in refused.value.hint
