"""What a provider is told: each kind of message in its format, and bytes that only grow at the end."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from agi.errors import Invalid
from agi.models.base import ModelRequest
from agi.models.openai_chat_format import encode_request
from agi.protocol.messages import Message
from agi.protocol.parts import (
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
from agi.protocol.tools import ToolDefinition, ToolKind

READ = ToolDefinition(
    name="read_file",
    description="Read a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
    kind=ToolKind.READ,
)


def message(role: str, *parts) -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def a_call(id: str, args: bytes) -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name="read_file", args=msgspec.Raw(args)))


def a_result(id: str, *parts, ok: bool = True, error: str = "") -> ToolResultPart:
    return ToolResultPart(content=ToolResultContent(id=id, name="read_file", ok=ok, parts=parts, error=error))


def encode(request: ModelRequest, limit_name="max_tokens") -> bytes:
    return encode_request("p", "m", request, limit_name=limit_name)


def messages_of(*messages: Message) -> list[object]:
    return msgspec.json.decode(encode(ModelRequest(system="", messages=messages)))["messages"]


def test_a_conversation_becomes_roles_calls_and_results():
    """System prompt first; a call keeps its text, each result names its call, reasoning is not sent back."""
    request = ModelRequest(
        system="be brief",
        messages=(
            message("user", Text(text="what is in a?")),
            message(
                "assistant",
                Reasoning(text="hm"),
                Text(text="Let me "),
                Text(text="see."),
                a_call("c1", b'{"path": "a"}'),
            ),
            message("tool", a_result("c1", Text(text="ä"))),
            message("assistant", Text(text="An ä.")),
        ),
        tools=(READ,),
    )

    assert msgspec.json.decode(encode(request)) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "read_file", "description": "Read a file.", "parameters": READ.input_schema},
            }
        ],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "what is in a?"},
            {
                "role": "assistant",
                "content": "Let me see.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "ä"},
            {"role": "assistant", "content": "An ä."},
        ],
    }


def test_a_tool_message_becomes_one_message_a_result():
    """Results of parallel calls go out one by one, in order."""
    sent = messages_of(message("tool", a_result("c1", Text(text="1")), a_result("c2", Text(text="2"))))

    assert [entry["tool_call_id"] for entry in sent] == ["c1", "c2"]


def test_a_result_is_never_empty():
    """A failure without text tells its error; nothing at all is said to be nothing."""
    sent = messages_of(message("tool", a_result("c1", ok=False, error="denied"), a_result("c2")))

    assert [entry["content"] for entry in sent] == ["denied", "(no output)"]


def test_attachments_that_are_not_at_hand_are_named():
    """What cannot be sent is at least spoken of, to the model and in results."""
    image = Image(ref="attachments/x.png", mime_type="image/png")
    sent = messages_of(
        message("user", Text(text="look"), image, File(ref="attachments/a.pdf", mime_type="application/pdf")),
        message("tool", a_result("c1", Text(text="shot:"), image)),
    )

    assert sent[0]["content"] == (
        "look\n[attachment: attachments/x.png, image/png]\n[attachment: attachments/a.pdf, application/pdf]"
    )
    assert sent[1]["content"] == "shot:\n[attachment: attachments/x.png, image/png]"


def test_attachments_at_hand_are_sent_with_their_message():
    """A user's picture goes along; in a tool's result, where the format has no place for it, it is named."""
    image = Image(ref="attachments/x.png", mime_type="image/png")
    messages = (message("user", Text(text="look"), image), message("tool", a_result("c1", image)))
    request = ModelRequest(system="", messages=messages, files={"attachments/x.png": b"pixels"})
    user, tool = msgspec.json.decode(encode(request))["messages"]

    assert [part["type"] for part in user["content"]] == ["text", "image_url"]
    assert tool["content"] == "[attachment: attachments/x.png, image/png]"


def test_messages_with_nothing_to_send_are_left_out():
    """Providers refuse empty ones: only thoughts, only an error, nothing."""
    assert (
        messages_of(
            message("assistant", Reasoning(text="hm")),
            message("assistant", ErrorPart(content=ErrorContent(message="broke"))),
            message("assistant"),
            message("user", Text(text="")),
        )
        == []
    )


def test_a_call_that_no_server_would_take_is_sent_as_one_it_takes():
    """A made-up name or half an argument, once said, must not be refused for ever."""
    wild = ToolCallPart(content=ToolCallContent(id="c1", name="fs.read: é" * 20, args=msgspec.Raw(b'"{broken"')))
    (sent,) = messages_of(message("assistant", wild))[0]["tool_calls"]

    assert sent["function"]["name"] == ("fs_read_" * 20)[:64]
    assert sent["function"]["arguments"] == '{"malformed":"{broken"}'


def test_a_call_without_words_has_null_content():
    """As OpenAI has it."""
    assert messages_of(message("assistant", a_call("c1", b"{}")))[0]["content"] is None


def test_the_same_request_gives_the_same_bytes():
    """Also where equal schemas were written in another order."""
    turned = dict(reversed(READ.input_schema.items()))
    tools = [msgspec.structs.replace(READ, input_schema=schema) for schema in (READ.input_schema, turned)]
    first, second = (encode(ModelRequest(system="s", messages=(), tools=(tool,))) for tool in tools)

    assert first == second


def test_a_longer_conversation_only_adds_at_the_end():
    """What was sent before is a prefix of what is sent now, over twenty steps, so that a provider's cache holds."""
    image = Image(ref="x", mime_type="image/png")
    history = [message("user", Text(text="a"), image)]
    for step in range(20):
        thought = Reasoning(text="hm", provider="p", model="m", signature="chat:reasoning")
        history += [message("assistant", thought, a_call(f"c{step}", b"{}")), message("tool", a_result(f"c{step}"))]
    options = {"temperature": 0, "schema": {"type": "object"}}
    bodies = [
        encode(
            ModelRequest(
                system="s", messages=tuple(history[:n]), tools=(READ,), options=options, files={"x": b"pixels"}
            )
        )
        for n in range(1, len(history) + 1, 2)
    ]

    assert len(bodies) == 21
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))


@pytest.mark.parametrize("limit_name", ["max_tokens", "max_completion_tokens"])
def test_known_options_are_passed_on(limit_name):
    """Unknown ones and nulls are not; the output limit goes under the server's name for it."""
    options = {"temperature": 0.5, "max_tokens": 9, "top_p": 1, "seed": 7, "stop": ["x"], "tools": "evil", "n": 4}
    options["reasoning_effort"] = "low"
    body = msgspec.json.decode(encode(ModelRequest(system="", messages=(), options=options), limit_name))

    assert body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "top_p": 1,
        "seed": 7,
        "stop": ["x"],
        limit_name: 9,
        "reasoning_effort": "low",
        "messages": [],
    }
    assert b"seed" not in encode(ModelRequest(system="", messages=(), options={"seed": None}))


def test_a_schema_becomes_a_response_format():
    """Under a name, strict where it can be; what is no schema is left out."""
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    body = msgspec.json.decode(encode(ModelRequest(system="", messages=(), options={"schema": schema})))

    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": True},
    }
    assert b"response_format" not in encode(ModelRequest(system="", messages=(), options={"schema": "x"}))


@pytest.mark.parametrize("name", ["fs.read", "", "x" * 65, "a b", "naïve", "a\n"])
def test_a_tool_name_no_provider_takes_is_refused(name):
    """Before anything is sent, and by name."""
    tool = msgspec.structs.replace(READ, name=name)
    with pytest.raises(Invalid) as caught:
        encode(ModelRequest(system="", messages=(), tools=(tool,)))

    assert caught.value.code == "tool_name_invalid"


def test_a_tool_that_changed_is_written_anew():
    """What is kept of a tool is kept for this very value: an equal one is written the same, another one otherwise."""
    tool = ToolDefinition(name="look", description="Look.", input_schema={"type": "object"}, kind=ToolKind.READ)
    again = msgspec.structs.replace(tool)
    other = msgspec.structs.replace(tool, description="Look closer.")

    first, same, changed = (
        encode_request("p", "m", ModelRequest(system="", messages=(), tools=(one,)), limit_name="max_tokens")
        for one in (tool, again, other)
    )

    assert first == same
    assert b"Look closer." in changed
    assert b"Look closer." not in first
