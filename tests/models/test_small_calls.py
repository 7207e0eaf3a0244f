"""Calls that local models write into their text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.models.small_calls import MOST_CALLS, MOST_TEXT, WrittenCall, written_calls

OFFERED = ("read_file", "search")
READ = WrittenCall("read_file", '{"path":"a.py"}')


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read_file", "arguments": {"path": "a.py"}}',
        '  \n{"name":"read_file","arguments":{"path":"a.py"}}\n',
        '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```',
        '```\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```',
        '```tool_call\n{"name": "read_file", "arguments": {"path": "a.py"}}```',
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}',
        '<tools>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tools>',
        '<tool_call>\n```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```\n</tool_call>',
        '<function=read_file>{"path": "a.py"}</function>',
        '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.py"}}]',
        '[{"name": "read_file", "arguments": {"path": "a.py"}}]',
        '{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}',
        '{"name": "read_file", "parameters": {"path": "a.py"}}',
        '{"tool": "read_file", "path": "a.py"}',
        '{"action": "read_file", "path": "a.py"}',
        '{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.py"}}}',
        '{"function": "read_file", "arguments": {"path": "a.py"}, "id": "call_1"}',
        '<think>I should look.</think>\n\n{"name": "read_file", "arguments": {"path": "a.py"}}',
    ],
)
def test_a_text_that_is_nothing_but_a_call_is_one(text: str) -> None:
    """However the model was taught to write it."""
    assert written_calls(text, OFFERED) == (READ,)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read_file", "arguments": {"path": "a.py"}}\n{"name": "search", "arguments": {"query": "x"}}',
        '[{"name": "read_file", "arguments": {"path": "a.py"}}, {"name": "search", "arguments": {"query": "x"}}]',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>\n'
        '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>',
        '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```\n'
        '```json\n{"name": "search", "arguments": {"query": "x"}}\n```',
    ],
)
def test_several_calls_are_several(text: str) -> None:
    """In the order they were written."""
    assert written_calls(text, OFFERED) == (READ, WrittenCall("search", '{"query":"x"}'))


def test_an_argument_may_say_the_same_as_the_name() -> None:
    """It is still an argument."""
    assert written_calls('{"tool": "search", "query": "search"}', OFFERED) == (
        WrittenCall("search", '{"query":"search"}'),
    )


@pytest.mark.parametrize("rest", ["", ', "arguments": {}', ', "arguments": ""', ', "arguments": null', ', "id": "c1"'])
def test_a_call_may_have_no_arguments(rest: str) -> None:
    """Nothing, however it is said, is an empty object."""
    assert written_calls(f'{{"name": "search"{rest}}}', OFFERED) == (WrittenCall("search", "{}"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Just text.",
        'Let me look. {"name": "read_file", "arguments": {"path": "a.py"}}',
        '{"name": "read_file", "arguments": {"path": "a.py"}} That should do.',
        'I would call:\n```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```',
        '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```\nand then answer.',
        '{"name": "write_file", "arguments": {"path": "a.py"}}',
        '[{"name": "read_file", "arguments": {}}, {"name": "rm", "arguments": {}}]',
        '{"name": "Ann", "age": 4}',
        '{"version": 1}',
        '{"name": 7, "arguments": {}}',
        '{"name": "read_file", "arguments": [1]}',
        '{"name": "read_file", "arguments": "not json"}',
        '{"name": "read_file", "arguments": {"path": "a',
        "[]",
        "[[]]",
        "null",
        "7",
        '"read_file"',
        "```json\n```",
        "<tool_call></tool_call>",
        "```python\nprint(1)\n```",
        '{"a":' * 2000,
        "[" * 100_000,
    ],
)
def test_anything_else_is_text(text: str) -> None:
    """A call that is talked about, half written, of another tool or none at all is not run."""
    assert written_calls(text, OFFERED) == ()


def test_there_are_bounds() -> None:
    """On the length of the text and the number of calls."""
    call = '{"name":"search","arguments":{"query":"x"}}'

    assert len(written_calls(f"[{','.join([call] * MOST_CALLS)}]", OFFERED)) == MOST_CALLS
    assert written_calls(f"[{','.join([call] * (MOST_CALLS + 1))}]", OFFERED) == ()
    assert written_calls(call + " " * MOST_TEXT, OFFERED) == ()


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    """Whatever a model writes, there is an answer."""
    for call in written_calls(text, OFFERED):
        assert call.name in OFFERED
        assert isinstance(json.loads(call.arguments), dict)
