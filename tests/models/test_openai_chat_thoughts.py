"""Thoughts go back to whom they came from, in the field they came in, and to nobody else."""

from __future__ import annotations

import msgspec
import pytest

from agi.models.base import ModelRequest
from agi.models.openai_chat_format import encode_request
from agi.models.openai_chat_thoughts import add_details, seal_details, seal_field
from agi.protocol.messages import Message
from agi.protocol.parts import Part, Reasoning, Text, ToolCallContent, ToolCallPart

CALL = ToolCallPart(content=ToolCallContent(id="c1", name="shell", args=msgspec.Raw(b"{}")))


def thought(text: str, signature: str, provider: str = "p", model: str = "m") -> Reasoning:
    return Reasoning(text=text, provider=provider, model=model, signature=signature)


def sent(*parts: Part) -> bytes:
    message = Message(id="msg_1", role="assistant", parts=parts, created_at="", status="complete")
    return encode_request("p", "m", ModelRequest(system="", messages=(message,)), limit_name="max_tokens")


def fields(*parts: Part) -> dict[str, object]:
    (message,) = msgspec.json.decode(sent(*parts))["messages"]
    return {name: value for name, value in message.items() if name.startswith("reasoning")}


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_go_back_in_the_field_they_came_in(name):
    """All of one answer together, with the call they led to."""
    assert fields(thought("h", seal_field(name)), thought("m", seal_field(name)), CALL) == {name: "hm"}


def test_details_go_back_byte_for_byte():
    """Instead of the plain text, which they hold."""
    details = [{"type": "reasoning.text", "text": "hm", "signature": "c2ln/+=="}, {"data": "é\u2028"}]
    parts = (thought("hm", seal_field("reasoning")), Text(text="yes"), thought("", seal_details(details)))

    assert fields(*parts) == {"reasoning_details": details}
    assert msgspec.json.encode(details) in sent(*parts)


@pytest.mark.parametrize(
    "part",
    [
        thought("hm", seal_field("reasoning"), provider="q"),
        thought("hm", seal_field("reasoning"), model="n"),
        thought("hm", ""),
        thought("hm", "EqQBCkYIBRgCKkD"),
        thought("hm", '[{"type":"thinking"}]'),
        thought("hm", "chat:content"),
    ],
)
def test_thoughts_of_another_model_format_or_stream_are_not_sent(part):
    """Nor those whose stream broke before their seal came."""
    assert fields(part, Text(text="yes")) == {}


def test_thoughts_alone_are_no_message():
    """Providers refuse an answer without words and calls."""
    assert b'"messages":[]' in sent(thought("hm", seal_field("reasoning")))


def test_details_of_another_type_or_index_stay_apart():
    """Their order is kept, for the server checks it."""
    known: list[dict[str, object]] = []
    for piece in ({"type": "a", "text": "1"}, {"type": "a", "index": 1, "text": "2"}, {"type": "b", "index": 1}):
        add_details(known, [piece])

    assert [detail.get("text") for detail in known] == ["1", "2", None]
