"""What a file is goes by its bytes."""

from __future__ import annotations

import pytest

from agi.media.sniffing import UNKNOWN, is_encrypted, sniff
from agi.testing.files import broken_png, pdf, picture, sound

KNOWN = {
    "image/png": picture("PNG"),
    "image/jpeg": picture("JPEG"),
    "image/gif": picture("GIF"),
    "image/webp": picture("WEBP"),
    "image/bmp": picture("BMP"),
    "audio/wav": sound(),
    "audio/mpeg": b"\xff\xfb\x90\x64" + b"\0" * 400,
    "audio/aac": b"\xff\xf1\x50\x80" + b"\0" * 400,
    "audio/flac": b"fLaC\0\0\0\x22" + b"\0" * 40,
    "audio/ogg": b"OggS\0\x02" + b"\0" * 40,
    "audio/mp4": b"\0\0\0\x20ftypM4A \0\0\0\0" + b"\0" * 40,
    "audio/aiff": b"FORM\0\0\0\x20AIFF" + b"\0" * 40,
    "application/pdf": pdf(),
    "video/mp4": b"\0\0\0\x20ftypisom\0\0\0\0" + b"\0" * 40,
    "text/plain": b"plain words\n",
    "text/html": b"<!DOCTYPE html><title>x</title>",
    "image/svg+xml": b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>",
}


@pytest.mark.parametrize("mime", KNOWN)
def test_each_kind_is_known_by_its_first_bytes(mime):
    """Whatever its name says."""
    assert sniff(KNOWN[mime]).mime == mime


@pytest.mark.parametrize(
    ("data", "family"),
    [
        (picture("TIFF"), "other"),
        (b"\0\0\0\x18ftypheic\0\0\0\0" + b"\0" * 40, "other"),
        (b"\0\0\0\x18ftypavif\0\0\0\0" + b"\0" * 40, "other"),
        (b"PK\x03\x04" + b"\0" * 40, "other"),
        (KNOWN["image/svg+xml"], "text"),
        (b"<html>named.pdf</html>", "text"),
        (b"BM is how this sentence begins", "text"),
    ],
)
def test_what_cannot_be_decoded_here_has_a_name_and_drawings_in_text_are_text(data, family):
    """TIFF, HEIC and AVIF are told apart, but are no pictures to us; SVG and HTML are text."""
    assert sniff(data).family == family


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_text_is_text_in_the_usual_encodings(codec):
    """By its mark, as UTF-8, or with one byte a letter."""
    assert sniff("Grüße, naïve café\n".encode(codec)).family == "text"


@pytest.mark.parametrize("data", [b"", b"\0\1\2\3" * 20, b"\x7fnot\x00text", b"\xff\xfe\x00"])
def test_noise_is_nothing(data):
    """An empty file is text of no length; noise is nobody's."""
    assert sniff(data) == UNKNOWN or not data


def test_a_header_with_noise_behind_it_still_counts_as_what_it_says():
    """Whether it is whole is found out by decoding."""
    assert sniff(broken_png()).mime == "image/png"


def test_a_pdf_under_a_password_is_known_and_the_word_alone_is_not_enough():
    """The file's trailer names what it is encrypted with; a text about that does not."""
    assert is_encrypted(pdf(locked=True))
    assert is_encrypted(b"%PDF-1.7 << /Encrypt << /V 1 >> >>")
    assert not is_encrypted(pdf())
    assert not is_encrypted(b"%PDF-1.7 (how to /Encrypt a file)")
