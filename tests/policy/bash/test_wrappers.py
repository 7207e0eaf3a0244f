"""Programs that start another one: which one, or everything it could be."""

from __future__ import annotations

import pytest

from agi.policy.bash.wrappers import started_by


@pytest.mark.parametrize(
    ("words", "inner"),
    [
        ("env rm x", "rm x"),
        ("env -i A=1 +B=2 rm x", "rm x"),
        ("env -u A -C /tmp rm", "rm"),
        ("/usr/bin/env - rm", "rm"),
        ("nohup rm x", "rm x"),
        ("nice -n 5 rm", "rm"),
        ("nice -5 rm", "rm"),
        ("nice --adjustment=3 rm", "rm"),
        ("ionice -c3 -n 2 rm", "rm"),
        ("time -p X=1 rm", "rm"),
        ("time - rm", "- rm"),
        ("timeout -k 1 -s KILL 5 rm", "rm"),
        ("timeout --signal=9 5 rm", "rm"),
        ("stdbuf -oL -e0 rm", "rm"),
        ("setsid -w rm", "rm"),
        ("exec -a name rm", "rm"),
        ("command -p rm", "rm"),
        ("builtin echo a", "echo a"),
        ("xargs rm", "rm"),
        ("xargs -0 -n1 -P 4 -I {} rm {}", "rm {}"),
        ("xargs -d \\n -a list rm", "rm"),
        ("sudo -u me rm", "rm"),
        ("busybox rm x", "rm x"),
        ("find . -name a -exec rm {} ;", "rm {}"),
        ("find . -type f -okdir rm {} +", "rm {}"),
        ("fd -e o -x rm", "rm"),
    ],
)
def test_the_program_behind_a_wrapper_is_found(words, inner):
    """Past its options, their values and assignments."""
    started = started_by(words.split())

    assert started is not None
    assert started.certain
    assert [" ".join(command) for command in started.commands] == [inner]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["sh", "-c", "rm x"], "rm x"),
        (["bash", "-lc", "rm x", "name"], "rm x"),
        (["bash", "-e", "-o", "pipefail", "-c", "rm x"], "rm x"),
        (["/bin/zsh", "-x", "-c", "--", "rm x"], "rm x"),
        (["eval", "rm", "x"], "rm x"),
        (["trap", "rm x", "EXIT"], "rm x"),
    ],
)
def test_code_given_to_a_shell_is_found(words, code):
    """Wherever its options put it."""
    started = started_by(words)

    assert started is not None
    assert (started.certain, started.code) == (True, [code])


@pytest.mark.parametrize(
    "words",
    [
        "env -S rm",
        "env --weird rm",
        "timeout --strange 5 rm",
        "docker run alpine rm",
        "ssh host rm",
        "npx rm",
        "uv run rm",
        "strace -f rm",
        "/lib64/ld-linux-x86-64.so.2 rm",
    ],
)
def test_with_an_option_that_is_not_known_any_word_may_be_the_program(words):
    """Each of them is looked at."""
    started = started_by(words.split())

    assert started is not None
    assert not started.certain
    assert ["rm"] in started.commands


@pytest.mark.parametrize("words", ["bash script.sh", "sh", "bash -s", "bash --rcfile x", "zsh -"])
def test_what_a_shell_reads_from_elsewhere_is_not_certain(words):
    """A script, or what comes through a pipe."""
    started = started_by(words.split())

    assert started is not None
    assert not started.certain


@pytest.mark.parametrize("words", ["ls -la", "git status", "echo env rm", "command -v rm", "trap - EXIT", "nohup"])
def test_other_programs_start_nothing(words):
    """As far as this gate knows."""
    started = started_by(words.split())

    assert started is None or (started.certain and not started.commands and not started.code)
