"""Rules reach the model as text: the user's own, then the repository's from its root down; bounded, visible, once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agi.config.values import RULES_FILES
from agi.context.base import Piece
from agi.context.rules import find_rules


def write(path: Path, text: str | bytes = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rules(workspace: Path, *, names=RULES_FILES, own: Path | None = None, home: str = "/nowhere") -> list[Piece]:
    return find_rules(workspace, names=names, own=own or workspace / "no-such-folder", home=home)


def texts(found: list[Piece]) -> list[str]:
    return [one.text.strip() for one in found if not one.refused]


def why(found: list[Piece]) -> dict[str, str]:
    return {Path(one.source).name: one.refused for one in found if one.refused}


def test_a_folder_without_rules_has_none(tmp_path):
    """Nor does a folder below add its own."""
    write(tmp_path / "vendor" / "AGENTS.md", "Obey me.")

    assert rules(tmp_path) == []


def test_they_come_from_the_user_then_from_the_root_down_the_nearest_last(tmp_path):
    """The nearest has the last word; each says where it is from."""
    work = tmp_path / "repo" / "a" / "b"
    write(tmp_path / "own" / "AGENTS.md", "mine")
    write(tmp_path / "AGENTS.md", "above the repository")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for place, text in ((tmp_path / "repo", "root"), (work.parent, "middle"), (work, "here")):
        write(place / "AGENTS.md", text)

    found = rules(work, own=tmp_path / "own")

    assert texts(found) == ["mine", "root", "middle", "here"]
    assert [one.source for one in found][-1] == "AGENTS.md"
    assert found[1].heading == f"Rules of the repository this folder is in ({tmp_path / 'repo' / 'AGENTS.md'}):"
    assert [one.rank for one in found] == [0, 3, 2, 1]


def test_without_a_repository_nothing_above_is_looked_at(tmp_path):
    """A folder is its own world then."""
    write(tmp_path / "AGENTS.md", "above")
    write(tmp_path / "work" / "AGENTS.md", "here")

    assert texts(rules(tmp_path / "work")) == ["here"]


def test_looking_up_ends_at_the_home_folder(tmp_path):
    """A repository of somebody's settings holds no rules for all their projects."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    write(tmp_path / "AGENTS.md", "home")
    write(tmp_path / "a" / "AGENTS.md", "between")
    write(tmp_path / "a" / "work" / "AGENTS.md", "here")

    assert texts(rules(tmp_path / "a" / "work", home=str(tmp_path))) == ["between", "here"]


def test_looking_up_ends_at_a_folder_that_others_may_write(tmp_path):
    """Whoever can put a file there could say anything."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    write(tmp_path / "AGENTS.md", "theirs")
    write(tmp_path / "work" / "AGENTS.md", "here")
    tmp_path.chmod(0o777)

    assert texts(rules(tmp_path / "work")) == ["here"]


def test_a_file_above_that_is_not_the_users_is_ignored(tmp_path, monkeypatch):
    """Below, in the workspace itself, it counts as text like everything else there."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    write(tmp_path / "AGENTS.md", "theirs").chmod(0o666)
    write(tmp_path / "work" / "AGENTS.md", "here").chmod(0o666)
    found = rules(tmp_path / "work")

    assert texts(found) == ["here"]
    assert why(found) == {"AGENTS.md": "it is above the workspace and not yours"}

    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert texts(rules(tmp_path / "work")) == ["here"]


def test_the_files_of_others_tools_count_too(tmp_path):
    """Each that says something else."""
    for number, name in enumerate(
        ("CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules")
    ):
        write(tmp_path / name, f"rule {number}")

    assert texts(rules(tmp_path)) == [f"rule {number}" for number in range(5)]


def test_what_is_said_twice_in_a_folder_is_told_once(tmp_path):
    """A link to the other file, the same text, or nothing but a pointer."""
    write(tmp_path / "AGENTS.md", "one\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    write(tmp_path / "GEMINI.md", "  one")
    write(tmp_path / ".cursorrules", "@AGENTS.md\n\n@docs/more.md\n")
    found = rules(tmp_path)

    assert texts(found) == ["one"]
    assert why(found) == {
        "CLAUDE.md": "the same as AGENTS.md",
        "GEMINI.md": "the same as AGENTS.md",
        ".cursorrules": "it only names other files, which are not followed",
    }


def test_imports_are_not_followed(tmp_path):
    """A line that names a file is a line."""
    write(tmp_path / "secret.txt", "SECRET")
    write(tmp_path / "CLAUDE.md", "See @secret.txt\n@secret.txt\n")

    assert texts(rules(tmp_path)) == ["See @secret.txt\n@secret.txt"]


def test_a_rule_with_a_head_counts_if_it_always_applies(tmp_path):
    """Without its head; one that is for some files only is left out."""
    write(tmp_path / ".cursor/rules/a.mdc", "---\ndescription: d\nalwaysApply: true\n---\nAlways.\n")
    write(tmp_path / ".cursor/rules/b.mdc", "---\nglobs: *.ts\nalwaysApply: false\n---\nSometimes.\n")
    found = rules(tmp_path)

    assert texts(found) == ["Always."]
    assert why(found) == {"b.mdc": "it is for some files only"}


def test_which_files_count_can_be_said(tmp_path):
    """By name or by a pattern for the last part of it."""
    write(tmp_path / "AGENTS.md", "agents")
    write(tmp_path / "rules/b.txt", "b")
    write(tmp_path / "rules/a.txt", "a")

    assert texts(rules(tmp_path, names=("rules/*.txt",))) == ["a", "b"]


def test_hidden_characters_are_removed(tmp_path):
    """What nobody sees carries no rules."""
    write(tmp_path / "AGENTS.md", "Be\u200b kind\U000e0041 — täglich 👩‍💻.\u202e\n")

    assert texts(rules(tmp_path)) == ["Be kind — täglich 👩‍💻."]


def test_a_long_file_is_read_up_to_a_limit_and_says_so(tmp_path):
    """64 KiB are enough for anyone; a cut in the middle of a letter does no harm."""
    write(tmp_path / "AGENTS.md", b"\xff" + "é".encode() * 40_000 + b"TAIL")
    (found,) = rules(tmp_path)

    assert found.longer == "longer than 65536 bytes"
    assert "TAIL" not in found.text
    assert found.text.startswith("\ufffdé")


@pytest.mark.parametrize("kind", ["link out", "pipe", "folder", "binary", "broken link"])
def test_what_is_no_file_of_rules_is_left_out_with_a_reason(tmp_path, kind):
    """Nothing hangs, and nothing of it is told."""
    work = tmp_path / "work"
    work.mkdir()
    write(tmp_path / "secret", "SECRET")
    place = work / "AGENTS.md"
    if kind == "link out":
        place.symlink_to(tmp_path / "secret")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "binary":
        place.write_bytes(b"\x7fELF\0\0SECRET")
    else:
        place.symlink_to("nothing")
    found = rules(work)

    assert texts(found) in ([], [""])
    assert all(one.refused or kind == "broken link" for one in found)
    assert "SECRET" not in repr(found)


def test_the_same_files_give_the_same_pieces(tmp_path):
    """Whenever they were written."""
    for name in ("AGENTS.md", "CLAUDE.md", ".cursor/rules/x.mdc", ".cursor/rules/a.mdc"):
        write(tmp_path / name, name)
    before = rules(tmp_path)
    os.utime(tmp_path / "AGENTS.md", (1, 1))

    assert rules(tmp_path) == before
