"""Names that are kept free: taken while someone needs it, gone afterwards, and never anyone else's."""

import errno
import fcntl
import os
import subprocess
import sys
import time

import pytest

from agi.sandbox.holding import hold, is_settled, is_stub, settled_ctime


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_free_name_is_taken_by_an_empty_folder_and_given_back(tmp_path):
    """Nothing is left behind."""
    held = hold(str(tmp_path / "name"))

    assert (tmp_path / "name").is_dir()
    held.release()
    assert os.listdir(tmp_path) == []


def test_the_last_of_several_removes_it(tmp_path):
    """Commands run at the same time; each may be the last."""
    first, second = hold(str(tmp_path / "name")), hold(str(tmp_path / "name"))

    first.release()
    assert os.listdir(tmp_path) == ["name"]
    second.release()
    assert os.listdir(tmp_path) == []


def test_where_only_we_cannot_take_a_name_that_is_an_error(tmp_path, monkeypatch):
    """A command might make room on a full disk, and take it; where nobody can, nothing need be held."""
    _settle()
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(os, "mkdir", full_disk)
    with pytest.raises(OSError, match="No space left"):
        hold(str(tmp_path / "name"))

    assert os.listdir("/proc/self/fd") == before
    assert hold(str(tmp_path / "missing" / "name")) is None


@pytest.mark.parametrize(("call", "content"), [("write", b".\n"), ("utime", b".\n"), ("utime", None)])
def test_what_cannot_be_made_whole_is_not_left_half_made(tmp_path, monkeypatch, call, content):
    """Without content or mark it would count as somebody's own for good; an empty `commondir` is the end of git."""
    path = str(tmp_path / "name")
    _settle()
    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as full:
        full.setattr(os, call, full_disk)
        with pytest.raises(OSError, match="No space left"):
            hold(path, content)

    assert os.listdir(tmp_path) == []
    assert os.listdir("/proc/self/fd") == before
    hold(path, content).release()
    assert os.listdir(tmp_path) == []


def test_a_file_of_which_only_a_part_could_be_written_is_not_left(tmp_path, monkeypatch):
    """The disk was full in the middle."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, content: write(fd, content[:1]))

    with pytest.raises(OSError, match="No space left"):
        hold(str(tmp_path / "name"), b".\n")

    assert os.listdir(tmp_path) == []


def test_what_another_put_there_meanwhile_is_not_removed(tmp_path, monkeypatch):
    """A name that could not be held may be somebody's a moment later."""

    def replace(fd, content):
        (tmp_path / "name").unlink()
        (tmp_path / "name").mkdir()
        full_disk()

    monkeypatch.setattr(os, "write", replace)
    with pytest.raises(OSError, match="No space left"):
        hold(str(tmp_path / "name"), b".\n")

    assert os.listdir(tmp_path) == ["name"]


def refused(*_, **__):
    raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.threat("T27")
@pytest.mark.parametrize("content", [None, b".\n"])
@pytest.mark.parametrize("disk", ["refuses times", "changes times"])
def test_where_something_can_be_made_and_not_be_marked_that_is_an_error(tmp_path, monkeypatch, disk, content):
    """A command could make something there just as well: some disks let nobody set times, or set others."""
    utime, another = os.utime, 1_600_000_000 * 10**9
    rounded = lambda name, ns, **how: utime(name, ns=(another, another), **how)  # noqa: E731
    _settle()
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(os, "utime", refused if disk == "refuses times" else rounded)

    with pytest.raises(OSError, match=r"not permitted|does not keep such times"):
        hold(str(tmp_path / "name"), content)

    assert os.listdir(tmp_path) == []
    assert os.listdir("/proc/self/fd") == before


def test_a_name_that_is_not_free_is_left_alone(tmp_path):
    """What is somebody's stays, whatever it is."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nowhere")

    assert [hold(str(tmp_path / name)) for name in ("folder", "file", "link")] == [None, None, None]
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "link"]


def test_what_someone_made_his_own_meanwhile_is_left(tmp_path):
    """A user may begin to use the folder, or remove it, while a long command runs."""
    used, removed = hold(str(tmp_path / "used")), hold(str(tmp_path / "removed"))
    (tmp_path / "used" / "file").write_text("x")
    (tmp_path / "removed").rmdir()
    (tmp_path / "removed").write_text("now a file")

    used.release()
    removed.release()

    assert sorted(os.listdir(tmp_path)) == ["removed", "used"]


def test_a_file_is_taken_with_its_content_and_left_if_it_was_changed(tmp_path):
    """A changed file is somebody's."""
    same, changed = hold(str(tmp_path / "same"), b".\n"), hold(str(tmp_path / "changed"), b".\n")
    (tmp_path / "changed").write_text("../other\n")

    assert (tmp_path / "same").read_bytes() == b".\n"
    same.release()
    changed.release()
    assert os.listdir(tmp_path) == ["changed"]


def test_what_a_process_left_that_died_is_taken_over_and_removed(tmp_path):
    """A kill in the middle leaves a name behind; the next command in that folder gives it back."""
    code = f"import os; from agi.sandbox.holding import hold; hold({str(tmp_path / 'name')!r}); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert os.listdir(tmp_path) == ["name"]

    held = hold(str(tmp_path / "name"))

    held.release()
    assert os.listdir(tmp_path) == []


def test_names_are_held_on_disks_that_begin_in_1980_and_know_no_odd_seconds(tmp_path, monkeypatch):
    """As vfat and exFAT do."""
    utime, began = os.utime, 315_532_800 * 10**9

    def kept(name, ns, **how):
        times = tuple(max(time, began) // (2 * 10**9) * 2 * 10**9 for time in ns)
        utime(name, ns=times, **how)

    monkeypatch.setattr(os, "utime", kept)

    held = hold(str(tmp_path / "name"))

    assert is_stub(str(tmp_path / "name"))
    held.release()
    assert os.listdir(tmp_path) == []


def test_what_an_older_version_left_is_taken_over_too(tmp_path):
    """It said another time of itself."""
    (tmp_path / "name").mkdir()
    os.utime(tmp_path / "name", ns=(10**9, 10**9))

    assert is_stub(str(tmp_path / "name"))
    hold(str(tmp_path / "name")).release()
    assert os.listdir(tmp_path) == []


def test_where_nothing_can_be_made_nothing_is_held(tmp_path):
    """No folder, no name; then a command cannot make it either."""
    assert hold(str(tmp_path / "no" / "name")) is None
    assert hold("/proc/name") is None


def test_a_held_name_is_no_change_of_the_folder(tmp_path):
    """Whoever asks whether a command changed something must not be told of what we did for it."""
    before = os.stat(tmp_path).st_ctime_ns
    held, second = hold(str(tmp_path / "name")), hold(str(tmp_path / "other"))
    assert settled_ctime(os.stat(tmp_path)) == before
    held.release()
    second.release()
    assert settled_ctime(os.stat(tmp_path)) == before

    held = hold(str(tmp_path / "name"))
    ours = changed = os.stat(tmp_path).st_ctime_ns
    while changed == ours:  # clocks of disks are coarse
        (tmp_path / "theirs").unlink(missing_ok=True)
        (tmp_path / "theirs").write_text("x")
        changed = os.stat(tmp_path).st_ctime_ns
    held.release()

    assert settled_ctime(os.stat(tmp_path)) == changed > before


def test_no_descriptor_is_left(tmp_path):
    """Held or not; the folder's own is closed a moment later, by a thread."""
    _settle()
    before = len(os.listdir("/proc/self/fd"))
    (tmp_path / "theirs").mkdir()

    hold(str(tmp_path / "theirs"))
    hold(str(tmp_path / "name")).release()

    _settle()
    assert len(os.listdir("/proc/self/fd")) == before


def _settle() -> None:
    """Wait until all that is closed later is closed, also what tests before this one left."""
    until = time.monotonic() + 10
    while not is_settled() and time.monotonic() < until:
        os.sched_yield()


def test_a_name_is_free_as_soon_as_it_is_let_go(tmp_path):
    """Whether its descriptor is closed yet or not."""
    for _ in range(20):
        held = hold(str(tmp_path / "name"))
        held.release()

        assert not (tmp_path / "name").exists()


def test_what_others_made_of_a_name_is_theirs_also_while_the_descriptor_is_open(tmp_path):
    """No lock of ours stays on what is not removed."""
    held = hold(str(tmp_path / "name"))
    (tmp_path / "name" / "theirs").write_text("x")
    held.release()

    fd = os.open(tmp_path / "name", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)
