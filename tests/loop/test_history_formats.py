"""Whatever a log holds, what each provider is sent keeps to the strictest of its rules, checked on the bytes.

Histories are random: canceled, lost, forked, repeated and half-streamed calls, results nobody asked for, thoughts of
several makers, attachments. They go through the normaliser and each adapter's format, and the requests are read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from agi.loop.history import normalise
from agi.models import anthropic_format, gemini_format, openai_chat_format, openai_responses_format
from agi.models.base import ModelRequest
from agi.protocol.messages import Message
from agi.protocol.parts import (
    Audio,
    File,
    Image,
    Part,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    refs_in,
)

often = settings(derandomize=True, database=None, deadline=None, max_examples=120)

PROVIDER = "tested"
FILES = {
    "a.png": b"\x89PNG\r\n\x1a\nxx",
    "b.pdf": b"%PDF-1.7 x",
    "c.wav": b"RIFF0000WAVE",
    "d.md": b"# notes",
    "e.bin": b"\xff\xfe\x00",
}
MIME = {"png": "image/png", "pdf": "application/pdf", "wav": "audio/wav", "md": "text/markdown", "bin": "x/y"}
SEALS = {
    "chat": ("chat:reasoning_content", "chat:reasoning", 'chat:[{"type":"reasoning.text","text":"t/+=","index":0}]'),
    "responses": (
        '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA/+="}',
        '{"type":"message","phase":"commentary"}',
    ),
    "messages": ('{"type":"thinking","signature":"EqQB+/=="}', '{"type":"redacted_thinking","data":"Er/+="}'),
    "gemini": ("c2ln+/==", "thought1:dGhvdWdodA==", "text1:dGV4dA=="),
}
NAMES = {"c1": "shell", "c2": "read_file", "c3": "read.file!", "c4": "x" * 90, "c5": "", "c6": "9 lives"}


def message(role: str, parts: tuple[Part, ...], status: str = "complete") -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status=status)


def call(id: str, written: str = "{}") -> ToolCallPart:
    return ToolCallPart(content=ToolCallContent(id=id, name=NAMES[id], args=Raw(written.encode())))


def result(id: str, *shown: Part, ok: bool = True) -> ToolResultPart:
    error = "" if ok else "it failed"
    return ToolResultPart(content=ToolResultContent(id=id, name=NAMES[id], ok=ok, parts=shown, error=error))


def file(ref: str) -> Part:
    kind = MIME[ref.partition(".")[2]]
    return {"image": Image, "audio": Audio}.get(kind.partition("/")[0], File)(ref=ref, mime_type=kind)


IDS = st.sampled_from(sorted(NAMES))
TEXTS = st.builds(lambda text: Text(text=text), st.sampled_from(["", " ", "words", "h\u00e9\u2028\U0001f600"]))
FILE_PARTS = st.builds(file, st.sampled_from([*FILES, "gone.png"]))
THOUGHTS = st.builds(
    lambda text, maker, seal: Reasoning(text=text, provider=maker[0], model=maker[1], signature=seal),
    st.sampled_from(["", "hm", "so"]),
    st.sampled_from([(PROVIDER, "m-1"), (PROVIDER, "gemini-2.5-flash"), (PROVIDER, "m-2"), ("other", "m-1"), ("", "")]),
    st.sampled_from(["", "unknown", *(seal for seals in SEALS.values() for seal in seals)]),
)
CALLS = st.builds(call, IDS, st.sampled_from(["{}", '{"a": 1}', '"half {"', "[1]", "null", "7", " {} "]))
RESULTS = st.builds(
    lambda id, shown, ok: result(id, *shown, ok=ok), IDS, st.lists(TEXTS | FILE_PARTS, max_size=3), st.booleans()
)
STATUSES = st.sampled_from(["complete", "complete", "complete", "error", "pending"])
MESSAGES = st.one_of(
    st.builds(lambda parts: message("user", tuple(parts)), st.lists(TEXTS | FILE_PARTS, max_size=3)),
    st.builds(lambda parts: message("system", tuple(parts)), st.lists(TEXTS, min_size=1, max_size=1)),
    st.builds(
        lambda parts, status: message("assistant", tuple(parts), status),
        st.lists(TEXTS | THOUGHTS | CALLS, max_size=5),
        STATUSES,
    ),
    st.builds(lambda parts: message("tool", tuple(parts)), st.lists(RESULTS, max_size=2)),
)
HISTORIES = st.lists(MESSAGES, max_size=12)


def forked(history: list[Message], cut: int, again: int) -> list[Message]:
    """A history whose end was told twice, as after a fork or a crash between two writes."""
    return [*history[:cut], *history[again:]]


def sent(encode: Callable[..., bytes], model: str, history: list[Message], **how: str) -> Any:
    messages = normalise(history)
    held = {ref: FILES[ref] for one in messages for ref in refs_in(one.parts) if ref in FILES}
    request = ModelRequest(system="be brief", messages=messages, files=held)
    return msgspec.json.decode(encode(PROVIDER, model, request, **how))


# Each checker states its provider's rules as the provider enforces them, and fails with what is wrong.


def check_chat(body: Any) -> None:
    """Each call is answered by exactly one message, before anything else is said; names and arguments are usable."""
    due: list[str] = []
    for one in body["messages"]:
        if one["role"] == "tool":
            assert one["tool_call_id"] in due, "a result without its call"
            due.remove(one["tool_call_id"])
            assert one["content"]
            continue
        assert not due, "a call without its result"
        due = [made["id"] for made in one.get("tool_calls", ())]
        assert len(set(due)) == len(due), "one id for two calls"
        assert one["content"] or due, "an empty message"
        for made in one.get("tool_calls", ()):
            check_call(made["function"]["name"], msgspec.json.decode(made["function"]["arguments"]))
    assert not due, "a call without its result"


def check_responses(body: Any) -> None:
    """Each call has one output after it, each output its call; a thought is followed by what it led to."""
    calls: set[str] = set()
    outputs: set[str] = set()
    for item, following in pairwise([*body["input"], {"type": "end"}]):
        if item["type"] == "function_call":
            assert item["call_id"] not in calls, "one id for two calls"
            calls.add(item["call_id"])
            check_call(item["name"], msgspec.json.decode(item["arguments"]))
        elif item["type"] == "function_call_output":
            assert item["call_id"] in calls - outputs, "an output without its call"
            outputs.add(item["call_id"])
            assert item["output"]
        elif item["type"] == "reasoning":
            follows = following["type"] in ("function_call", "reasoning") or following.get("role") == "assistant"
            assert follows, "a thought that led to nothing"
        else:
            assert item["content"], "an empty message"
    assert calls == outputs, "a call without its output"


def check_messages(body: Any) -> None:
    """Roles take turns and the user begins; all results come first in the very next message, one for each call."""
    seen: set[str] = set()
    due: list[str] = []
    assert not body["messages"] or body["messages"][0]["role"] == "user"
    for one, following in pairwise([*body["messages"], {"role": "end"}]):
        assert one["role"] != following["role"], "two turns of one side"
        kinds = [block["type"] for block in one["content"]]
        assert kinds, "an empty message"
        answered = [block["tool_use_id"] for block in one["content"] if block["type"] == "tool_result"]
        assert answered == due, "results that are not those of the calls before"
        assert kinds[: len(answered)] == ["tool_result"] * len(answered), "a result behind something else"
        due = [block["id"] for block in one["content"] if block["type"] == "tool_use"]
        assert not seen & set(due), "one id for two calls"
        assert len(set(due)) == len(due), "one id for two calls"
        seen |= set(due)
        assert kinds[-1] not in ("thinking", "redacted_thinking"), "a thought at the end"
        for block in one["content"]:
            assert block["type"] != "text" or block["text"].strip(), "a blank text"
            if block["type"] == "tool_use":
                check_call(block["name"], block["input"], longest=128)
            if block["type"] == "tool_result":
                assert all(shown["type"] != "text" or shown["text"].strip() for shown in block["content"])
    assert not due, "a call without its result"


def check_gemini(body: Any) -> None:
    """The very next content has a response for each call, in order; calls come after the user's turn or responses."""
    due: list[tuple[str, str]] = []
    before = ""
    for one in body["contents"]:
        assert one["parts"], "an empty content"
        made = [part["functionCall"] for part in one["parts"] if "functionCall" in part]
        answers = [part["functionResponse"] for part in one["parts"] if "functionResponse" in part]
        assert [(answer["id"], answer["name"]) for answer in answers] == due, (
            "responses that are not those of the calls"
        )
        assert not answers or len(answers) == len(one["parts"]), "a response beside something else"
        assert before or one["role"] == "user", "the model begins"
        assert one["role"] != "model" or before == "user", "two turns of the model"
        due = [(call["id"], call["name"]) for call in made]
        assert len(set(due)) == len(due), "one id for two calls"
        for call in made:
            check_call(call["name"], call["args"])
        before = one["role"]
    assert not due, "a call without its response"


def check_call(name: str, arguments: object, longest: int = 64) -> None:
    fit = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:")
    assert 0 < len(name) <= longest
    assert set(name) <= fit
    assert isinstance(arguments, dict), "arguments that are no object"


CHECKS = {
    "chat": (openai_chat_format.encode_request, "m-1", {"limit_name": "max_tokens"}, check_chat),
    "responses": (openai_responses_format.encode_request, "m-1", {}, check_responses),
    "messages": (anthropic_format.encode_request, "m-1", {}, check_messages),
    "gemini": (gemini_format.encode_request, "m-1", {}, check_gemini),
    "older gemini": (gemini_format.encode_request, "gemini-2.5-flash", {}, check_gemini),
}


@pytest.mark.parametrize("format", CHECKS)
@given(history=HISTORIES)
@often
def test_any_history_becomes_a_request_that_keeps_to_the_rules(format, history):
    """Each call is paired with exactly one result, in order, as this provider wants to see it."""
    encode, model, how, check = CHECKS[format]

    check(sent(encode, model, history, **how))


@pytest.mark.parametrize("format", CHECKS)
def test_what_a_person_says_between_results_and_answer_is_told_in_its_place(format):
    """Two messages that steer, behind the results of two calls: the rules are kept, and both are told in order."""
    encode, model, how, check = CHECKS[format]
    history = [
        message("user", (Text(text="go"),)),
        message("assistant", (Text(text="I look."), call("c1"), call("c2"))),
        message("tool", (result("c1", Text(text="RESULT-1")),)),
        message("tool", (result("c2", Text(text="RESULT-2")),)),
        message("user", (Text(text="STEER-1"),)),
        message("user", (Text(text="STEER-2"), file("a.png"))),
    ]
    for told in (history, [*history, message("assistant", (Text(text="I see."),))]):
        body = sent(encode, model, told, **how)
        check(body)
        written = msgspec.json.encode(body).decode()
        places = [written.index(word) for word in ("RESULT-1", "RESULT-2", "STEER-1", "STEER-2")]
        assert places == sorted(places)


@pytest.mark.parametrize("format", CHECKS)
@given(history=HISTORIES, cut=st.integers(0, 12), again=st.integers(0, 12))
@often
def test_a_history_that_was_told_twice_keeps_to_the_rules(format, history, cut, again):
    """Forked, repeated or cut anywhere: the same call twice is one call."""
    encode, model, how, check = CHECKS[format]

    check(sent(encode, model, forked(history, cut, again), **how))


@pytest.mark.parametrize("format", CHECKS)
@given(history=HISTORIES)
@often
def test_thoughts_go_back_to_their_maker_only_and_unchanged(format, history):
    """Whatever of a seal is found in a request was made by this provider and model, and is what they wrote."""
    encode, model, how, _ = CHECKS[format]
    body = sent(encode, model, history, **how)
    own = {
        part.signature
        for one in history
        for part in one.parts
        if isinstance(part, Reasoning) and (part.provider, part.model) == (PROVIDER, model)
    }

    assert set(seals_in(body)) <= {opaque for seal in own for opaque in opaque_in(seal)}


def seals_in(body: Any) -> Iterator[str]:
    """Every opaque string of a request, wherever the format has a place for one."""
    for one in body.get("messages", ()):
        if "reasoning_details" in one:
            yield msgspec.json.encode(one["reasoning_details"]).decode()
        for block in one["content"] if isinstance(one["content"], list) else ():
            yield from (block[name] for name in ("signature", "data") if isinstance(block.get(name), str))
    yield from (item["encrypted_content"] for item in body.get("input", ()) if item["type"] == "reasoning")
    for part in (part for one in body.get("contents", ()) for part in one["parts"]):
        if "thoughtSignature" in part and part["thoughtSignature"] != "skip_thought_signature_validator":
            yield part["thoughtSignature"]


def opaque_in(seal: str) -> Iterator[str]:
    """What of a kept signature the provider itself wrote."""
    yield seal.partition(":")[2] or seal
    if seal.startswith("{"):
        yield from (value for value in msgspec.json.decode(seal).values() if isinstance(value, str))


def test_the_checkers_find_what_they_are_for():
    """A checker that lets everything through proves nothing: each finds a call whose result was taken away."""
    history = [
        message("user", (Text(text="go"),)),
        message("assistant", (call("c1"),)),
        message("tool", (result("c1"),)),
    ]
    places = {"chat": "messages", "responses": "input", "messages": "messages", "gemini": "contents"}
    for format, place in places.items():
        encode, model, how, check = CHECKS[format]
        body = sent(encode, model, history, **how)
        check(body)
        body[place].pop()
        with pytest.raises(AssertionError):
            check(body)
