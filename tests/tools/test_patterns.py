"""How a query becomes a function that finds it."""

import pytest

from agi.errors import Invalid
from agi.tools.matches import Query
from agi.tools.patterns import finder, has_engine

needs_engine = pytest.mark.skipif(not has_engine(), reason="google-re2 is not installed")


def places(text, data, **given):
    """Where a query begins in a text, again and again from behind each place."""
    find = finder(Query(text=text, path=".", is_folder=True, **given))
    found, at, step = [], 0, 1 if given.get("regex") else len(text.encode())
    while (hit := find(data, at)) >= 0 and hit < len(data):
        found.append(hit)
        at = hit + step
    return found


def test_plain_text_is_found_as_it_is():
    """Special characters stand for themselves."""
    assert places("a.b", b"a.b axb a.b") == [0, 8]


@pytest.mark.parametrize(
    ("text", "data", "found"),
    [
        ("AbC", "abc ABC", [0, 4]),
        ("größe", "x GRÖßE größe", [2, 10]),
        ("mask", "maſk MASK", [0, 6]),
        ("é", "\udcff É é", [2, 5]),
    ],
)
def test_any_case_is_found_at_its_byte(text, data, found):
    """In every script, and beside bytes that are no text."""
    assert places(text, data.encode(errors="surrogateescape"), ignore_case=True) == found


@needs_engine
@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"^\w+$", "größe"),
        (r"^\d$", "٣"),
        (r"a\sb", "a\u00a0b"),
        (r"^[\w-]+$", "é-é"),
        (r"^[^\d]$", "x"),
        (r"^[]x]$", "]"),
        (r"^[[:digit:]\s]+$", "1 2"),
        (r"^\\w$", "\\w"),
        (r"^\S\W\S$", "a.b"),
        (r"[\s\S]", "x"),
    ],
)
def test_classes_mean_letters_and_digits_of_every_script(pattern, line):
    """As they do for ripgrep."""
    assert places(pattern, line.encode(), regex=True)


@needs_engine
def test_a_pattern_never_goes_beyond_its_line():
    """Lines are looked at one by one."""
    assert places(r"a\s+b", b"a\nb", regex=True) == []
    assert places(r"^b$", b"a\nb\nc", regex=True) == [2]


@needs_engine
@pytest.mark.parametrize("pattern", ["(", "a**", "[", r"(?=a)", r"(a)\1", "x{9999}"])
def test_a_pattern_that_is_none_is_refused(pattern):
    """With the engine's reason."""
    with pytest.raises(Invalid, match="regex parse error"):
        finder(Query(text=pattern, path=".", is_folder=True, regex=True))
