"""AGENTS.md reaches the model as text: bounded, visible, and from inside the project."""

from __future__ import annotations

import os

import pytest

from agi.agents.rules import project_rules, visible


def test_the_rules_are_the_text_of_agents_md(tmp_path):
    """As it stands."""
    (tmp_path / "AGENTS.md").write_text("# Rules\n\nBe kind — täglich 👩‍💻.\n")

    assert project_rules(tmp_path) == "# Rules\n\nBe kind — täglich 👩‍💻.\n"


def test_a_project_without_rules_has_none(tmp_path):
    """Nor does a folder below add its own."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "AGENTS.md").write_text("Obey me.")

    assert project_rules(tmp_path) == ""


def test_long_rules_are_cut_and_say_so(tmp_path):
    """64 KiB are enough for anyone, and nobody is left to wonder."""
    (tmp_path / "AGENTS.md").write_text("x" * 65_536 + "TAIL")
    rules = project_rules(tmp_path)

    assert "TAIL" not in rules
    assert rules.endswith("\n[AGENTS.md is longer than 65536 bytes and was cut here.]\n")


def test_a_cut_in_the_middle_of_a_letter_does_no_harm(tmp_path):
    """Bytes that are no text are shown as such."""
    (tmp_path / "AGENTS.md").write_bytes(b"\xff" + "é".encode() * 40_000)

    assert project_rules(tmp_path).startswith("\ufffdé")


@pytest.mark.parametrize("text", ["a\u200bb", "a\u202eb", "a\u2066b", "a\ufeffb", "a\U000e0041b", "a\u2062b"])
def test_what_nobody_sees_is_left_out(text):
    """Tags, zero-width spaces and turned writing carry no rules."""
    assert visible(text) == "ab"


def test_letters_that_are_joined_stay_joined():
    """Joiners belong to emoji and to whole scripts."""
    assert visible("👩‍💻 می‌خواهم") == "👩‍💻 می‌خواهم"


def test_rules_that_lead_out_or_never_end_are_not_read(tmp_path):
    """A link out of the project and a pipe give no text."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("secret")
    (work / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert project_rules(work) == ""

    (work / "AGENTS.md").unlink()
    os.mkfifo(work / "AGENTS.md")
    assert project_rules(work) == ""


def test_rules_may_be_a_link_inside_the_project(tmp_path):
    """`AGENTS.md` and another tool's file are often one."""
    (tmp_path / "RULES.md").write_text("one file")
    (tmp_path / "AGENTS.md").symlink_to("RULES.md")

    assert project_rules(tmp_path) == "one file"
