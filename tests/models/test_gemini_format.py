"""What Gemini is told: each kind of message in its format, and bytes that only grow at the end."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from agi.errors import Invalid
from agi.models.base import ModelRequest
from agi.models.gemini_format import encode_request
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

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = ToolDefinition(name="read_file", description="Read a file.", input_schema=SCHEMA, kind=ToolKind.READ)
SKIP = "skip_thought_signature_validator"


def message(role: str, *parts) -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def a_call(id: str) -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name="read_file", args=msgspec.Raw(b'{"path": "a"}')))


def a_result(id: str, *parts) -> ToolResultPart:
    return ToolResultPart(content=ToolResultContent(id=id, name="read_file", ok=True, parts=parts))


def encode(request: ModelRequest, model: str = "gemini-3-pro") -> bytes:
    return encode_request("google", model, request)


def contents_of(*messages: Message, model: str = "gemini-3-pro", files: dict[str, bytes] | None = None) -> list:
    request = ModelRequest(system="", messages=messages, files=files or {})
    return msgspec.json.decode(encode(request, model))["contents"]


def config_of(model: str = "gemini-3-pro", tools: tuple[ToolDefinition, ...] = (), **options: object) -> object:
    request = ModelRequest(system="", messages=(), tools=tools, options=options)
    return msgspec.json.decode(encode(request, model)).get("generationConfig")


CONVERSATION = (
    message("user", Text(text="what is in a and b?")),
    message(
        "assistant",
        Reasoning(text="hm", provider="google", model="gemini-3-pro", signature="c2ln"),
        a_call("c1"),
        a_call("c2"),
    ),
    message("tool", a_result("c1", Text(text="ä"))),
    message("tool", a_result("c2", Text(text="b"))),
    message("assistant", Text(text="An ä and a b.")),
    message("user", Text(text="thanks")),
)


def test_a_conversation_becomes_roles_calls_and_results():
    """System prompt and tools first; the results of one step go together, in order."""
    request = ModelRequest(system="be brief", messages=CONVERSATION, tools=(READ,))
    call = {"name": "read_file", "args": {"path": "a"}}

    assert msgspec.json.decode(encode(request)) == {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read_file", "description": "Read a file.", "parametersJsonSchema": SCHEMA}
                ]
            }
        ],
        "contents": [
            {"role": "user", "parts": [{"text": "what is in a and b?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"functionCall": {"id": "c1", **call}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "c2", **call}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "ä"}}},
                    {"functionResponse": {"id": "c2", "name": "read_file", "response": {"output": "b"}}},
                ],
            },
            {"role": "model", "parts": [{"text": "An ä and a b."}]},
            {"role": "user", "parts": [{"text": "thanks"}]},
        ],
    }


def test_after_a_change_of_model_its_thoughts_are_left_out_and_its_calls_go_on():
    """What another model thought is not sent; newer models are told that its calls were not signed."""
    for model, signed in (("gemini-3-flash", {"thoughtSignature": SKIP}), ("gemini-2.5-pro", {})):
        first, second = contents_of(*CONVERSATION, model=model)[1]["parts"]

        assert first == {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "a"}}, **signed}
        assert "thoughtSignature" not in second


@pytest.mark.parametrize(
    ("model", "is_new"),
    [
        ("gemini-3-pro-preview", True),
        ("gemini-3.1-flash", True),
        ("gemini-flash-latest", True),
        ("models/gemini-10-pro", True),
        ("gemini-2.5-pro", False),
        ("gemini-2.0-flash", False),
        ("models/gemini-1.5-pro", False),
        ("gemini-live-2.5-flash", False),
        ("gemma-3-27b-it", False),
    ],
)
def test_models_are_told_apart_by_their_names(model, is_new):
    """What a picture in a result looks like, and whether a schema may stand beside tools, depends on the generation."""
    shot = a_result("c1", Image(ref="x.png", mime_type="image/png"))
    contents = contents_of(message("tool", shot), model=model, files={"x.png": b"png"})

    assert len(contents) == (1 if is_new else 2)
    assert ("parts" in contents[0]["parts"][0]["functionResponse"]) == is_new
    assert (config_of(model, (READ,), schema=SCHEMA) is not None) == is_new
    assert config_of(model, (), schema=SCHEMA) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }


def test_messages_with_nothing_to_send_are_left_out():
    """The provider refuses empty ones."""
    assert (
        contents_of(message("assistant", Reasoning(text="hm")), message("assistant"), message("user", Text(text="")))
        == []
    )


def test_the_model_speaks_only_after_somebody_else():
    """A call must follow the user's turn or results; what the model said in several messages is one turn."""
    said, called = message("assistant", Text(text="First.")), message("assistant", a_call("c1"))
    opening, turn, results = contents_of(said, called, message("tool", a_result("c1", Text(text="x"))))

    assert (opening["role"], turn["role"], results["role"]) == ("user", "model", "user")
    assert [set(part) & {"text", "functionCall"} for part in turn["parts"]] == [{"text"}, {"functionCall"}]


def test_the_same_request_gives_the_same_bytes():
    """Also where equal schemas were written in another order."""
    turned = msgspec.structs.replace(READ, input_schema=dict(reversed(SCHEMA.items())))
    first, second = (encode(ModelRequest(system="s", messages=CONVERSATION, tools=(t,))) for t in (READ, turned))

    assert first == second


def test_a_longer_conversation_only_adds_at_the_end():
    """What was sent before is a prefix of what is sent now, so that the provider's cache holds."""
    steps = [CONVERSATION[:end] for end in (1, 4, 5, 6)]
    bodies = [
        encode(ModelRequest(system="s", messages=messages, tools=(READ,), options={"temperature": 0}))
        for messages in steps
    ]

    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))


def test_known_options_are_passed_on():
    """Unknown ones and nulls are not."""
    options = {"temperature": 0.5, "max_tokens": 9, "top_p": 1, "seed": 7, "stop": "x", "contents": "evil", "n": 4}

    assert config_of(**options) == {
        "temperature": 0.5,
        "topP": 1,
        "seed": 7,
        "stopSequences": ["x"],
        "maxOutputTokens": 9,
    }
    assert config_of(stop=["a", "b"]) == {"stopSequences": ["a", "b"]}
    assert config_of(seed=None, n=4) is None


@pytest.mark.parametrize(
    ("model", "options", "thinking"),
    [
        ("gemini-3-pro", {"reasoning_summary": "auto"}, {"includeThoughts": True}),
        ("gemini-3-pro", {"reasoning_effort": "low"}, {"thinkingLevel": "LOW"}),
        ("gemini-3-pro", {"reasoning_effort": "xhigh"}, {"thinkingLevel": "HIGH"}),
        ("gemini-2.5-pro", {"reasoning_effort": "low"}, {"thinkingBudget": 1024}),
        ("gemini-2.5-flash", {"reasoning_effort": "none"}, {"thinkingBudget": 0}),
    ],
)
def test_thinking_is_asked_for_in_the_model_s_own_words(model, options, thinking):
    """Aloud only if wanted; how much is a level for newer models and a number of tokens for older ones."""
    assert config_of(model, **options) == {"thinkingConfig": thinking}


def test_thinking_is_not_spoken_of_unless_asked():
    """Models that do not think refuse the question."""
    assert config_of(reasoning_summary=None, reasoning_effort=None) is None
    assert config_of("gemini-2.5-pro", reasoning_effort="very") is None


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "naïve", "a\n", "1st"])
def test_a_tool_name_the_provider_does_not_take_is_refused(name):
    """Before anything is sent, and by name."""
    tool = msgspec.structs.replace(READ, name=name)
    with pytest.raises(Invalid) as caught:
        encode(ModelRequest(system="", messages=(), tools=(tool,)))

    assert caught.value.code == "tool_name_invalid"
