"""What a server writes, taken apart: whole lines, nothing endless, and whose answer was lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.mcp.lines import Lines, Said, answered


def heard(pieces: list[bytes], most: int = 100) -> list[object]:
    found: list[object] = []
    lines = Lines(found.append, found.append, most)
    for piece in pieces:
        lines.add(piece)
    return found


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_pieces_do_not_matter(pieces):
    """However the bytes are cut, the same lines come out."""
    whole = b"".join(pieces)

    assert heard(pieces, 10_000) == heard([whole], 10_000)
    assert heard([whole], 10_000) == [line for line in whole.split(b"\n")[:-1] if line.strip()]


def test_a_line_that_is_too_long_is_not_kept():
    """Whose answer it was is told from its beginning or its end; the next line is whole."""
    first = b'{"jsonrpc":"2.0","id":7,"result":{"x":"' + b"y" * 500 + b'"}}\n'
    last = b'{"result":{"x":"' + b"y" * 500 + b'"},"jsonrpc":"2.0","id":8}\n'
    neither = b"z" * 500 + b"\n"

    assert heard([first, last, neither, b"next\n"]) == [7, 8, None, b"next"]


@pytest.mark.parametrize("text", [b'{"id":3,"method":"ping"}', b'{"level":"info","id":3}', b"", b"{"])
def test_what_answers_nothing_is_nobodys(text):
    """A request or a log line is not taken for an answer."""
    assert answered(text) is None


def test_the_last_words_are_kept_and_bounded():
    """Many lines, long lines, half a line."""
    said = Said(lines=3, longest=10)
    said.add(b"one\ntwo\nthree\nfo")
    said.add(b"ur" + b"r" * 50 + b"\nlast")

    assert said.text().split("\n") == ["two", "three", "four" + "r" * 6, "last"]
