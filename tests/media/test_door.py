"""A file is looked at where it comes in: what its bytes are counts."""

from __future__ import annotations

import pytest

from agi.errors import Invalid
from agi.media.door import NOT_SAID, admit, same_type
from agi.testing.files import bomb, broken_png, pdf, picture, sound

PNG = picture()


@pytest.mark.parametrize(
    ("declared", "data", "mime"),
    [
        ("image/png", PNG, "image/png"),
        (NOT_SAID, PNG, "image/png"),
        (NOT_SAID, b"words", "text/plain"),
        ("text/markdown", b"# words", "text/markdown"),
        ("application/json", b"{}", "application/json"),
        ("image/svg+xml", b"<svg></svg>", "image/svg+xml"),
        ("text/x-python", b"<svg in a comment", "text/x-python"),
        (same_type("audio/x-wav; rate=8000"), sound(), "audio/wav"),
        (same_type("IMAGE/JPG"), picture("JPEG"), "image/jpeg"),
        ("application/msword", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest\0", "application/msword"),
        (NOT_SAID, b"\0\1\2", NOT_SAID),
        ("application/x-thing", b"\0\1\2", "application/x-thing"),
    ],
)
def test_what_is_told_truly_or_not_at_all_goes_in_without_a_word(declared, data, mime):
    """Text may be called what its sender calls it."""
    admitted = admit(declared, data)
    assert (admitted.mime, admitted.note) == (mime, "")


@pytest.mark.parametrize(
    ("declared", "data", "mime"),
    [
        ("image/png", picture("JPEG"), "image/jpeg"),
        ("application/pdf", b"<html>not found</html>", "text/html"),
        ("image/png", b"just words", "text/plain"),
        ("text/plain", PNG, "image/png"),
        ("audio/wav", pdf(), "application/pdf"),
    ],
)
def test_a_lie_is_said_and_the_bytes_win(declared, data, mime):
    """The file is kept as what it is."""
    admitted = admit(declared, data)
    assert admitted.mime == mime
    assert declared in admitted.note
    assert mime in admitted.note


@pytest.mark.parametrize(
    ("declared", "data", "code"),
    [
        ("image/png", b"\0\1\2\3", "attachment_damaged"),
        ("text/plain", b"\0\1\2\3", "attachment_damaged"),
        ("application/pdf", b"\0\1\2\3", "attachment_damaged"),
        ("image/png", broken_png(), "image_damaged"),
        (NOT_SAID, broken_png(), "image_damaged"),
        ("image/png", bomb(), "image_too_large"),
        ("image/heic", b"\0\0\0\x18ftypheic\0\0\0\0" + b"\0" * 40, "image_unsupported"),
        ("image/tiff", picture("TIFF"), "image_unsupported"),
        ("application/pdf", pdf(locked=True), "pdf_encrypted"),
    ],
)
def test_what_nobody_could_use_is_refused_with_what_to_do(declared, data, code):
    """At the door, not by a provider twenty turns later."""
    with pytest.raises(Invalid) as refusal:
        admit(declared, data)
    assert refusal.value.code == code
    assert refusal.value.hint
