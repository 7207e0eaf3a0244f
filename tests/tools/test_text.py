"""Bytes as text: strictly."""

import pytest

from agi.errors import Invalid
from agi.tools.text import decode


def test_text_is_decoded_without_its_mark():
    """A byte order mark belongs to the file, not to its first line."""
    assert decode("f", b"\xef\xbb\xbfa\r\nb") == "a\r\nb"
    assert decode("f", b"\xef\xbb\xbfa", offset=10) == "\ufeffa"
    assert decode("f", "literal \ufffd stays".encode()) == "literal \ufffd stays"


@pytest.mark.parametrize(
    ("data", "offset", "at"),
    [
        (b"ab\xffcd", 0, 2),
        (b"ab\xffcd", 100, 102),
        ("é".encode("latin-1"), 0, 0),
        (b"cut \xe2\x82", 0, 4),
        (b"a\0b", 0, 1),
        ("a".encode("utf-16"), 0, 0),
    ],
)
def test_what_is_not_text_is_refused_with_its_offset(data, offset, at):
    """The first byte that is wrong is named by its place in the file."""
    with pytest.raises(Invalid, match=rf"at offset {at}\."):
        decode("f", data, offset=offset)
