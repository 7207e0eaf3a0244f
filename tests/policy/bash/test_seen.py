"""Everything a line would start is seen, or it is said that something may not be."""

from __future__ import annotations

import pytest

from agi.policy.bash.seen import see


def names(text: str) -> set[str]:
    return {part.name for part in see(text).parts}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls | grep a && echo $(date)", {"ls", "grep", "echo", "date"}),
        ("env A=1 timeout 5 nice rm x", {"env", "timeout", "nice", "rm"}),
        ("sh -c 'ls; env rm x'", {"sh", "ls", "env", "rm"}),
        ("eval 'eval \"rm x\"'", {"eval", "rm"}),
        ("ls | xargs -n1 sh -c 'rm x'", {"ls", "xargs", "sh", "rm"}),
        ("find . -exec env rm {} +", {"find", "env", "rm"}),
        ("trap 'rm x' EXIT; ls", {"trap", "rm", "ls"}),
        ("bash <<'E'\nls\nE", {"bash"}),
    ],
)
def test_what_is_started_in_turn_is_seen(text, expected):
    """Behind wrappers, in code given to shells, and both in each other."""
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    ["$X", "$(echo rm) x", "/bin/r? x", "{rm,x}", "rм x", "env $X", "xargs -I {} {}", "python -c 'x'", "awk x", ". f"],
)
def test_where_more_may_run_than_is_seen_it_says_so(text):
    """A name that is known only when it runs, and programs that carry out code of their own."""
    assert see(text).unsure or see(text).unreadable


@pytest.mark.parametrize("text", ["echo 'open", "sh -c 'echo \"open'", "eval 'echo (a'", 'sh -c "rm $X"'])
def test_code_that_cannot_be_read_makes_the_whole_unreadable(text):
    """A shell would read it in some way."""
    assert see(text).unreadable


@pytest.mark.parametrize("text", ["env " * 2400, "eval " * 1900, "ssh a " * 400, "sh -c " * 1600, "eval 'eval '" * 50])
def test_nothing_is_followed_for_ever(text):
    """What is too long, or too deep, is not certain."""
    seen = see(text)

    assert seen.unsure or seen.unreadable
    assert len(seen.parts) < 1000


def test_a_guess_is_marked_as_one():
    """It is looked for by what denies, and shown to nobody as a fact."""
    parts = see("docker run alpine rm x").parts

    assert [(part.name, part.guessed) for part in parts] == [
        ("docker", False),
        ("run", True),
        ("alpine", True),
        ("rm", True),
        ("x", True),
    ]
