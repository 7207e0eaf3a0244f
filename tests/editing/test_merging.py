"""Two changes of one text, made into one: what does not touch is joined, what does is shown."""

from __future__ import annotations

import pytest

from agi.editing.merging import MOST_LINES, Merged, merge

BASE = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (b"ONE\ntwo\nthree\nfour\nfive\n", b"one\ntwo\nthree\nfour\nFIVE\n", b"ONE\ntwo\nthree\nfour\nFIVE\n"),
        (BASE, b"one\nfive\n", b"one\nfive\n"),
        (b"zero\n" + BASE, BASE + b"six\n", b"zero\n" + BASE + b"six\n"),
        (b"one\n2\nthree\nfour\nfive\n", b"one\n2\nthree\nfour\nfive\n", b"one\n2\nthree\nfour\nfive\n"),
        (b"", BASE, b""),
        (BASE, BASE.rstrip(b"\n"), BASE.rstrip(b"\n")),
        (b"one\r\n" + BASE[4:], BASE[:-5] + b"5\n", b"one\r\n" + BASE[4:-5] + b"5\n"),
    ],
)
def test_changes_of_other_lines_are_joined(ours: bytes, theirs: bytes, both: bytes) -> None:
    """Byte by byte, whoever made which."""
    assert merge(BASE, ours, theirs) == Merged(both, 0)
    assert merge(BASE, theirs, ours) == Merged(both, 0)


def test_changes_of_the_same_lines_stand_between_markers() -> None:
    """Both whole, with the lines around them once; a last line without an end does not swallow a marker."""
    merged = merge(b"a\nb", b"a\nx", b"a\ny", names=("here", "there"))

    assert merged == Merged(b"a\n<<<<<<< here\nx\n=======\ny\n>>>>>>> there\n", 1)


def test_what_is_no_text_or_too_long_is_not_merged() -> None:
    """A wrong merge is worse than none."""
    assert merge(b"\0", b"a", b"b") is None
    assert merge(b"", b"x\n" * (MOST_LINES + 1), b"") is None
