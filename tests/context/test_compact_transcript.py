"""A conversation as material: whole where it fits, shortened evenly where not, never longer than asked for."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.context.compact_transcript import transcript
from agi.protocol.messages import Message
from agi.protocol.parts import Reasoning, Text, ToolCallContent, ToolCallPart, ToolResultContent, ToolResultPart


def message(role: str, *parts: object, **more: object) -> Message:
    return Message(id="m", role=role, parts=parts, created_at="", **{"status": "complete", **more})


def talk(size: int) -> list[Message]:
    call = ToolCallPart(content=ToolCallContent(id="call_1", name="shell", args=Raw(b'{"command":"ls"}')))
    shown = (Text(text="o" * size),)
    output = ToolResultPart(content=ToolResultContent(id="call_1", name="shell", ok=True, parts=shown))
    return [
        message("user", Text(text="list them")),
        message("assistant", Reasoning(text="a secret thought"), call),
        message("tool", output),
        message("assistant", Text(text="never finished"), status="error"),
        message("user", Text(text="a note"), origin="verification"),
    ]


def test_a_short_talk_is_told_whole():
    """Who said what; thoughts and what was never finished are left out."""
    text = transcript(talk(10), 10_000)

    assert text.splitlines()[0] == "USER: list them"
    assert 'AGENT: calls shell (call_1) with {"command":"ls"}' in text
    assert "TOOL: shell (call_1) answers: oooooooooo" in text
    assert "HARNESS (verification): a note" in text
    assert "thought" not in text
    assert "never finished" not in text


@pytest.mark.parametrize("most", [400, 2_000, 20_000])
def test_a_long_one_keeps_to_its_limit(most):
    """Outputs are shortened first, and if that is not enough the middle goes."""
    text = transcript(talk(50_000) * 20, most)

    assert len(text) <= most
    assert text.startswith("USER: list them")
