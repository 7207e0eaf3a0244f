"""A real folder, as it is looked at for what verifies it."""

from __future__ import annotations

import os

import pytest

from agi.policy.detecting import detect
from agi.sessions.looked import TEXT_LIMIT, Looked
from agi.workspace.handle import Workspace


@pytest.fixture
def looked(tmp_path):
    """The folder, held open."""
    with Workspace.open(tmp_path) as workspace:
        yield Looked(workspace)


def test_a_folder_with_an_environment_is_tested_by_it(tmp_path, looked):
    """Its python is a link that leads out of the folder; it is named, not followed."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to("/usr/bin/env")
    (tmp_path / ".venv" / "bin" / "pytest").touch()
    (tmp_path / "pytest.ini").touch()

    assert detect(looked).commands == (".venv/bin/python -m pytest -q",)


def test_what_cannot_be_read_is_not_there(tmp_path, looked):
    """Links that lead out, pipes, folders with a file's name."""
    (tmp_path / "Makefile").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pyproject.toml")
    (tmp_path / "package.json").mkdir()
    (tmp_path / "tests").symlink_to("/usr")

    assert (looked.text("Makefile"), looked.text("pyproject.toml"), looked.names("tests")) == ("", "", ())
    assert detect(looked).commands == ()


def test_a_huge_file_is_read_as_far_as_the_limit(tmp_path, looked):
    """A Makefile of gigabytes costs no more than one of a megabyte."""
    with (tmp_path / "Makefile").open("wb") as file:
        file.write(b"all:\n")
        file.truncate(1 << 33)
        file.seek(0, os.SEEK_END)
        file.write(b"\ntest:\n")

    assert len(looked.text("Makefile")) == TEXT_LIMIT
    assert detect(looked).commands == ()


def test_a_program_inside_the_folder_is_not_one_that_is_installed(tmp_path, looked, monkeypatch):
    """A project cannot bring its own cargo."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cargo").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert not looked.has_program("cargo")
