"""Values of a front matter, as YAML writes them; what YAML can besides is refused."""

from __future__ import annotations

import time

import pytest

from agi.skills.scalars import Unreadable, items_of, text_of


@pytest.mark.parametrize(
    ("value", "below", "text"),
    [
        ("plain words", (), "plain words"),
        ("Use when: a form is there", (), "Use when: a form is there"),
        ("cut here # a comment", (), "cut here"),
        ("no#comment", (), "no#comment"),
        ("goes on", ("  on the next line", "", "  and a paragraph"), "goes on on the next line\nand a paragraph"),
        ("", ("  begins below",), "begins below"),
        ("# a comment", ("  begins below",), "begins below"),
        ("", (), ""),
        ("~", (), ""),
        ("null", (), ""),
        ("'it''s'", (), "it's"),
        ("'two", ("  lines'",), "two lines"),
        ('"a \\"b\\" \\t\\u00e9\\x41"', (), 'a "b" \té' + "A"),
        ('"\\ud83d\\ude00 \\ud83d"', (), "😀 \ufffd"),
        ('"two', ("  lines", "", '  here" # said'), "two lines\nhere"),
        ('"joined\\', ('  up"',), "joinedup"),
        ("|", ("  one", "    two", "", "  three", ""), "one\n  two\n\nthree"),
        (">-", ("  one", "  two", "", "  three"), "one two\nthree"),
        (">+ # folded", ("  one",), "one"),
        ("|2", ("   one",), " one"),
        ("123", (), "123"),
    ],
)
def test_a_text_is_read_however_it_is_written(value, below, text):
    """Plain, quoted, folded, literal."""
    assert text_of(value, below) == text


@pytest.mark.parametrize(
    ("value", "below"),
    [
        ("&anchor x", ()),
        ("*alias", ()),
        ("!!python/object/apply:os.system [id]", ()),
        ("[a, b]", ()),
        ("{a: b}", ()),
        ("", ("  - a",)),
        ("", ("  key: value",)),
        ("'open", ()),
        ('"open', ("  more",)),
        ('"a" b', ()),
        ('"\\q"', ()),
        ('"\\uzzzz"', ()),
        ('"\\Uffffffff"', ()),
        ("`code`", ()),
    ],
)
def test_what_is_no_text_is_refused(value, below):
    """Nothing refers to anything, nothing is built."""
    with pytest.raises(Unreadable):
        text_of(value, below)


def test_lists_are_read_in_brackets_and_by_dashes():
    """A comma in quotes or brackets splits nothing; what is no list is none."""
    assert items_of('[a, "b, c", Bash(x, y)]', ()) == ["a", "b, c", "Bash(x, y)"]
    assert items_of("", ("- a", "# no", '- "b"')) == ["a", "b"]
    assert items_of("a b", ()) is None
    with pytest.raises(Unreadable):
        items_of("[a", ())


@pytest.mark.parametrize("text", ['"' + "\n" * 16_000, "'" * 16_001, '"' + "\\n" * 8_000, "[" * 16_000, "a " * 8_000])
def test_a_hostile_value_takes_no_time(text):
    """Sixteen kilobytes of the worst are read in a blink."""
    began = time.perf_counter()
    try:
        text_of(text, [text] * 3)
        items_of("[" + text, ())
    except Unreadable:
        pass

    assert time.perf_counter() - began < 1
