"""The conversation in OpenAI's Responses format: items in order, thoughts sealed and in place, files as they are."""

from __future__ import annotations

from base64 import b64decode

import msgspec
import pytest

from agi.models.base import ModelRequest
from agi.models.openai_responses_input import MAX_ATTACHED, InputItem, input_items
from agi.models.retelling import Retelling
from agi.protocol.messages import Message
from agi.protocol.parts import (
    Audio,
    ErrorContent,
    ErrorPart,
    File,
    Image,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)

PNG = b"\x89PNG\r\n\x1a\nrest"
SEAL = '{"type":"reasoning", "id":"rs_1","summary":[],"encrypted_content":"gAAA+/=="}'
IMAGE = Image(ref="attachments/x.png", mime_type="image/png")
PDF = File(ref="attachments/a.pdf", mime_type="application/pdf")


def message(role: str, *parts) -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def a_call(id: str = "c1", args: bytes = b"{}", name: str = "read_file") -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name=name, args=msgspec.Raw(args)))


def a_result(id: str, *parts, ok: bool = True, error: str = "") -> ToolResultPart:
    return ToolResultPart(content=ToolResultContent(id=id, name="read_file", ok=ok, parts=parts, error=error))


def thought(signature: str = SEAL, provider: str = "openai", model: str = "gpt-5") -> Reasoning:
    return Reasoning(text="hm", provider=provider, model=model, signature=signature)


def items_in(*messages: Message, files: dict[str, bytes] | None = None) -> list[InputItem]:
    request = ModelRequest(system="", messages=messages, files=files or {})
    return [*input_items(request, ("openai", "gpt-5"), Retelling())]


def items_of(*messages: Message, files: dict[str, bytes] | None = None) -> list[dict[str, object]]:
    return msgspec.json.decode(msgspec.json.encode(items_in(*messages, files=files)))


def kinds_of(*parts) -> list[str]:
    return [item["type"] for item in items_of(message("assistant", *parts))]


def test_sealed_thoughts_go_back_byte_for_byte():
    """Whatever the spacing and the escapes, the item stands in the request as it was kept."""
    sealed, _call = items_in(message("assistant", thought(), a_call()))

    assert bytes(sealed) == SEAL.encode()


@pytest.mark.parametrize(
    "other",
    [
        thought(provider="lab"),
        thought(model="gpt-5-mini"),
        thought(signature=""),
        thought(signature="EqQBCgIYAhIM"),
        thought(signature='{"type":"redacted_thinking","data":"x"}'),
        thought(signature='{"type":7}'),
        thought(signature=SEAL + "]}"),
        thought(signature="[" * 100_000),
    ],
)
def test_thoughts_of_others_and_unsealed_ones_are_not_sent(other):
    """Only what this provider and model sealed means anything to it; the rest would be refused."""
    assert kinds_of(other, a_call()) == ["function_call"]


def test_thoughts_are_sent_only_with_what_they_led_to():
    """An answer that was cut off after its thoughts would otherwise be refused with every later request."""
    assert kinds_of(thought()) == []
    assert kinds_of(Text(text="a"), thought()) == ["message"]
    assert kinds_of(thought(), thought(), Text(text="a"), thought(), a_call()) == [
        "reasoning",
        "reasoning",
        "message",
        "reasoning",
        "function_call",
    ]


def test_a_phase_is_handed_back_with_its_text():
    """The mark itself is no item, and it holds for one message only."""
    mark = thought(signature='{"type":"message","phase":"commentary"}')
    sent = items_of(message("assistant", thought(), mark, Text(text="a"), thought(), Text(text="b"), mark))

    assert [(item["type"], item.get("phase")) for item in sent] == [
        ("reasoning", None),
        ("message", "commentary"),
        ("reasoning", None),
        ("message", None),
    ]


def test_a_tool_message_becomes_one_item_a_result():
    """Results of parallel calls go out one by one, in order; none is empty."""
    sent = items_of(
        message("tool", a_result("c1", Text(text="1")), a_result("c2", ok=False, error="denied"), a_result("c3"))
    )

    assert [(item["call_id"], item["output"]) for item in sent] == [
        ("c1", "1"),
        ("c2", "denied"),
        ("c3", "(no output)"),
    ]


def test_pictures_and_documents_are_sent_as_they_are():
    """As data URLs, to the model and in results; the name of a file comes along."""
    files = {IMAGE.ref: PNG, PDF.ref: b"%PDF-1.7", "attachments/n.txt": "ä".encode()}
    text = File(ref="attachments/n.txt", mime_type="text/plain; charset=utf-8")
    user, result = items_of(
        message("user", Text(text="look"), IMAGE, PDF, text),
        message("tool", a_result("c1", Text(text="shot:"), IMAGE)),
        files=files,
    )

    words, picture, pdf, note = user["content"]
    assert words == {"type": "input_text", "text": "look"}
    assert (picture["type"], picture["detail"]) == ("input_image", "auto")
    assert b64decode(picture["image_url"].removeprefix("data:image/png;base64,")) == PNG
    assert (pdf["type"], pdf["filename"]) == ("input_file", "a.pdf")
    assert b64decode(pdf["file_data"].removeprefix("data:application/pdf;base64,")) == b"%PDF-1.7"
    assert b64decode(note["file_data"].removeprefix("data:text/plain;base64,")) == "ä".encode()
    assert result["output"] == [{"type": "input_text", "text": "shot:"}, picture]


@pytest.mark.parametrize(
    ("part", "data"),
    [
        (IMAGE, None),
        (IMAGE, b""),
        (IMAGE, b"<html>not a picture</html>"),
        (Image(ref="a.svg", mime_type="image/svg+xml"), b"<svg/>"),
        (Audio(ref="a.mp3", mime_type="audio/mpeg"), b"ID3"),
        (File(ref="a.zip", mime_type="application/zip"), b"PK"),
    ],
)
def test_what_the_format_has_no_place_for_is_named(part, data):
    """What is missing, unknown or not what it is said to be is spoken of, and poisons nothing."""
    sent = items_of(
        message("user", part),
        message("tool", a_result("c1", part)),
        files={} if data is None else {part.ref: data},
    )

    note = f"[attachment: {part.ref}, {part.mime_type}]"
    assert sent[0]["content"] == [{"type": "input_text", "text": note}]
    assert sent[1]["output"] == note


def test_a_picture_is_told_by_its_bytes():
    """A JPEG that calls itself a PNG is sent as what it is, whatever kind of part it came as."""
    (sent,) = items_of(message("user", PDF), files={PDF.ref: b"RIFF\x00\x00\x00\x00WEBP"})
    (other,) = items_of(message("user", IMAGE), files={IMAGE.ref: b"\xff\xd8\xff\xe0"})

    assert sent["content"][0]["image_url"].startswith("data:image/webp;base64,")
    assert other["content"][0]["image_url"].startswith("data:image/jpeg;base64,")


def test_attachments_beyond_what_a_request_takes_are_named_the_oldest_first():
    """A conversation that gathers pictures stays one that can be sent."""
    refs = ["old.png", "middle.png", "new.png"]
    half = PNG + bytes(MAX_ATTACHED // 2 - len(PNG))
    messages = [message("user", Image(ref=ref, mime_type="image/png")) for ref in refs]
    sent = items_of(*messages, files=dict.fromkeys(refs, half))

    assert [item["content"][0]["type"] for item in sent] == ["input_text", "input_image", "input_image"]


def test_messages_with_nothing_to_send_are_left_out():
    """Providers refuse empty ones: only an error, nothing, no words."""
    assert (
        items_of(
            message("assistant", ErrorPart(content=ErrorContent(message="broke"))),
            message("assistant", Text(text="")),
            message("assistant"),
            message("user", Text(text="")),
            message("tool"),
        )
        == []
    )


def test_a_call_of_a_tool_that_cannot_exist_is_sent_under_a_name_that_can():
    """What a model once wrote is not refused for ever; arguments that are no object are put into one."""
    (sent,) = items_of(message("assistant", a_call("c1", b'"{broken"', name="fs.read: é" * 20)))

    assert sent["name"].startswith("fs_read_")
    assert len(sent["name"]) == 64
    assert sent["arguments"] == '{"malformed":"{broken"}'
