"""Text files as they stand in a message."""

from __future__ import annotations

from agi.media.texts import LONGEST, fenced, text_of


def test_text_is_read_by_its_mark_as_utf8_or_letter_by_letter():
    """What has control bytes in it is none."""
    for codec in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"):
        assert text_of("naïve".encode(codec)) == "naïve"
    assert text_of(b"\x1b[31mred\x1b[0m\n") == "\x1b[31mred\x1b[0m\n"
    assert text_of(b"a\0b") is None
    assert text_of(b"\xff\xfea") is None


def test_no_line_of_a_file_ends_its_fence():
    """The fence is longer than any in the text."""
    told = fenced("a.md", "```python\nx\n```\n`````\n")
    first, *_, last = told.splitlines()[1:]
    assert first == last == "``````"
    assert told.startswith("[file a.md]\n")


def test_a_long_file_is_cut_and_says_so():
    """Bounded, with how much there is."""
    told = fenced("long.txt", "x" * (LONGEST + 5), "; ask for more")
    assert told.endswith(f"[cut: the first {LONGEST:,} of {LONGEST + 5:,} characters; ask for more]")
    assert told.count("x") == LONGEST + 1  # one of them in its name
    assert fenced("a", "x").splitlines() == ["[file a]", "```", "x", "```"]
