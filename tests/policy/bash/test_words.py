"""Words are what a program would get, as far as that is known."""

from __future__ import annotations

import pytest

from agi.policy.bash.reading import read_line
from agi.policy.bash.values import UNKNOWN

U = UNKNOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'r'\"m\" \\-r 'a b'", ["rm", "-r", "a b"]),
        ("\\rm r\\m r''m", ["rm", "rm", "rm"]),
        ('""', [""]),
        ("'a;b' \"c|d\" e\\;f", ["a;b", "c|d", "e;f"]),
        ('"a\\"b\\$c\\\\d\\e"', ['a"b$c\\d\\e']),
        ('"a\\\nb" "c\nd"', ["ab", "c\nd"]),
        ('"$a $b c" " $d"', [f"{U} {U} c", f" {U}"]),
        ('a$ \'b$\' "c$" "$"', ["a$", "b$", "c$", "$"]),
        ("$'rm' x", [U, "x"]),
        ("${x} ${#x} ${x:-a b} ${x%.*} ${x//a/b} ${x[@]} ${x:1:2}", [U] * 7),
        ("$1 $@ $? $$ $!", [U] * 5),
        ("a*b {a,b} {1..3} ~/x @{u} HEAD^ a=b", ["a*b", "{a,b}" + U, "{1..3}" + U, "~/x", "@{u}", "HEAD^", "a=b"]),
        ('x=$(a) --y="b c"', [f"x={U}", "--y=b c"]),
    ],
)
def test_quotes_are_taken_off_and_the_unknown_is_marked(text, expected):
    """Whatever way it is written."""
    command = read_line(f"p {text}").commands[-1]

    assert command.words == ["p", *expected]


@pytest.mark.parametrize("word", ["$x", '"$x"', "$(a)", "a$x", "*", "?a", "[a]b", "{a,b}", "*.py", "$'a'"])
def test_a_word_that_could_become_an_option_is_loose(word):
    """A pattern may meet a file whose name begins with a dash."""
    assert read_line(f"p {word}").commands[-1].loose == [1]


@pytest.mark.parametrize("word", ["a", "'*'", '"*.py"', "a*", "./*", "{}", "@{u}", '"a$x"', "\\*", "~/x", "-x"])
def test_a_word_whose_beginning_is_known_is_not(word):
    """Quoted patterns are no patterns."""
    assert read_line(f"p {word}").commands[-1].loose == []
