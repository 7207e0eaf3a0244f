"""Looking before and after: what may not change is put back, and what was put in its place is set aside."""

import os

import pytest

from agi.sandbox.watch import Watch


@pytest.fixture
def project(workspace):
    (workspace / ".git/hooks").mkdir(parents=True)
    (workspace / ".git/config").write_text("[core]\n")
    (workspace / ".git/hooks/pre-commit").write_text("theirs")
    (workspace / ".git/hooks/pre-commit").chmod(0o755)
    (workspace / ".agi").mkdir()
    (workspace / ".agi/config.json").write_text("{}")
    return workspace


def test_nothing_changed_is_nothing_said(project):
    """Other files are none of its business."""
    watch = Watch(str(project))
    (project / "file").write_text("x")
    (project / ".git/index").write_text("x")
    (project / ".agi/agi.sqlite").write_text("x")

    assert watch.put_back() == ()
    assert (project / "file").read_text() == "x"


def test_changed_added_and_removed_files_are_put_back(project):
    """With their modes; what stood there can still be found."""
    watch = Watch(str(project))
    (project / ".git/config").write_text("[core] fsmonitor = evil\n")
    (project / ".git/hooks/pre-commit").unlink()
    (project / ".git/hooks/pre-push").write_text("evil")
    (project / ".mcp.json").write_text("{}")

    said = watch.put_back()

    assert said == (
        "put back, since commands may not change it: "
        ".git/config, .git/hooks/pre-commit, .git/hooks/pre-push, .mcp.json",
    )
    assert (project / ".git/config").read_text() == "[core]\n"
    assert os.stat(project / ".git/hooks/pre-commit").st_mode & 0o777 == 0o755
    assert not (project / ".git/hooks/pre-push").exists()
    assert (project / ".git/hooks/pre-push.refused-1").read_text() == "evil"
    assert not (project / ".mcp.json").exists()
    assert Watch(str(project)).put_back() == ()


def test_a_mode_counts(project):
    """A hook that may suddenly run is a changed hook."""
    (project / ".git/hooks/pre-commit").chmod(0o644)
    watch = Watch(str(project))
    (project / ".git/hooks/pre-commit").chmod(0o755)

    assert watch.put_back()
    assert os.stat(project / ".git/hooks/pre-commit").st_mode & 0o777 == 0o644


@pytest.mark.threat("T16")
def test_a_planted_link_does_not_lead_out(project, tmp_path):
    """Putting back writes where the file was, not where a link leads."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "pre-commit").write_text("precious")
    watch = Watch(str(project))
    (project / ".git/hooks").rename(project / "away")
    (project / ".git/hooks").symlink_to(victim)
    (project / ".git/config").unlink()
    (project / ".git/config").symlink_to(victim / "pre-commit")

    watch.put_back()

    assert (victim / "pre-commit").read_text() == "precious"
    assert os.listdir(victim) == ["pre-commit"]
    assert not (project / ".git/config").is_symlink()
    assert (project / ".git/hooks/pre-commit").read_text() == "theirs"


def test_a_repository_swapped_for_a_link_is_refused(project, tmp_path):
    """The link goes aside; what it leads to is not touched."""
    watch = Watch(str(project))
    (project / ".git").rename(project / "away")
    (tmp_path / "evil/hooks").mkdir(parents=True)
    (project / ".git").symlink_to(tmp_path / "evil")

    assert watch.put_back()
    assert not (project / ".git").is_symlink()
    assert os.listdir(tmp_path / "evil/hooks") == []


@pytest.mark.parametrize(("may", "left"), [(False, [".git.refused-1"]), (True, [".git"])])
def test_a_new_repository_goes_aside_unless_it_may_be_made(workspace, may, left):
    """It would have hooks of the command's choosing."""
    watch = Watch(str(workspace), may_create_repository=may)
    (workspace / ".git/hooks").mkdir(parents=True)
    (workspace / ".git/config").write_text("evil")

    assert bool(watch.put_back()) is not may
    assert os.listdir(workspace) == left


def test_large_and_odd_files_are_compared_not_kept(project):
    """A huge hook cannot fill our memory; it is set aside when it changes, and said."""
    (project / ".git/hooks/huge").write_bytes(b"x" * (2 << 20))
    os.mkfifo(project / ".git/hooks/pipe")
    watch = Watch(str(project))
    assert watch.put_back() == ()
    (project / ".git/hooks/huge").write_bytes(b"y" * (2 << 20))

    assert ".git/hooks/huge" in watch.put_back()[0]


def test_names_a_command_chose_can_be_told(project):
    """They may hold anything."""
    watch = Watch(str(project))
    (project / os.fsdecode(b".git/hooks/\xff\n")).write_text("evil")

    (note,) = watch.put_back()

    assert note.encode()
    assert note.isprintable()


def test_no_descriptor_is_left(project):
    """However it went."""
    before = len(os.listdir("/proc/self/fd"))
    watch = Watch(str(project))
    (project / ".mcp.json").write_text("{}")
    watch.put_back()

    assert len(os.listdir("/proc/self/fd")) == before
