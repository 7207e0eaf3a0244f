"""What a provider is told in OpenAI's Responses format: options, tools, and bytes that only grow at the end."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from agi.errors import Invalid
from agi.models.base import ModelRequest
from agi.models.openai_responses_format import encode_request
from agi.protocol.messages import Message
from agi.protocol.parts import (
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
PNG = b"\x89PNG\r\n\x1a\nrest"
SEAL = '{"type":"reasoning", "id":"rs_1","summary":[],"encrypted_content":"gAAA+/=="}'
IMAGE = Image(ref="attachments/x.png", mime_type="image/png")


def message(role: str, *parts) -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def a_call(id: str = "c1", args: bytes = b"{}", name: str = "read_file") -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name=name, args=msgspec.Raw(args)))


def a_result(id: str, *parts, ok: bool = True, error: str = "") -> ToolResultPart:
    return ToolResultPart(content=ToolResultContent(id=id, name="read_file", ok=ok, parts=parts, error=error))


def thought(signature: str = SEAL, provider: str = "openai", model: str = "gpt-5") -> Reasoning:
    return Reasoning(text="hm", provider=provider, model=model, signature=signature)


def answered(id: str, words: str) -> dict[str, object]:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}


def encode(request: ModelRequest, model: str = "gpt-5") -> bytes:
    return encode_request("openai", model, request)


def body_of(options: dict[str, object], model: str = "gpt-5") -> dict[str, object]:
    return msgspec.json.decode(encode(ModelRequest(system="", messages=(), options=options), model))


def test_a_conversation_becomes_instructions_and_items_in_order():
    """Nothing is stored; a call keeps its text, each result names its call, thoughts go back sealed and in place."""
    request = ModelRequest(
        system="be brief",
        messages=(
            message("user", Text(text="what is in a?")),
            message("assistant", thought(), Text(text="Let me "), Text(text="see."), a_call("c1", b'{"path": "a"}')),
            message("tool", a_result("c1", Text(text="ä"))),
            message("assistant", Text(text="An ä.")),
        ),
        tools=(READ,),
    )

    assert msgspec.json.decode(encode(request)) == {
        "model": "gpt-5",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Read a file.",
                "parameters": READ.input_schema,
                "strict": False,
            }
        ],
        "instructions": "be brief",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "what is in a?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA+/=="},
            answered("msg_0", "Let me see."),
            {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path": "a"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "ä"},
            answered("msg_1", "An ä."),
        ],
    }


def test_the_same_request_gives_the_same_bytes():
    """Also where equal schemas were written in another order."""
    turned = dict(reversed(READ.input_schema.items()))
    tools = [msgspec.structs.replace(READ, input_schema=schema) for schema in (READ.input_schema, turned)]
    options = [{"schema": READ.input_schema}, {"schema": turned}]
    first, second = (
        encode(ModelRequest(system="s", messages=(), tools=(tool,), options=wanted))
        for tool, wanted in zip(tools, options, strict=True)
    )

    assert first == second


def test_a_longer_conversation_only_adds_at_the_end():
    """What was sent before is a prefix of what is sent now, thoughts and files included."""
    turn = (
        message("user", Text(text="a"), IMAGE),
        message("assistant", thought(), Text(text="b"), a_call()),
        message("tool", a_result("c1", Text(text="c"))),
        message("assistant", thought(), Text(text="d")),
    )
    history = turn * 5
    bodies = [
        encode(
            ModelRequest(
                system="s",
                messages=history[:n],
                tools=(READ,),
                options={"temperature": 0, "schema": {"type": "object"}},
                files={IMAGE.ref: PNG},
            )
        )
        for n in range(1, len(history) + 1)
    ]

    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))


def test_known_options_are_passed_on():
    """Unknown ones, nulls and those this format does not have are not."""
    options = {
        "temperature": 0.5,
        "max_tokens": 9,
        "top_p": 1,
        "reasoning_effort": "low",
        "reasoning_summary": "auto",
        "seed": 7,
        "stop": ["x"],
        "tools": "evil",
        "store": True,
    }

    assert body_of(options) == {
        "model": "gpt-5",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "temperature": 0.5,
        "top_p": 1,
        "max_output_tokens": 9,
        "input": [],
    }
    assert "reasoning" not in body_of({"reasoning_effort": None})


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "ft:gpt-4o:org", "chatgpt-4o-latest", "gpt-5-chat-latest"])
def test_models_that_do_not_think_are_not_asked_for_thoughts(model):
    """OpenAI refuses the whole request otherwise."""
    assert "include" not in body_of({}, model)


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5.2", "gpt-5-mini", "o3", "o4-mini", "qwen3", "gpt-oss:20b"])
def test_all_others_are(model):
    """Names nobody has heard of, too."""
    assert body_of({}, model)["include"] == ["reasoning.encrypted_content"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_schema_is_asked_for_natively(closed):
    """Strictly where it can be; what is no schema is not passed on."""
    schema = {"type": "object", "properties": {}, "additionalProperties": not closed, "title": "My answer!"}
    wanted = {"type": "json_schema", "name": "My_answer_", "schema": schema, "strict": closed}

    assert body_of({"schema": schema})["text"] == {"format": wanted}
    assert "text" not in body_of({"schema": "not a schema"})


@pytest.mark.parametrize("name", ["fs.read", "", "x" * 65, "a b", "naïve", "a\n"])
def test_a_tool_name_no_provider_takes_is_refused(name):
    """Before anything is sent, and by name."""
    tool = msgspec.structs.replace(READ, name=name)
    with pytest.raises(Invalid) as caught:
        encode(ModelRequest(system="", messages=(), tools=(tool,)))

    assert caught.value.code == "tool_name_invalid"
