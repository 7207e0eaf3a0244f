"""Keeping the two ends of an output, and counting what lies between."""

import io

from hypothesis import given
from hypothesis import strategies as st

from agi.workspace.captured import Capture, Kept


class KeptOpen(io.BytesIO):
    """A spill that can be looked at after it was closed."""

    closed_once = False

    def close(self):
        self.closed_once = True


def test_a_short_output_is_kept_whole():
    """Nothing is spilled or left out."""
    capture = Capture(100, lambda: 1 / 0)
    capture.add(b"one\n")
    capture.add("zwölf\n".encode())

    assert capture.finish() == Kept("one\nzwölf\n")


def test_a_long_output_keeps_both_ends_and_exact_counts():
    """The important end is not lost, and what was cut can be told."""
    spill = KeptOpen()
    capture = Capture(20, lambda: spill)
    for number in range(100):
        capture.add(b"line %02d\n" % number)

    kept = capture.finish()

    assert (kept.head, kept.tail) == ("line 00\nli", "8\nline 99\n")
    assert (kept.omitted_bytes, kept.omitted_lines) == (780, 97)
    assert spill.getvalue() == b"".join(b"line %02d\n" % number for number in range(100))
    assert spill.closed_once


def test_a_spill_that_fails_does_not_fail_the_capture():
    """A full disk loses the file, not the command."""

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    capture = Capture(8, Full)
    capture.add(b"a" * 100)
    capture.add(b"b" * 100)

    assert capture.finish() == Kept("aaaa", "bbbb", omitted_bytes=192)


@given(st.lists(st.text(alphabet="aé€😀\n", max_size=9), max_size=30), st.integers(8, 40))
def test_characters_are_not_cut_and_the_counts_add_up(pieces, limit):
    """However the bytes arrive, head, omitted part and tail make up the whole."""
    whole = "".join(pieces).encode()
    capture = Capture(limit)
    for start in range(0, len(whole), 7):
        capture.add(whole[start : start + 7])

    kept = capture.finish()
    head, tail = kept.head.encode(), kept.tail.encode()

    assert "\ufffd" not in kept.head + kept.tail
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert kept.omitted_bytes == len(whole) - len(head) - len(tail)
    assert kept.omitted_lines == whole.count(b"\n") - head.count(b"\n") - tail.count(b"\n")
    assert len(head) + len(tail) <= max(limit, 8)
