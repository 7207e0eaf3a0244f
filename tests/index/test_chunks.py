"""Files in pieces."""

from agi.index.chunks import LINES, MOST_CHUNKS, cut, text_of


def test_a_file_is_cut_every_sixty_lines():
    """A chunk's number tells its lines."""
    data = "\n".join(f"line{n}" for n in range(LINES + 1)).encode()
    first, second = cut(data)
    assert first.length == LINES
    assert second.counts["60"] == 1


def test_a_name_counts_twice_where_it_is_defined():
    """What a place defines, it is about."""
    (chunk,) = cut(b"def refund(order):\n    pay(order)\n")
    assert (chunk.counts["refund"], chunk.counts["pay"]) == (2, 1)


def test_what_is_no_text_has_no_chunks():
    """Binary files are known by their names only."""
    assert list(cut(b"\x7fELF\0\0\0words")) == []
    assert list(cut(b"")) == []


def test_broken_text_is_read_as_far_as_it_goes():
    """Bytes that are not UTF-8 are replaced; UTF-16 with a mark is text."""
    (chunk,) = cut(b"alpha \xff\xfe beta")
    assert {"alpha", "beta"} <= chunk.counts.keys()
    assert text_of("gamma".encode("utf-16")) == "gamma"


def test_a_line_without_end_is_read_at_its_beginning_only():
    """A minified file costs no more than a page."""
    (chunk,) = cut(b"first " + b"x1 " * 1_000_000 + b"last")
    assert chunk.length < 2_000
    assert "last" not in chunk.counts


def test_a_file_of_lines_without_end_is_cut_off():
    """There is a bound on chunks."""
    assert sum(1 for _ in cut(b"a1\n" * (MOST_CHUNKS + 5) * LINES)) == MOST_CHUNKS
