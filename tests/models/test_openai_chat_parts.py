"""Attachments in a request: each as the format takes it, all others spoken of, and nothing declared is trusted."""

from __future__ import annotations

from base64 import b64decode

import msgspec
import pytest

from agi.models.openai_chat_parts import content_of, text_of
from agi.protocol.parts import Audio, File, Image, Reasoning, Text

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
FILES = {
    "attachments/x.png": PNG,
    "attachments/x.wav": b"RIFF\x00\xfe",
    "attachments/a.pdf": b"%PDF-1.7\xff",
    "attachments/notes.md": "# Grüße".encode(),
    "attachments/empty.png": b"",
}


def image(ref: str = "attachments/x.png", mime_type: str = "image/png") -> Image:
    return Image(ref=ref, mime_type=mime_type)


def sent(*parts) -> object:
    return msgspec.to_builtins(content_of(parts, FILES))


def test_a_picture_goes_along_in_its_place():
    """As a data URL, between the words before and after it."""
    before, picture, after = sent(Text(text="look:"), image(), Text(text="nice?"))

    assert (before, after) == ({"type": "text", "text": "look:"}, {"type": "text", "text": "nice?"})
    assert picture["type"] == "image_url"
    head, data = picture["image_url"]["url"].split(",")
    assert (head, b64decode(data)) == ("data:image/png;base64", PNG)


@pytest.mark.parametrize(("mime_type", "format"), [("audio/wav", "wav"), ("audio/x-wav", "wav"), ("audio/mpeg", "mp3")])
def test_a_sound_goes_along_in_its_format(mime_type, format):
    """Only these two are known; their types have several names."""
    (sound,) = sent(Audio(ref="attachments/x.wav", mime_type=mime_type))

    assert (sound["type"], sound["input_audio"]["format"]) == ("input_audio", format)
    assert b64decode(sound["input_audio"]["data"]) == FILES["attachments/x.wav"]


def test_a_pdf_file_goes_along_under_its_name():
    """Without the folder it is kept in."""
    (file,) = sent(File(ref="attachments/a.pdf", mime_type="application/pdf"))

    assert (file["type"], file["file"]["filename"]) == ("file", "a.pdf")
    assert file["file"]["file_data"].startswith("data:application/pdf;base64,JVBERi0xLjf/")


@pytest.mark.parametrize(
    "mime_type", ["text/markdown", "Text/Plain; charset=utf-8", "application/json", "image/svg+xml"]
)
def test_a_text_file_is_text(mime_type):
    """With its name before it, for every server understands that."""
    part = File(ref="attachments/notes.md", mime_type=mime_type)

    assert sent(part) == f"[attachment: attachments/notes.md, {mime_type}]\n# Grüße"


@pytest.mark.parametrize(
    "part",
    [
        image(mime_type="image/tiff"),
        image(ref="attachments/missing.png"),
        image(ref="attachments/empty.png"),
        image(mime_type="image/png,x"),
        Audio(ref="attachments/x.wav", mime_type="audio/ogg"),
        File(ref="attachments/x.png", mime_type="text/plain"),
        File(ref="attachments/x.png", mime_type="application/zip"),
    ],
)
def test_what_cannot_be_sent_is_spoken_of(part):
    """A type the format does not know, a file that is not at hand or not what it says: a note, and never an error."""
    assert sent(part) == f"[attachment: {part.ref}, {part.mime_type}]"


def test_only_text_stays_one_string():
    """So a conversation without attachments is written as it always was; thoughts are no content."""
    assert sent(Text(text="a"), Reasoning(text="hm"), Text(text=""), Text(text="b")) == "a\nb"
    assert sent() == ""


def test_the_type_is_read_without_its_parameters_and_by_its_right_name():
    """`IMAGE/JPG; q=1` is a JPEG picture."""
    (picture,) = sent(image(mime_type="IMAGE/JPG; q=1"))

    assert picture["image_url"]["url"].startswith("data:image/jpeg;base64,")


def test_where_only_text_may_stand_pictures_are_spoken_of():
    """A tool's result is text in this format; a text file in it is told."""
    parts = (Text(text="shot:"), image(), File(ref="attachments/notes.md", mime_type="text/plain"))

    assert text_of(parts, FILES) == (
        "shot:\n[attachment: attachments/x.png, image/png]\n[attachment: attachments/notes.md, text/plain]\n# Grüße"
    )
