"""`agi grants`: what was allowed for longer is listed and taken back."""

from __future__ import annotations

import json

import pytest

from agi.config.grants import add_grants
from agi.protocol.grants import Grant
from agi.protocol.policies import Rule


def grant(number: int, words: str) -> Grant:
    return Grant(
        id=f"grant_{number:032x}",
        scope="workspace",
        rule=Rule(tool="shell", command=words, verdict="allow"),
        text=f"commands that begin with `{words}`",
        granted_at="2026-01-01T12:00:00.000Z",
    )


@pytest.fixture
def home(cli):
    """The folder of the user's own settings."""
    return cli.home


def test_nothing_is_granted_at_first(here):
    """And looking makes no data folder."""
    assert here("grants").out == "Nothing is granted.\n"
    assert here("grants", "--json").out == "[]\n"
    assert not (here.project / ".agi").exists()


def test_grants_of_this_folder_are_listed_and_of_others_on_demand(here, home, tmp_path):
    """Nothing in them acts on the terminal."""
    add_grants(home, here.project, (grant(1, "ls\x1b[2J"),))
    add_grants(home, tmp_path, (grant(2, "wc"),))
    listed, everything = here("grants"), json.loads(here("grants", "--all", "--json").out)

    assert "shell: commands that begin with `ls\\x1b[2J`" in listed.out
    assert "wc" not in listed.out
    assert [one["workspace_path"] for one in everything] == [str(here.project), str(tmp_path)]


def test_a_grant_is_revoked_by_a_part_of_its_id(here, home):
    """As long as only one fits."""
    add_grants(home, here.project, (grant(0xA0001, "ls"), grant(0xB0001, "wc")))
    ambiguous = here("grants", "revoke", "0001")
    revoked = here("grants", "revoke", "a0001")

    assert (ambiguous.code, "2 grants fit" in ambiguous.err) == (2, True)
    assert revoked.out == "Revoked: shell: commands that begin with `ls`\n"
    assert [one["rule"]["command"] for one in json.loads(here("grants", "--json").out)] == ["wc"]


@pytest.mark.parametrize("words", [("revoke",), ("revoke", "a", "b"), ("list", "a"), ("forget",), ("revok", "x")])
def test_a_wrong_line_says_what_is_meant(here, words):
    """And changes nothing."""
    result = here("grants", *words)

    assert result.code == 2
    assert "agi grants" in result.err


def test_what_was_never_granted_cannot_be_revoked(here):
    """It says where to look."""
    result = here("grants", "revoke", "nothing")

    assert result.code == 2
    assert "There is no grant" in result.err
