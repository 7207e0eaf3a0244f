"""A shell line is taken apart into every simple command it would start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.policy.commands import LONGEST, MOST_COMMANDS, UNKNOWN, Unreadable, has_option, read_line


def words(text: str) -> list[list[str]]:
    return [command.words for command in read_line(text).commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("ls -la", [["ls", "-la"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a |& b", [["a"], ["b"]]),
        ("(a; b) && { c; }", [["a"], ["b"], ["{", "c"], ["}"]]),
        ("'r'\"m\" \\-r 'a b'", [["rm", "-r", "a b"]]),
        ('""', [[""]]),
        ("a \\\n b", [["a", "b"]]),
        ("a # b; c\nd", [["a"], ["d"]]),
        ("a#b", [["a#b"]]),
        ("echo $(date) x", [["date"], ["echo", UNKNOWN, "x"]]),
        ('echo "a $(b "c d") e"', [["b", "c d"], ["echo", f"a {UNKNOWN} e"]]),
        ("echo `a \\`b\\``", [["b"], ["a", UNKNOWN], ["echo", UNKNOWN]]),
        ("$X -rf", [[f"{UNKNOWN}X", "-rf"]]),
        ("a ${B:-$(c)}", [["c"], ["a", f"{UNKNOWN}{{B:-{UNKNOWN}}}"]]),
        ("a $((1 << 2)) b", [["a", UNKNOWN, "b"]]),
        ("echo $'it\\'s' x", [["echo", UNKNOWN, "x"]]),
        ("diff <(a) >(b)", [["a"], ["b"], ["diff", UNKNOWN, UNKNOWN]]),
        ("f() { a; }", [["f"], ["{", "a"], ["}"]]),
        ("x=(a b)", [["x="], ["a", "b"]]),
        ("'a;b' \"c|d\" e\\;f", [["a;b", "c|d", "e;f"]]),
    ],
)
def test_every_command_of_a_line_is_found(text, expected):
    """In lists, pipes, subshells, substitutions and backticks, with quotes taken off."""
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "overwrites", "appends"),
    [
        ("a > b", ["b"], []),
        ("a >b 2>c", ["b", "c"], []),
        ("a >> b", [], ["b"]),
        ("a >| b", ["b"], []),
        ("a &> b", ["b"], []),
        ("a >& b", ["b"], []),
        ("a <> b", ["b"], []),
        ("a 2>&1 >&- <&3", [], []),
        ("a >&1#b; c", ["1#b"], []),
        ("a < b <<< c", [], []),
        ('a > "$B"', [f"{UNKNOWN}B"], []),
        ("> b", ["b"], []),
    ],
)
def test_redirections_are_told_apart(text, overwrites, appends):
    """What is emptied, what is added to, and what is only read."""
    (command, *_) = read_line(text).commands or [None]

    assert (command.overwrites, command.appends) == (overwrites, appends)
    assert command.words in ([], ["a"])


def test_here_documents_are_text_and_belong_to_a_command():
    """Quotes and brackets in them mean nothing."""
    line = read_line("cat > f <<'END' && b\nit's (odd\nEND\nc <<-X\n\tq\n\tX\n")

    assert [command.words for command in line.commands] == [["cat"], ["b"], ["c"]]
    assert [command.reads_document for command in line.commands] == [True, False, True]
    assert line.documents == ["it's (odd", "\tq"]


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
        "cat <<END\nnever",
        "cat <<END",
        "cat <<END\n$(rm x)\nEND",
        "cat <<END\n`rm x`\nEND",
        "case x in a) b;; esac",
        "a $(( $(b) ))",
        "a\0b",
        "a\rb",
        "a \x1b[8m b",
        "ls \u202e",
        "l\u200bs",
        "(" * 50 + ")" * 50,
        "a $(" * 50 + ")" * 50,
        "a" * (LONGEST + 1),
        ";".join("a" * (MOST_COMMANDS + 1)),
    ],
)
def test_what_is_not_understood_is_unreadable(text):
    """Open quotes, hidden characters, endless lines: nothing is guessed."""
    with pytest.raises(Unreadable):
        read_line(text)


@given(st.text(alphabet="ab \t\n'\"\\$`(){}<>&|;#=-*", max_size=60))
def test_any_text_is_read_or_unreadable(text):
    """There is no third outcome."""
    try:
        line = read_line(text)
    except Unreadable:
        return
    assert all(command.words or command.overwrites or command.appends for command in line.commands)


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
