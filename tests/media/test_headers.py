"""A picture's size, from its first bytes."""

from __future__ import annotations

import pytest

from agi.media.headers import Picture, picture
from agi.testing import files


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_the_size_is_read_without_decoding(form):
    """For every kind that can be shown."""
    data = files.picture(form, (30, 20))
    assert picture(data) == Picture(form, f"image/{form.lower()}", 30, 20)


def test_lossless_and_extended_webp_have_their_size_elsewhere():
    """The three forms of WebP."""
    for how in ({"lossless": True}, {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}):
        found = picture(files.picture("WEBP", (33, 44), **how))
        assert found is not None
        assert (found.width, found.height) == (33, 44)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0\0", b"GIF89a", b"RIFF\0\0\0\0WEBP"])
def test_a_picture_that_ends_in_its_header_has_no_size(data):
    """It is one by its beginning."""
    found = picture(data)
    assert found is not None
    assert (found.width, found.height) in ((0, 0), (1, 1))
