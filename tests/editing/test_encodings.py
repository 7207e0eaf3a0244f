"""Bytes as text and back, without loss."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.editing.encodings import Encoding, declared_in, decode, encode, known_codec
from agi.errors import Invalid


@pytest.mark.parametrize(
    ("data", "text", "codec"),
    [
        (b"", "", "utf-8"),
        ("ä\r\n".encode(), "ä\r\n", "utf-8"),
        (codecs.BOM_UTF8 + b"a", "a", "utf-8"),
        (codecs.BOM_UTF16_LE + "aä\n".encode("utf-16-le"), "aä\n", "utf-16-le"),
        (codecs.BOM_UTF16_BE + "aä\n".encode("utf-16-be"), "aä\n", "utf-16-be"),
        (codecs.BOM_UTF32_LE + "aä\n".encode("utf-32-le"), "aä\n", "utf-32-le"),
        (codecs.BOM_UTF32_BE + "aä\n".encode("utf-32-be"), "aä\n", "utf-32-be"),
        (b"# -*- coding: latin-1 -*-\n\xe9", "# -*- coding: latin-1 -*-\né", "iso8859-1"),
        (b"#!/bin/x\n# vim: fileencoding=koi8-r\n\xc1", "#!/bin/x\n# vim: fileencoding=koi8-r\nа", "koi8-r"),
        (
            b'<?xml version="1.0" encoding="windows-1252"?>\x80',
            '<?xml version="1.0" encoding="windows-1252"?>€',
            "cp1252",
        ),
        (b'@charset "iso-8859-2";\xb1', '@charset "iso-8859-2";ą', "iso8859-2"),
        (b'<html><meta charset="shift_jis">\x82\xa0', '<html><meta charset="shift_jis">あ', "shift_jis"),
        (b"// coding: gbk\n\xb5\xc4", "// coding: gbk\n的", "gbk"),
        ("literal \ufffd stays".encode(), "literal \ufffd stays", "utf-8"),
    ],
)
def test_a_file_is_read_as_it_says_and_written_back_as_it_was(data, text, codec):
    """By its mark, by what it declares, else as UTF-8."""
    found, encoding = decode("f", data)

    assert (found, encoding.codec) == (text, codec)
    assert encode("f", found, encoding) == data


@pytest.mark.parametrize(
    ("data", "at"),
    [
        (b"ab\xffcd", 2),
        ("é".encode("latin-1"), 0),
        (b"cut \xe2\x82", 4),
        (b"a\0b", 1),
        (codecs.BOM_UTF8 + b"a\xff", 4),
        (codecs.BOM_UTF16_LE + b"a\0\x00\xd8", 4),
        (codecs.BOM_UTF16_LE + b"a\0b", 4),
        (codecs.BOM_UTF16_LE + b"a\0\0\0", 4),
        (b"# coding: cp1252\n\x81", 17),
        (b"coding: latin-1 in no comment\n\xe9", 30),
        (b"# coding: no-such-thing\n\xe9", 24),
        (b"# coding: utf-7\n\xe9", 16),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_offset(data, at):
    """Nothing is guessed: least of all Latin-1, which can be made of anything."""
    with pytest.raises(Invalid, match=rf"at offset {at}\.") as caught:
        decode("f", data)

    assert caught.value.code == "not_text"


def test_what_would_not_come_back_the_same_is_refused():
    """Some bytes of legacy encodings are read as a character that is written otherwise."""
    with pytest.raises(Invalid, match="written back"):
        decode("f", b"# coding: cp932\n\x87\x90")


def test_a_declaration_counts_for_new_characters_unless_the_file_is_plainly_something_else():
    """A pure ASCII file is what it declares; one with valid UTF-8 in it is UTF-8, whatever it says."""
    assert decode("f", b"# coding: latin-1\n")[1] == Encoding("iso8859-1", declared=True)
    assert decode("f", b"# coding: latin-1\n\xc3\xa9")[1] == Encoding()


def test_the_configured_charset_counts_where_the_file_says_nothing():
    """And only there."""
    assert decode("f", b"\xe9", "iso8859-1") == ("é", Encoding("iso8859-1"))
    assert decode("f", "a\n".encode("utf-16-le"), "utf-16-le") == ("a\n", Encoding("utf-16-le"))
    assert decode("f", "é".encode(), "iso8859-1") == ("é", Encoding())


def test_a_character_the_encoding_does_not_have_is_refused():
    """It is not written as a question mark."""
    with pytest.raises(Invalid, match=r"no character U\+20AC in line 2"):
        encode("f", "a\n€", Encoding("iso8859-1"))
    with pytest.raises(Invalid, match=r"U\+D800"):
        encode("f", "\ud800", Encoding())


def test_a_change_of_the_declaration_is_followed_only_where_nothing_else_depends_on_it():
    """Else the other lines would be read as something they are not."""
    latin = Encoding("iso8859-1", declared=True)

    assert encode("f", "# coding: utf-8\nplain", latin) == b"# coding: utf-8\nplain"
    assert encode("f", "no longer said\né", latin) == b"no longer said\n\xe9"
    with pytest.raises(Invalid, match="would make 'f' declare utf-8"):
        encode("f", "# coding: utf-8\né", latin)


def test_a_whole_new_text_says_itself_how_it_is_written():
    """UTF-8, unless it declares something else."""
    assert declared_in("# coding: latin-1\n") == Encoding("iso8859-1", declared=True)
    assert declared_in("plain") == Encoding()


def test_only_encodings_are_known_that_write_a_character_the_same_way_everywhere():
    """Stateful ones could change other lines; some ends of lines are other bytes."""
    assert [known_codec(name) for name in ("utf-7", "iso2022_jp", "hz", "cp037", "rot13", "unicode_escape", "")] == [
        ""
    ] * 7
    assert [known_codec(name) for name in ("UTF8", "sjis", "windows-1251")] == ["utf-8", "shift_jis", "cp1251"]


@given(
    st.binary(max_size=40), st.sampled_from([b"", b"# coding: latin-1\n", b"# coding: gb18030\n", codecs.BOM_UTF16_BE])
)
def test_any_bytes_come_back_or_are_refused(data, head):
    """There is no third way."""
    try:
        text, encoding = decode("f", head + data)
    except Invalid:
        return
    assert encode("f", text, encoding) == head + data
