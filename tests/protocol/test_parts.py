"""Parts and messages: told apart by `type`, seed 004's words under `content`, money that is known or not."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from agi.protocol.messages import Message, Usage
from agi.protocol.parts import (
    Artifact,
    Audio,
    ErrorContent,
    ErrorPart,
    File,
    Image,
    InputPart,
    Part,
    Reasoning,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    plain_text,
)

PARTS: list[tuple[Part, dict[str, object]]] = [
    (Text(text="hi"), {"type": "text", "text": "hi"}),
    (Reasoning(text="hm", signature="s"), {"type": "reasoning", "text": "hm", "signature": "s"}),
    (
        Image(ref="attachments/a", mime_type="image/png"),
        {"type": "image", "ref": "attachments/a", "mime_type": "image/png"},
    ),
    (
        Audio(ref="attachments/b", mime_type="audio/wav"),
        {"type": "audio", "ref": "attachments/b", "mime_type": "audio/wav"},
    ),
    (
        File(ref="attachments/c", mime_type="text/csv"),
        {"type": "file", "ref": "attachments/c", "mime_type": "text/csv"},
    ),
    (
        ToolCallPart(content=ToolCallContent(id="c", name="fs.write", args=Raw(b'{"path":"a"}'), started_at=5)),
        {"type": "tool_call", "content": {"id": "c", "name": "fs.write", "args": {"path": "a"}, "startedAt": 5}},
    ),
    (
        ToolResultPart(
            content=ToolResultContent(
                id="c",
                name="apply_patch",
                ok=True,
                artifact=Artifact(kind="file_diff", patch_format="unified", patch="+", summary={"files": 1}),
                finished_at=6,
            )
        ),
        {
            "type": "tool_result",
            "content": {
                "id": "c",
                "name": "apply_patch",
                "ok": True,
                "artifact": {"kind": "file_diff", "patchFormat": "unified", "patch": "+", "summary": {"files": 1}},
                "finishedAt": 6,
            },
        },
    ),
    (
        ErrorPart(content=ErrorContent(message="no", code="x")),
        {"type": "error", "content": {"message": "no", "code": "x"}},
    ),
]


@pytest.mark.parametrize(("part", "words"), PARTS, ids=[str(words["type"]) for _, words in PARTS])
def test_a_part_is_written_in_the_seeds_words_and_reads_back(part, words):
    """One JSON object with `type` first; what is not set is not written."""
    raw = msgspec.json.encode(part)

    assert json.loads(raw) == words
    assert msgspec.json.decode(raw, type=Part) == part


def test_arguments_stay_exactly_as_the_model_wrote_them():
    """Spaces, key order and number spelling of a call's arguments are kept."""
    written = b'{ "b": 1.50, "a": 1e3 }'
    part = ToolCallPart(content=ToolCallContent(id="c", name="n", args=Raw(written)))

    read = msgspec.json.decode(msgspec.json.encode(part), type=Part)

    assert isinstance(read, ToolCallPart)
    assert bytes(read.content.args) == written


@pytest.mark.parametrize(
    "raw", [b'{"type":"tool_call","content":{}}', b'{"type":"error"}', b'{"type":"video"}', b"{}", b'"hi"']
)
def test_a_person_may_send_only_text_and_attachments(raw):
    """Calls, results, errors and unknown kinds are refused at the edge."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(raw, type=InputPart)


def test_plain_text_joins_the_text_and_nothing_else():
    """Reasoning and attachments are not part of what was said."""
    parts = (Reasoning(text="hm"), Text(text="a"), Image(ref="r", mime_type="image/png"), Text(text="b"))
    assert plain_text(parts) == "ab"


def test_parts_and_messages_cannot_be_changed():
    """Values are frozen."""
    with pytest.raises(AttributeError):
        Text(text="a").text = "b"  # type: ignore[misc]


def test_a_message_keeps_what_is_known_of_it():
    """Unset fields are left out and come back as they were."""
    message = Message(
        id="msg_1", role="user", parts=(Text(text="hi"),), created_at="2026-01-01T00:00:00.000Z", status="complete"
    )

    raw = msgspec.json.encode(message)

    assert set(json.loads(raw)) == {"id", "role", "parts", "created_at", "status"}
    assert msgspec.json.decode(raw, type=Message) == message


usages = st.builds(
    Usage,
    input_tokens=st.integers(0, 10**9),
    output_tokens=st.integers(0, 10**9),
    cached_tokens=st.integers(0, 10**9),
    reasoning_tokens=st.integers(0, 10**9),
    requests=st.integers(0, 1000),
    cost_usd=st.none() | st.integers(0, 1000).map(float),
)


@settings(derandomize=True, database=None, deadline=None)
@given(usages, usages, usages)
def test_usage_adds_up_in_any_order(a, b, c):
    """Sums do not depend on the grouping, and nothing used is nothing added."""
    assert a.plus(b).plus(c) == a.plus(b.plus(c))
    assert a.plus(b) == b.plus(a)
    assert a.plus(Usage()) == a


def test_an_unknown_price_is_never_nothing():
    """Unknown and unknown stays unknown; known money is not forgotten for the unknown."""
    assert Usage().plus(Usage()).cost_usd is None
    assert Usage(cost_usd=0.25).plus(Usage()).cost_usd == 0.25
    assert Usage(cost_usd=0.0).plus(Usage(cost_usd=0.0)).cost_usd == 0.0
