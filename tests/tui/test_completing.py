"""Completion: commands behind a slash, files behind an at sign."""

from __future__ import annotations

import os

import pytest

from agi.tui.completing import completions, files_of, ranked

FILES = ["src/app.py", "src/apple/pie.py", "docs/map.md", "README.md", "my notes.txt"]


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("/und", ["/undraft", "/undo "]),
        ("/resu", ["/sessions"]),
        ("/etc/hosts", []),
        ("/undo x", []),
        ("look at @app", ["@src/app.py ", "@src/apple/pie.py "]),
        ("look at @notes", ['@"my notes.txt" ']),
        ("mail me@app", []),
        ("nothing", []),
    ],
)
def test_what_could_be_meant_is_offered(line, texts):
    """And nothing where nothing is meant."""
    assert [one.text for one in completions(line, FILES)] == texts


def test_a_slash_on_a_later_line_is_no_command():
    """Only the first line can be one."""
    assert completions("/und", FILES, first=False) == []


def test_names_that_begin_so_come_first_then_short_ones():
    """Then those that hold it, then those that have its letters in order."""
    assert ranked("ap", FILES) == ["src/app.py", "docs/map.md", "src/apple/pie.py"]


def test_the_folder_is_walked_without_following_links_or_looking_where_nobody_does(tmp_path):
    """Links could lead anywhere, and round in circles."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.js").touch()
    (tmp_path / "src" / "loop").symlink_to(tmp_path)
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bad\x1bname").touch()

    assert files_of(tmp_path) == ["src/a.py"]


def test_a_folder_that_is_gone_has_no_files(tmp_path):
    """Nothing is raised for it."""
    assert files_of(tmp_path / "gone") == []
