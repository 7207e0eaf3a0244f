"""Our messages as Anthropic's: every kind in its format, and bytes that only grow at the end."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from agi.errors import Invalid
from agi.models.anthropic_format import encode_request
from agi.models.base import ModelRequest
from agi.protocol.messages import Message
from agi.protocol.parts import (
    ErrorContent,
    ErrorPart,
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
WRITE = msgspec.structs.replace(READ, name="write_file", description="Write a file.")
MARK = {"type": "ephemeral"}
MARK_BYTES = b',"cache_control":{"type":"ephemeral"}'
SIGNED = '{"type":"thinking","signature":"c2ln+/="}'


def message(role: str, *parts) -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def says(role: str, text: str) -> Message:
    return message(role, Text(text=text))


def a_call(id: str, args: bytes = b"{}", name: str = "read_file") -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name=name, args=msgspec.Raw(args)))


def a_result(id: str, *parts, ok: bool = True, error: str = "") -> ToolResultPart:
    return ToolResultPart(content=ToolResultContent(id=id, name="read_file", ok=ok, parts=parts, error=error))


def a_thought(text: str, signature: str = SIGNED, provider: str = "anthropic", model: str = "claude-x") -> Reasoning:
    return Reasoning(text=text, signature=signature, provider=provider, model=model)


def encode(request: ModelRequest, model: str = "claude-x") -> bytes:
    return encode_request("anthropic", model, request)


def body_of(*messages: Message, model: str = "claude-x", **fields) -> dict[str, object]:
    return msgspec.json.decode(encode(ModelRequest(system="", messages=messages, **fields), model))


def messages_of(*messages: Message) -> list[dict[str, object]]:
    """What is sent, without the marks for the cache."""
    sent = encode(ModelRequest(system="", messages=messages)).replace(MARK_BYTES, b"")
    return msgspec.json.decode(sent)["messages"]


def test_a_conversation_becomes_system_tools_and_turns():
    """The system prompt stands apart; results are the user's; the last two turns of the user are marked."""
    request = ModelRequest(
        system="be brief",
        messages=(
            says("user", "what is in a?"),
            message("assistant", a_thought("hm"), Text(text="Let me see."), a_call("c1", b'{"path": "a"}')),
            message("tool", a_result("c1", Text(text="ä"))),
            says("assistant", "An ä."),
            says("user", "thanks"),
        ),
        tools=(READ, WRITE),
    )

    assert msgspec.json.decode(encode(request)) == {
        "model": "claude-x",
        "max_tokens": 64_000,
        "stream": True,
        "tools": [
            {"name": "read_file", "description": "Read a file.", "input_schema": READ.input_schema},
            {
                "name": "write_file",
                "description": "Write a file.",
                "input_schema": READ.input_schema,
                "cache_control": MARK,
            },
        ],
        "system": [{"type": "text", "text": "be brief", "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "what is in a?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln+/="},
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "ä"}],
                        "cache_control": MARK,
                    }
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "An ä."}]},
            {"role": "user", "content": [{"type": "text", "text": "thanks", "cache_control": MARK}]},
        ],
    }


def test_the_results_of_one_step_go_into_one_message_in_order():
    """Split over two messages they would teach the model not to call in parallel; what the user adds comes after."""
    sent = messages_of(
        says("user", "go"),
        message("assistant", a_call("c1"), a_call("c2")),
        message("tool", a_result("c1", Text(text="1"))),
        message("tool", a_result("c2", Text(text="2"), ok=False)),
        says("user", "and hurry"),
    )

    assert [entry["role"] for entry in sent] == ["user", "assistant", "user"]
    assert sent[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "1"}]},
        {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "2"}], "is_error": True},
        {"type": "text", "text": "and hurry"},
    ]


def test_turns_alternate():
    """What one side says in several messages is one message; a system message among them is the user's."""
    sent = messages_of(
        says("user", "a"), says("system", "b"), says("assistant", "c"), says("assistant", "d"), says("user", "e")
    )

    assert [(entry["role"], [block["text"] for block in entry["content"]]) for entry in sent] == [
        ("user", ["a", "b"]),
        ("assistant", ["c", "d"]),
        ("user", ["e"]),
    ]


def test_the_user_begins():
    """A conversation whose beginning was left out is told so."""
    sent = messages_of(says("assistant", "a"), says("user", "b"))

    assert [entry["role"] for entry in sent] == ["user", "assistant", "user"]
    assert "left out" in sent[0]["content"][0]["text"]


def test_nothing_blank_is_sent():
    """Anthropic refuses empty and blank text, wherever it stands."""
    sent = messages_of(
        says("user", "go"),
        message("assistant", Text(text="\n\n"), a_call("c1"), Text(text="")),
        message("tool", a_result("c1", Text(text=" \n"))),
        message("assistant", Text(text=" ")),
        says("user", "\t"),
        message("assistant", ErrorPart(content=ErrorContent(message="broke"))),
        says("user", "on"),
    )

    assert [[block["type"] for block in entry["content"]] for entry in sent] == [
        ["text"],
        ["tool_use"],
        ["tool_result", "text"],
    ]
    assert "system" not in body_of(says("user", "x"))
    assert "system" not in msgspec.json.decode(encode(ModelRequest(system="  \n", messages=())))


def test_a_result_is_never_empty():
    """A failure without text tells its error; nothing at all is said to be nothing."""
    sent = messages_of(message("tool", a_result("c1", ok=False, error="denied"), a_result("c2")))

    assert [block["content"] for block in sent[0]["content"]] == [
        [{"type": "text", "text": "denied"}],
        [{"type": "text", "text": "(no output)"}],
    ]


def test_thoughts_go_back_as_they_came_and_in_place():
    """Signed ones with their text, unreadable ones as they are, between the calls they stood between."""
    sealed = Reasoning(
        text="", signature='{"type":"redacted_thinking","data":"b3Bh\\u00e4"}', provider="anthropic", model="claude-x"
    )
    sent = messages_of(
        says("user", "go"), message("assistant", a_thought("ä\n"), a_call("c1"), sealed, a_thought(""), a_call("c2"))
    )

    assert sent[1]["content"] == [
        {"type": "thinking", "thinking": "ä\n", "signature": "c2ln+/="},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}},
        {"type": "redacted_thinking", "data": "b3Bhä"},
        {"type": "thinking", "thinking": "", "signature": "c2ln+/="},
        {"type": "tool_use", "id": "c2", "name": "read_file", "input": {}},
    ]


@pytest.mark.parametrize(
    "foreign",
    [
        a_thought("hm", model="claude-y"),
        a_thought("hm", provider="other"),
        a_thought("hm", signature=""),
        a_thought("hm", signature='{"type":"thinking","signature":""}'),
        a_thought("hm", signature="gAAAA opaque"),
        a_thought("hm", signature='{"type":"reasoning","id":"rs_1"}'),
        a_thought("hm", signature='{"type":"redacted_thinking","data":7}'),
        a_thought("hm", signature="\ud800"),
    ],
)
def test_thoughts_of_others_and_thoughts_cut_off_are_not_sent(foreign):
    """Only its maker understands a seal; what was never sealed would be refused."""
    sent = messages_of(says("user", "go"), message("assistant", foreign, Text(text="yes")))

    assert sent[1]["content"] == [{"type": "text", "text": "yes"}]


def test_an_answer_never_ends_in_thoughts():
    """Anthropic refuses that; thoughts alone are no answer."""
    sent = messages_of(
        says("user", "go"),
        message("assistant", Text(text="a"), a_thought("hm")),
        says("user", "on"),
        message("assistant", a_thought("hm"), Text(text="\n")),
        says("user", "so?"),
    )

    assert [[block["type"] for block in entry["content"]] for entry in sent] == [["text"], ["text"], ["text", "text"]]


def test_calls_that_were_malformed_are_sent_well_formed():
    """What a model once wrote must not make every later request fail: no strange names, and objects only."""
    calls = (a_call("call/1", b'"{not json"', "fs.read file"), a_call("", b" [1]", ""), a_call("c3", b' {"a": 1}'))
    sent = messages_of(says("user", "go"), message("assistant", *calls), message("tool", a_result("call/1")))

    assert sent[1]["content"] == [
        {"type": "tool_use", "id": "call_1", "name": "fs_read_file", "input": {"malformed": "{not json"}},
        {"type": "tool_use", "id": "_", "name": "_", "input": {"malformed": [1]}},
        {"type": "tool_use", "id": "c3", "name": "read_file", "input": {"a": 1}},
    ]
    assert sent[2]["content"][0]["tool_use_id"] == "call_1"


def test_arguments_go_back_exactly_as_they_were_written():
    """Numbers, blanks and the order of keys included."""
    raw = b'{"z":1.50,  "a":12345678901234567890}'

    assert raw in encode(ModelRequest(system="", messages=(message("assistant", a_call("c1", raw)),)))


def test_the_same_request_gives_the_same_bytes():
    """Also where equal schemas were written in another order."""
    turned = dict(reversed(READ.input_schema.items()))
    tools = [msgspec.structs.replace(READ, input_schema=schema) for schema in (READ.input_schema, turned)]
    first, second = (encode(ModelRequest(system="s", messages=(), tools=(tool,))) for tool in tools)

    assert first == second


def a_long_conversation() -> list[Message]:
    history: list[Message] = []
    for step in range(7):
        history.append(says("user", f"question {step}"))
        history.append(message("assistant", a_thought("hm"), Text(text="see"), a_call(f"c{step}"), a_call(f"d{step}")))
        history.append(message("tool", a_result(f"c{step}", Text(text="1"))))
        history.append(message("tool", a_result(f"d{step}", Text(text="2"), ok=False)))
        history.append(says("user", "a word in between"))
        history.append(says("assistant", "so it is"))
    return history


def test_a_longer_conversation_only_adds_at_the_end():
    """But for the marks, what was sent before is a prefix of what is sent now, so that the provider's cache holds."""
    history = a_long_conversation()
    options = {"temperature": 0, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    bodies = [
        encode(ModelRequest(system="s", messages=tuple(history[:n]), tools=(READ, WRITE), options=options))
        for n in range(1, len(history) + 1)
    ]

    for shorter, longer in pairwise(body.replace(MARK_BYTES, b"") for body in bodies):
        assert longer.startswith(shorter.removesuffix(b"]}]}"))


def test_there_are_never_more_marks_than_are_allowed():
    """Four: the tools, the system prompt, and the last two turns of the user, whose marks move along."""
    history = a_long_conversation()
    for n in range(1, len(history) + 1):
        body = body_of(*history[:n], tools=(READ, WRITE))
        users = [entry["content"] for entry in body["messages"] if entry["role"] == "user"]
        marked = [number for number, content in enumerate(users) if "cache_control" in content[-1]]

        assert marked == list(range(len(users)))[-2:]
        assert msgspec.json.encode(body).count(b"cache_control") == len(marked) + 1


def test_known_options_are_passed_on():
    """Each under Anthropic's name for it; unknown ones and nulls are not."""
    options = {
        "temperature": 0.5,
        "max_tokens": 9,
        "top_p": 1,
        "seed": 7,
        "stop": "x",
        "tools": "evil",
        "thinking": {"type": "adaptive"},
        "reasoning_effort": "high",
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "metadata": None,
    }

    assert body_of(options=options) == {
        "model": "claude-x",
        "max_tokens": 9,
        "stream": True,
        "temperature": 0.5,
        "top_p": 1,
        "stop_sequences": ["x"],
        "thinking": {"type": "adaptive"},
        "output_config": {
            "effort": "high",
            "format": {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}},
                    "additionalProperties": False,
                },
            },
        },
        "messages": [],
    }
    assert body_of(options={"stop": ["a", "b"], "max_tokens": None})["stop_sequences"] == ["a", "b"]
    assert body_of(options={"reasoning_effort": "minimal"})["output_config"] == {"effort": "low"}


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("claude-opus-5-5", 64_000),
        ("claude-sonnet-5", 64_000),
        ("claude-opus-4-6", 64_000),
        ("claude-haiku-4-5-20251001", 32_000),
        ("claude-sonnet-4-5", 32_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("claude-sonnet-4-20250514", 32_000),
        ("claude-opus-4@20250514", 32_000),
        ("claude-3-7-sonnet-latest", 32_000),
        ("claude-3-5-haiku-20241022", 8_192),
        ("claude-3-opus-20240229", 4_096),
        ("anthropic.claude-opus-4-8", 64_000),
        ("kimi-k2", 8_192),
    ],
)
def test_the_limit_of_an_answer_goes_by_the_model(model, limit):
    """Anthropic wants one in every request; none of these is more than the model takes."""
    assert body_of(model=model)["max_tokens"] == limit


@pytest.mark.parametrize(("budget", "limit"), [(1024, 32_000), (32_000, 36_096), ("many", 32_000)])
def test_the_limit_leaves_room_after_thinking(budget, limit):
    """Thoughts count as output; a limit that was asked for stands."""
    options = {"thinking": {"type": "enabled", "budget_tokens": budget}}

    assert body_of(model="claude-sonnet-4-5", options=options)["max_tokens"] == limit
    assert body_of(model="claude-sonnet-4-5", options={**options, "max_tokens": 5})["max_tokens"] == 5


@pytest.mark.parametrize("name", ["fs.read", "", "x" * 129, "a b", "naïve", "a\n"])
def test_a_tool_name_no_provider_takes_is_refused(name):
    """Before anything is sent, and by name."""
    tool = msgspec.structs.replace(READ, name=name)
    with pytest.raises(Invalid) as caught:
        encode(ModelRequest(system="", messages=(), tools=(tool,)))

    assert caught.value.code == "tool_name_invalid"
