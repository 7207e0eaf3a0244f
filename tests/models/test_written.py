"""A call that a local model writes as text becomes a call; everything else stays what it was, word by word."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from agi.models.base import CallMade, Finished, ReasoningDelta, StreamItem, TextDelta
from agi.models.written import with_written_calls
from agi.protocol.messages import Usage

END = Finished(stop_reason="end_turn", usage=Usage(output_tokens=3))
OFFERED = {"read_file", "search"}


async def heard(*items: StreamItem) -> list[StreamItem]:
    async def stream() -> AsyncGenerator[StreamItem, None]:
        for item in items:
            yield item

    return [item async for item in with_written_calls(stream(), OFFERED)]


def pieces(text: str, size: int = 5) -> list[TextDelta]:
    return [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read_file", "arguments": {"path": "a.py"}}',
        '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```',
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
    ],
)
async def test_a_text_that_is_nothing_but_a_call_is_a_call(text):
    """Bare, fenced or between tags; not a letter of it is shown as text."""
    call, end = await heard(*pieces(text), END)

    assert isinstance(call, CallMade)
    assert (call.name, call.arguments) == ("read_file", '{"path":"a.py"}')
    assert end == Finished(stop_reason="tool_calls", usage=END.usage)


async def test_prose_is_passed_on_word_by_word():
    """Nothing is held back that does not begin like a call."""
    said = pieces("Here is how you call it.")

    assert await heard(*said, END) == [*said, END]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "rm_rf", "arguments": {}}',
        '{"answer": 42}',
        "[1, 2, 3]",
        '```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```\nThat is how.',
        "{",
    ],
)
async def test_json_that_is_no_call_stays_text(text):
    """Another tool, another shape, or something said beside it."""
    found = await heard(*pieces(text), END)

    assert "".join(item.text for item in found[:-1]) == text
    assert found[-1] == END


async def test_a_real_call_after_such_text_is_left_alone():
    """A model that makes calls in earnest does not write them as well."""
    real = CallMade("c1", "search", "{}")

    assert await heard(TextDelta("{ "), real, END) == [TextDelta("{ "), real, END]


async def test_thoughts_pass_while_text_is_held():
    """They are no part of the answer."""
    thought = ReasoningDelta("hm")
    text = '{"name": "search", "arguments": {"query": "x"}}'

    assert [type(item) for item in await heard(thought, TextDelta(text), END)] == [ReasoningDelta, CallMade, Finished]
