"""Programs that only the owner of the system can have put there."""

import os

import pytest

from agi.sandbox.trusted import find_trusted


def test_a_program_of_the_systems_is_found():
    """Through whatever links lead to it."""
    assert find_trusted("sh", "/nonexistent:/usr/bin:/bin") == os.path.realpath("/bin/sh")


def test_what_anyone_else_could_change_is_passed_over(tmp_path):
    """A file, or any folder above it."""
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)
    tmp_path.chmod(0o777)

    assert find_trusted("sh", f"{tmp_path}:.:sh") is None
    assert find_trusted("sh", f"{tmp_path}:/bin") == os.path.realpath("/bin/sh")


def test_a_link_counts_by_where_it_leads(tmp_path):
    """A link to a program of the system's is that program."""
    (tmp_path / "sh").symlink_to("/bin/sh")

    assert find_trusted("sh", str(tmp_path)) == os.path.realpath("/bin/sh")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_passed_over(tmp_path):
    """Its owner could change it."""
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)
    os.chown(tmp_path / "sh", 23456, 23456)

    assert find_trusted("sh", str(tmp_path)) is None


@pytest.mark.skipif(os.getuid() != 0, reason="to others, root's files are not their own")
def test_to_root_its_own_files_are_not_the_systems(tmp_path):
    """A repository that root cloned belongs to root, and may hold a program of any name."""
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)

    assert find_trusted("sh", f"{tmp_path}:/bin") == os.path.realpath("/bin/sh")
