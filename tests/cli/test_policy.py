"""`agi policy explain`: what would become of a command, and why."""

from __future__ import annotations

import json

import pytest


def test_a_command_is_taken_apart_and_judged(here):
    """Nothing is run, and no data folder is made."""
    explained = here("policy", "explain", "touch made; env X=1 sh -c 'rm -rf build' > out 2>> log < in")

    assert explained.out == (
        "It would start:\n"
        "  touch made\n"
        "  env X=1 sh -c 'rm -rf build'\n"
        "      overwrites out\n"
        "      appends to log\n"
        "      reads in\n"
        "      not by its first words: env carries out whatever it is given\n"
        "  sh -c 'rm -rf build'  (by env)\n"
        "  rm -rf build  (by sh, code)\n"
        "A person would be asked (destructive, risk high).\n"
        "  It could destroy something that cannot be brought back, so it is asked about each time.\n"
        "  An answer would count once.\n"
    )
    assert list(here.project.iterdir()) == []


def test_what_hides_is_shown(here):
    """And why nobody can be sure of it."""
    explained = here("policy", "explain", "ls \u202e\x1b[8m")

    assert "It cannot be told for certain what this does: the command has hidden characters." in explained.out
    assert "\u202e" not in explained.out
    assert json.loads(here("policy", "explain", "ls \u202e", "--json").out)["input"] == r"ls \u202e"


def test_it_says_what_could_be_remembered(here):
    """For the session here, since this folder is not trusted."""
    explained = here("policy", "explain", "git", "status")

    assert "(kind:exec, risk low)" in explained.out
    assert "could be remembered for the session: commands that begin with `git status`." in explained.out


def test_the_agents_tools_count(here):
    """An agent that only reads runs no commands."""
    explained = json.loads(here("policy", "explain", "ls", "--agent", "general", "--json").out)

    assert (explained["verdict"], explained["rule"]) == ("deny", "agent_tools")


def test_other_tools_can_be_asked_about(here):
    """By a path, or by the whole input."""
    by_path = json.loads(here("policy", "explain", "docs/a.md", "--tool", "write_file", "--json").out)
    whole = json.loads(here("policy", "explain", '{"path": "a"}', "--tool", "fs.write", "--json").out)

    assert (by_path["tool"], by_path["rule"]) == ("write_file", "kind:write")
    assert whole["input"] == '{"path": "a"}'


@pytest.mark.parametrize("text", ["--settings=x", "--yes", "-rf", "--help=1"])
def test_what_follows_two_dashes_is_never_an_option(here, text):
    """It is a command like any other, and is only looked at."""
    explained = json.loads(here("policy", "explain", "--json", "--", text).out)

    assert (explained["input"], explained["verdict"]) == (text, "ask")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Say which command"),
        (("explain",), "Say which command"),
        (("show", "ls"), "There is no `agi policy show`, only explain and replay."),
        (("repaly", "x"), "Did you mean replay?"),
        (("explain", "ls", "--tool", "nothing"), "There is no tool 'nothing'"),
        (("explain", "ls", "--agent", "nobody"), "nobody"),
        (("explain", "ls", "--policy", "x.json"), "takes no --policy: that is of `agi policy replay`."),
        (("explain", "ls", "--all"), "takes no --all: that is of `agi policy replay`."),
        (("replay", "3f9a", "--tool", "shell"), "takes no --tool: that is of `agi policy explain`."),
        (("replay", "3f9a", "-a", "build"), "takes no --agent: that is of `agi policy explain`."),
    ],
)
def test_a_wrong_line_says_what_is_meant(here, words, said):
    """With an exit code that is none of success."""
    result = here("policy", *words)

    assert result.code != 0
    assert said in result.err


def test_where_no_sandbox_can_be_tried_nothing_is_explained(here, full_disk):
    """What would become of a command goes by what holds it; that it is not known is told in a sentence."""
    explained = here("policy", "explain", "ls")

    assert explained.code != 0
    assert "No space left on device" in explained.err
    assert "Make room" in explained.err
    assert "Traceback" not in explained.err
