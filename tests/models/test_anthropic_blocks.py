"""Attachments are sent as what their bytes are, as many as fit; the rest is at least spoken of."""

from __future__ import annotations

import base64

import msgspec
import pytest

from agi.models import anthropic_blocks
from agi.models.anthropic_format import encode_request
from agi.models.base import ModelRequest
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, File, Image, Part, Text, ToolResultContent, ToolResultPart

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
PDF = b"%PDF-1.7\n\xe2\xe3 more"


def message(*parts: Part, role: str = "user") -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def sent(files: dict[str, bytes], *messages: Message) -> list[dict[str, object]]:
    body = encode_request("anthropic", "claude-x", ModelRequest(system="", messages=messages, files=files))
    blocks = [block for entry in msgspec.json.decode(body)["messages"] for block in entry["content"]]
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]


def written(media_type: str, data: bytes) -> dict[str, object]:
    return {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 jpeg", "image/jpeg"),
        (b"GIF89a gif", "image/gif"),
        (b"RIFF\0\0\0\0WEBP webp", "image/webp"),
    ],
)
@pytest.mark.parametrize("declared", ["image/png", "image/webp", "text/plain"])
def test_an_image_is_sent_as_what_it_is(data, media_type, declared):
    """Anthropic refuses an image whose type is not the declared one."""
    blocks = sent({"attachments/x": data}, message(Text(text="look"), Image(ref="attachments/x", mime_type=declared)))

    assert blocks == [{"type": "text", "text": "look"}, {"type": "image", "source": written(media_type, data)}]


def test_a_pdf_is_a_document():
    """Whatever it is called."""
    assert sent({"a": PDF}, message(File(ref="a", mime_type="application/octet-stream"))) == [
        {"type": "document", "source": written("application/pdf", PDF)}
    ]


def test_a_text_file_is_text_under_its_name():
    """Anything that is text, whatever its type."""
    assert sent({"a.toml": "x = 'ä'\n".encode()}, message(File(ref="a.toml", mime_type="application/toml"))) == [
        {"type": "text", "text": "[attachment: a.toml, application/toml]\nx = 'ä'\n"}
    ]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe\x00", b"text\0with a zero", b"RIFF\0\0\0\0WAVE\xff", PNG + b"\0" * anthropic_blocks.MAX_IMAGE],
    ids=["empty", "bytes", "zero", "sound", "huge"],
)
def test_what_cannot_be_sent_is_named(data):
    """An attachment must never make the request fail."""
    assert sent({"a": data}, message(Image(ref="a", mime_type="image/png"))) == [
        {"type": "text", "text": "[attachment: a, image/png]"}
    ]


def test_what_is_not_there_is_named():
    """Files that are missing, and sounds, which Anthropic does not take."""
    parts = (File(ref="gone.txt", mime_type="text/plain"), Audio(ref="a.wav", mime_type="audio/wav"))

    assert [block["text"] for block in sent({"a.wav": b"plain text"}, message(*parts))] == [
        "[attachment: gone.txt, text/plain]",
        "[attachment: a.wav, audio/wav]",
    ]


def test_results_carry_attachments_too():
    """A tool may show a picture or a document."""
    parts = (Text(text="shot:"), Image(ref="x", mime_type="image/png"), File(ref="d", mime_type="application/pdf"))
    result = ToolResultPart(content=ToolResultContent(id="c1", name="shot", ok=True, parts=parts))
    (block,) = sent({"x": PNG, "d": PDF}, message(result, role="tool"))

    assert block["content"] == [
        {"type": "text", "text": "shot:"},
        {"type": "image", "source": written("image/png", PNG)},
        {"type": "document", "source": written("application/pdf", PDF)},
    ]


def test_the_latest_attachments_are_sent_as_far_as_they_fit():
    """A request has a size it may not pass; what is left out is named."""
    half = PDF + b"\0" * (anthropic_blocks.MAX_ATTACHED // 2)
    messages = [message(File(ref=f"{n}.pdf", mime_type="application/pdf")) for n in range(3)]
    blocks = sent({"0.pdf": half, "1.pdf": half, "2.pdf": PDF}, *messages)

    assert [block["type"] for block in blocks] == ["text", "document", "document"]
    assert blocks[0]["text"] == "[attachment: 0.pdf, application/pdf]"


def test_no_more_attachments_are_sent_than_are_taken():
    """There is a largest number of them as well."""
    count = anthropic_blocks.MOST_ATTACHED + 1
    blocks = sent(
        {f"{n}": PNG for n in range(count)}, *[message(Image(ref=f"{n}", mime_type="")) for n in range(count)]
    )

    assert [block["type"] for block in blocks] == ["text", *["image"] * (count - 1)]
