"""Which files a command opens, and the text it is given."""

from __future__ import annotations

import pytest

from agi.policy.bash.reading import read_line
from agi.policy.bash.values import UNKNOWN, Unreadable


@pytest.mark.parametrize(
    ("text", "overwrites", "appends", "reads"),
    [
        ("a > b", ["b"], [], []),
        ("a >b 2>c", ["b", "c"], [], []),
        ("a >> b", [], ["b"], []),
        ("a &>> b", [], ["b"], []),
        ("a >| b", ["b"], [], []),
        ("a &> b", ["b"], [], []),
        ("a >& b", ["b"], [], []),
        ("a 2>&1 >&- <&3", [], [], []),
        ("a >&1#b", ["1#b"], [], []),
        ("a < b", [], [], ["b"]),
        ("a <<< c", [], [], []),
        ('a > "$B"', [UNKNOWN], [], []),
        ("> b a", ["b"], [], []),
        ("a > >(b)", ["/dev/fd/63"], [], []),
    ],
)
def test_redirections_are_told_apart(text, overwrites, appends, reads):
    """What is emptied, what is added to, and what is only read."""
    command = next(one for one in read_line(text).commands if one.words == ["a"])

    assert (command.overwrites, command.appends, command.reads) == (overwrites, appends, reads)


@pytest.mark.parametrize("text", ["cat > f a b", "> f cat a b", "cat a > f b", "cat >&2 a b", "cat <<E a b\nx\nE"])
def test_words_behind_a_file_belong_to_the_command(text):
    """The parser counts them as more files."""
    assert read_line(text).commands[0].words == ["cat", "a", "b"]


def test_a_file_alone_is_opened_by_nothing():
    """It is emptied all the same."""
    (command,) = read_line("> notes.txt").commands

    assert (command.words, command.overwrites) == ([], ["notes.txt"])


def test_a_list_or_a_loop_gives_its_redirection_to_its_last_command():
    """Somebody must have it."""
    assert read_line("(a; b) > c").commands[-1].overwrites == ["c"]
    assert read_line("a && b > c").commands[-1].overwrites == ["c"]
    assert read_line("while a; do b; done < c > d").commands[-1].reads == ["c"]
    assert read_line("echo $(< f)").commands[0].reads == ["f"]
    assert read_line("echo $(> f)").commands[0].overwrites == ["f"]


def test_here_documents_are_text_and_belong_to_a_command():
    """Quotes and brackets in them mean nothing."""
    line = read_line("cat > f <<'END' && b\nit's (odd\nEND\nc <<-X\n\tq\n\tX\nd <<< 'e f'")

    assert [command.words for command in line.commands] == [["cat"], ["b"], ["c"], ["d"]]
    assert [command.document for command in line.commands] == ["it's (odd\n", None, "\tq\n", "e f\n"]


def test_what_stands_behind_a_here_documents_sign_is_read_too():
    """A pipe into a shell above all."""
    line = read_line("cat <<E | sh\nrm x\nE\nls")

    assert [(command.words, command.document) for command in line.commands] == [
        (["cat"], "rm x\n"),
        (["sh"], None),
        (["ls"], None),
    ]


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("cat <<'E'\n$(rm x)\nE", "$(rm x)\n"),
        ('cat <<"E"\n`rm x`\nE', "`rm x`\n"),
        ("cat <<\\E\n$(rm x)\nE", "$(rm x)\n"),
        ("cat <<E\n$x ${y}\nE", "$x ${y}\n"),
        ("cat <<E\nE\nE", ""),
    ],
)
def test_a_quoted_delimiter_makes_it_plain_text(text, document):
    """And the first line that is the delimiter ends it."""
    assert read_line(text).commands[0].document == document


@pytest.mark.parametrize(
    "text", ["a 3<>b", "a >", "a <<", "cat <<'E F'\nx\nE F", "cat <<E\nEE\nE", "cat <<E; b\nx\nE", "(a) > b c"]
)
def test_other_forms_are_unreadable(text):
    """Rather than half understood."""
    with pytest.raises(Unreadable):
        read_line(text)
