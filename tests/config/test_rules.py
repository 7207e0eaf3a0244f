"""AGENTS.md names verification commands in one plain way, and no text can make it name others."""

from __future__ import annotations

import pytest

from agi.config.rules import RULES_LIMIT, read_rules, verify_commands


@pytest.mark.parametrize(
    "heading", ["# Verify", "## Verification", "### Verify commands:", "## verification commands ##", "#VERIFY"]
)
def test_the_block_under_the_heading_is_the_list_of_commands(heading):
    """Comments, empty lines and a prompt sign are left out."""
    text = f"# Rules\n\n{heading}\n\nRun these:\n\n```sh\n# first\n$ make lint\n\n  make test\n```\n\n```\nother\n```\n"

    assert verify_commands(text.encode()) == ("make lint", "make test")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Verification is good.\n```\nmake test\n```\n",
        "## Verification\nmake test\n",
        "## Verification\n## Build\n```\nmake\n```\n",
        "## How verification works\n```\nmake\n```\n",
        "## Verify\n```\nmake test\n",
        "## Verify\n```\n```\n",
    ],
)
def test_anything_else_names_no_commands(text):
    """Prose, other sections and a block that is not closed are text."""
    assert verify_commands(text.encode()) == ()


def test_a_line_with_hidden_characters_is_no_command():
    """What a person cannot see is not run."""
    rules = "## Verify\n```\nmake test\u202e\nmake\u200b lint\nmake \x1b[8mx\nmake check\n```\n"

    assert verify_commands(rules.encode()) == ("make check",)


def test_the_list_is_bounded():
    """At most twenty commands, none of them endless, and nothing beyond the limit of the file."""
    many = "## Verify\n```\n" + "make x\n" * 50 + "y" * 2000 + "\n```\n"
    late = " " * RULES_LIMIT + "\n## Verify\n```\nmake late\n```\n"

    assert verify_commands(many.encode()) == ("make x",) * 20
    assert verify_commands(late.encode()) == ()


def test_bytes_that_are_no_utf8_do_not_matter():
    """The rest is still read."""
    assert verify_commands(b"\xff\xfe\n## Verify\n```\nmake test\n```\n") == ("make test",)


def test_a_project_without_rules_has_none(tmp_path):
    """Missing is empty."""
    assert read_rules(tmp_path) == b""
