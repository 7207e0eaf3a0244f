"""A shell line is taken apart into every simple command it would start."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.policy.bash.reading import read_line
from agi.policy.bash.values import LONGEST, MOST_COMMANDS, UNKNOWN, Unreadable, has_option

U = UNKNOWN


def words(text: str) -> list[list[str]]:
    return [command.words for command in read_line(text).commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# only a comment", []),
        ("ls -la", [["ls", "-la"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a |& b", [["a"], ["b"]]),
        ("a |\n b &&\n # why\n c", [["a"], ["b"], ["c"]]),
        ("(a; b) && { c; }", [["a"], ["b"], ["c"]]),
        ("! a | b", [["a"], ["b"]]),
        ("time -p a b", [["time", "-p", "a", "b"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a # b; c\nd", [["a"], ["d"]]),
        ("a;#b\nc", [["a"], ["c"]]),
        ("echo a#b", [["echo", "a#b"]]),
        ("echo $(date) x", [["date"], ["echo", U, "x"]]),
        ('echo "a $(b "c d") e"', [["b", "c d"], ["echo", f"a {U} e"]]),
        ("echo `a b` c", [["a", "b"], ["echo", U, "c"]]),
        ("$X -rf", [[U, "-rf"]]),
        ("a ${B:-$(c)}", [["c"], ["a", U]]),
        ("a $((1 << 2)) b", [["a", U, "b"]]),
        ("diff <(a) >(b)", [["a"], ["b"], ["diff", "/dev/fd/63", "/dev/fd/63"]]),
        ("f() { a; }; f", [["a"], ["f"]]),
        ("function f { a; }", [["a"]]),
        ("x=(a $(b)); c", [["b"], [], ["c"]]),
        ("X=1 Y='2 3' a", [["a"]]),
        ("export X=$(a) Y=1", [["a"], ["export", f"X={U}", "Y=1"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("for f in *.py $(a); do b $f; done", [["a"], ["b", U]]),
        ("for ((i=0; i<3; i++)); do a; done", [["a"]]),
        ("case $x in a|b) c;; *) d;; esac", [["c"], ["d"]]),
        ("[ -f x ] && [[ $a == b* ]]", [["[", "-f", "x", "]"], ["[[", U, "==", "b*", "]]"]]),
        ("[[ $x =~ ^(a|b)+$ ]]", [["[[", U, "=~", "^(a|b)+$", "]]"]]),
        ("python3 - <<'E'\nx\nE", [["python3", "-"]]),
        ("git commit -m \"$(cat <<'E'\nit's (a) b\nE\n)\"", [["cat"], ["git", "commit", "-m", U]]),
    ],
)
def test_every_command_of_a_line_is_found(text, expected):
    """In lists, pipes, subshells, substitutions, loops, conditions, functions and cases."""
    assert words(text) == expected


def test_what_a_line_does_besides_starting_programs_is_noted():
    """Variables, functions, and calculating with the value of a variable."""
    assert [command.assigns for command in read_line("X=1 Y=2 a; Z=3").commands] == [["X", "Y"], ["Z"]]
    assert read_line("f() { a; }").functions == ["f"]
    assert read_line("echo $((x + 1))").evaluates
    assert read_line("[[ a -eq 1 ]]").evaluates
    assert not read_line("echo $((1 + 1))").evaluates


@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    "text",
    [
        "echo 'open",
        'echo "open',
        "echo `open",
        "echo $(open",
        "(open",
        "closed)",
        "a >",
        "a > ; b",
        "a \\",
        "a &&",
        "a;; b",
        "a\0b",
        "a\rb",
        "a \x1b[8m b",
        "ls \u202e",
        "l\u200bs",
        "ls\u00a0x",
        "(" * 50 + ")" * 50,
        "a $(" * 50 + ")" * 50,
        "a" * (LONGEST + 1),
        ";".join("a" * (MOST_COMMANDS + 1)),
        "a && " * 2000 + "a",
    ],
)
def test_what_is_not_understood_is_unreadable(text):
    """Open quotes, hidden characters, endless lines: nothing is guessed."""
    with pytest.raises(Unreadable):
        read_line(text)


@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    "text",
    [
        "r\\\nm x",  # a joined word
        "{rm,x}; {a;}",  # no group
        "[ a > b ]",  # a redirection
        "[ a && b ]",  # two commands
        "[a ]",  # a program
        "! ! a",
        "time { a; }",
        "time ! a",
        "coproc a",
        "1x=3 a",  # no assignment
        "x= a=b c\\\n=d",
        "echo $((echo a); rm x)",
        "((a); b)",
        "echo `a \\`b\\``",
        "\"${x:-'$(rm x)'}\"",  # quotes do not quote in there
        "${x@P}",
        "${!x}",
        "${a[$(rm x)]}",
        "a[$(rm x)]=1",
        "echo $[1 + 2]",
        'echo $"a"',
        "a >&'$(rm x)'",  # expanded twice
        "cat <<E\n$(rm x)\nE",
        "cat <<E\n`rm x`\nE",
        "cat <<E\n${x:-$(rm x)}\nE",
        "cat <<E\nE\\\n\nrm x\nE",  # where it ends depends on the backslash
        "cat <<A <<B\na\nA\nb\nB",
        "cat <<E\nnever",
        "x='$(rm x)'; echo $((x))",
        "x='a[$(rm x)]' b",
        "read x <<'E'\na[$(rm x)]\nE\necho $((x))",
        "test -v 'a[$(rm x)]'",
        "printf -v 'a[$(rm x)]' b",
        "builtin unset 'a[`rm x`]'",
        "shopt -s extglob; ls !(a)",
        "alias a=rm; a",
        "hash -p /bin/rm ls; ls",
        "enable -n test",
        "set -k; a",
        "mapfile -C 'rm x' a",
    ],
)
def test_where_bash_would_see_something_else_a_line_is_unreadable(text):
    """The parser takes these for something harmless, or for a word; bash does not."""
    with pytest.raises(Unreadable):
        read_line(text)


@given(st.text(alphabet="ab \t\n'\"\\$`(){}<>&|;#=-*[]!:E", max_size=60))
def test_any_text_is_read_or_unreadable(text):
    """There is no third outcome."""
    try:
        line = read_line(text)
    except Unreadable:
        return
    assert len(line.commands) <= MOST_COMMANDS


@pytest.mark.threat("T41")
@pytest.mark.parametrize(
    "text", ["$(" * 4900, "`" * 9999, "((" * 4900, "${a:-" * 1900, "<" * 9999, "cat <<A\n" * 1200, "[ " * 4900]
)
def test_no_line_takes_long_to_read(text):
    """A hostile model cannot stall the daemon with a line."""
    begin = time.process_time()
    with pytest.raises(Unreadable):
        read_line(text)

    assert time.process_time() - begin < 0.5


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-f"], True),
        (["-xfd"], True),
        (["--force"], True),
        (["--forc"], True),
        (["--force=yes"], True),
        (["--force-with-lease"], True),
        (["f", "force", "-x", "--for-ever", "-", "--"], False),
        ([], False),
    ],
)
def test_an_option_is_found_in_any_of_its_forms(arguments, expected):
    """Joined with others, shortened, or with a value."""
    assert has_option(arguments, "f", "--force") is expected
