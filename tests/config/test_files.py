"""A project's files are read without leaving the project, waiting for ever or filling the memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agi.config import config_dir, project_dir, read_inside
from agi.config.files import is_inside, read_file
from agi.errors import ConfigError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".agi").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("outside")
    (tmp_path / "project" / "inside.txt").write_text("inside")
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"HOME": "/home/ada"}, "/home/ada/.config/agi"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada"}, "/etc/ada/agi"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": ""}, "/home/ada/.config/agi"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "."}, "/home/ada/.config/agi"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "repo/.config"}, "/home/ada/.config/agi"),
    ],
)
def test_the_users_folder_follows_xdg(env, expected):
    """A relative XDG_CONFIG_HOME is ignored, so that the folder one stands in cannot become the user's settings."""
    assert config_dir(env) == Path(expected)


def test_the_users_folder_is_found_without_a_home_variable(monkeypatch):
    """A service may start us without HOME."""
    monkeypatch.setenv("HOME", "/home/other")

    assert config_dir({}) == Path("/home/other/.config/agi")


def test_a_projects_folder_is_dot_agi(project):
    """Settings and data lie side by side."""
    assert project_dir(project) == project / ".agi"


def test_a_regular_file_is_read(project):
    """Also below folders."""
    (project / ".agi" / "a.json").write_text("{}")

    assert read_inside(project, ".agi/a.json", limit=10) == b"{}"


@pytest.mark.parametrize("name", ["nothing", ".agi/nothing", "no/folder/here", "inside.txt/below"])
@pytest.mark.parametrize("links", [False, True])
def test_a_missing_file_is_none(project, name, links):
    """What is not there is not an error."""
    assert read_inside(project, name, limit=10, links=links) is None


def test_a_missing_project_has_no_files(tmp_path):
    """Nor is a folder that is not there."""
    assert read_inside(tmp_path / "gone", "a", limit=10) is None


@pytest.mark.parametrize(
    "name", ["../outside.txt", "/etc/passwd", "a/../inside.txt", "./inside.txt", "", "a\0b", "a//b"]
)
def test_only_plain_relative_paths_are_read(project, name):
    """A path that could mean another file is refused."""
    with pytest.raises(ConfigError, match="not a path inside the project"):
        read_inside(project, name, limit=100)


@pytest.mark.parametrize("target", ["../outside.txt", "inside.txt", "nowhere", "link"])
def test_a_symlink_is_refused(project, target):
    """What is trusted by its content must be the file itself, not a pointer to one."""
    (project / "link").symlink_to(target)
    with pytest.raises(ConfigError, match="symlink"):
        read_inside(project, "link", limit=100)


@pytest.mark.parametrize("target", ["..", ".", "nowhere"])
def test_a_symlinked_folder_is_refused(project, target):
    """Links on the way count too."""
    (project / "folder").symlink_to(target, target_is_directory=True)
    with pytest.raises(ConfigError, match="reached through a symlink"):
        read_inside(project, "folder/inside.txt", limit=100)


def test_links_that_stay_inside_can_be_followed(project):
    """`AGENTS.md -> docs/AGENTS.md` is ordinary."""
    (project / "docs").mkdir()
    (project / "docs" / "link").symlink_to("../inside.txt")

    assert read_inside(project, "docs/link", limit=100, links=True) == b"inside"


@pytest.mark.parametrize("name", ["../outside.txt", "link", "folder/outside.txt", "/etc/passwd", "a\0b"])
def test_links_that_lead_out_are_never_followed(project, name):
    """Neither a link, nor a linked folder, nor a path that climbs."""
    (project / "link").symlink_to("../outside.txt")
    (project / "folder").symlink_to("..", target_is_directory=True)
    with pytest.raises(ConfigError, match="leads out of the project"):
        read_inside(project, name, limit=100, links=True)


def test_a_symlink_that_turns_in_a_circle_is_refused(project):
    """It ends."""
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")
    with pytest.raises(ConfigError):
        read_inside(project, "a", limit=100, links=True)


def test_a_pipe_and_a_folder_are_refused_at_once(project):
    """Reading a FIFO nobody writes to would wait for ever."""
    os.mkfifo(project / "pipe")
    for name in ("pipe", ".agi"):
        with pytest.raises(ConfigError, match="not a regular file"):
            read_inside(project, name, limit=100)


def test_a_device_is_refused(tmp_path):
    """So would /dev/zero fill the memory."""
    with pytest.raises(ConfigError, match="not a regular file"):
        read_file(Path("/dev/zero"), limit=100)


def test_a_file_over_the_limit_is_refused_or_cut(project):
    """With `cut` one byte more than the limit is given, so that the caller can tell."""
    (project / "long").write_bytes(b"x" * 101)
    with pytest.raises(ConfigError, match="larger than 100 bytes"):
        read_inside(project, "long", limit=100)

    assert read_inside(project, "long", limit=100, cut=True) == b"x" * 101
    assert read_inside(project, "long", limit=101) == b"x" * 101


def test_no_descriptor_is_left_open(project):
    """Whether a file is read, missing or refused."""
    os.mkfifo(project / "pipe")
    (project / "link").symlink_to("..")
    before = len(os.listdir("/proc/self/fd"))
    for name in ("inside.txt", "nothing", "pipe", "link", "link/x", ".agi", "inside.txt/x"):
        try:
            read_inside(project, name, limit=100)
        except ConfigError:
            continue

    assert len(os.listdir("/proc/self/fd")) == before


def test_inside_is_decided_with_links_followed(project, tmp_path):
    """A sibling whose name begins alike is outside; a link to the inside is inside."""
    (tmp_path / "project-evil").mkdir()
    (tmp_path / "way-in").symlink_to(project / ".agi")

    assert is_inside(project, project)
    assert is_inside(tmp_path / "way-in" / "new", project)
    assert not is_inside(tmp_path / "project-evil", project)
    assert is_inside(project, Path("/"))
