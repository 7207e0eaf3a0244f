"""Requests are rewritten for small models."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, Raw

from agi.models.base import ModelRequest
from agi.models.small_prompt import MOST_HISTORY, before_the_question, beginning, plain_request, small_request
from agi.protocol.messages import Message, Role
from agi.protocol.parts import (
    Json,
    Part,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    plain_text,
)
from agi.protocol.tools import ToolDefinition
from agi.tools.builtin import builtin_tools

TOOLS = tuple(tool.definition for tool in builtin_tools())
ALL = ("read_file", "repo_tree", "search", "shell")
FILES = "Files of this project: a.py, b.py"


def message(role: Role, *parts: Part, origin: str = "") -> Message:
    return Message(id="m", role=role, parts=parts, created_at="", status="complete", origin=origin)


def asks(text: str, origin: str = "") -> Message:
    return message("user", Text(text=text), origin=origin)


def says(text: str) -> Message:
    return message("assistant", Text(text=text))


def calls(name: str, arguments: str) -> Message:
    return message("assistant", ToolCallPart(content=ToolCallContent(id="c", name=name, args=Raw(arguments.encode()))))


def got(name: str, text: str, *, ok: bool = True, facts: Json | None = None) -> Message:
    content = ToolResultContent(
        id="c", name=name, ok=ok, parts=(Text(text=text),), result=UNSET if facts is None else facts
    )
    return message("tool", ToolResultPart(content=content))


def request(*messages: Message, tools: tuple[ToolDefinition, ...] = TOOLS, **options: object) -> ModelRequest:
    return ModelRequest(system=FILES, messages=messages, tools=tools, options=options)


def told(asked: ModelRequest) -> list[str]:
    """What comes after the fixed beginning."""
    whole = small_request(asked, most_calls=1).request
    return [f"{one.role}: {plain_text(one.parts)}" for one in whole.messages[len(beginning(ALL).messages) :]]


def next_steps(asked: ModelRequest, most_calls: int = 1) -> list[str]:
    schema = small_request(asked, most_calls=most_calls).request.options["schema"]
    assert isinstance(schema, dict)
    return [one["properties"]["action"]["const"] for one in schema.get("anyOf", [schema])]


def test_a_question_comes_after_the_examples_with_the_files_before_it() -> None:
    """The files are told once, with the first question."""
    assert told(request(asks("Which port?"))) == [f"user: {FILES}\n\nQuestion: Which port?"]
    assert told(request(asks("One?"), says("1."), asks("Two?"))) == [
        f"user: {FILES}\n\nQuestion: One?",
        'assistant: {"action":"answer","text":"1."}',
        "user: Question: Two?",
    ]


def test_calls_and_results_are_told_as_steps() -> None:
    """The call as it would have been written, the result as a user would tell it."""
    asked = request(
        asks("Which port?"), calls("search", '{"query":"port","about":"x"}'), got("search", "a:1: port = 7")
    )

    assert told(asked)[1:] == ['assistant: {"action":"search","query":"port"}', "user: Result: a:1: port = 7"]


def test_what_the_harness_says_is_a_note() -> None:
    """It is no new question."""
    asked = request(asks("Go."), says("Done."), asks("The tests failed.", origin="verification"))

    assert told(asked)[-1] == "user: Note: The tests failed."


@pytest.mark.parametrize("arguments", ["{", "[]", "7", "{}", '{"path": 7}', "[" * 5000])
def test_a_call_that_was_badly_written_is_still_told(arguments: str) -> None:
    """History may hold anything."""
    assert "read_file" in told(request(asks("?"), calls("read_file", arguments), got("read_file", "no", ok=False)))[1]


def test_the_beginning_is_the_same_bytes_whatever_is_asked() -> None:
    """It is read once, on whichever machine; also with tools in another order, and with tools it does not use."""
    one = small_request(request(asks("A?")), most_calls=1).request
    two = small_request(request(asks("B?"), says("b"), asks("C?"), tools=TOOLS[::-1]), most_calls=1).request
    count = len(beginning(ALL).messages)

    assert one.system == two.system == beginning(ALL).system
    assert msgspec.json.encode(one.messages[:count]) == msgspec.json.encode(two.messages[:count])
    assert before_the_question(FILES, ALL).messages[:count] == one.messages[:count]
    assert plain_text(one.messages[count].parts).startswith(
        plain_text(before_the_question(FILES, ALL).messages[count].parts)
    )


def test_examples_use_only_tools_that_are_offered() -> None:
    """An agent that may not run commands is shown none."""
    text = " ".join(plain_text(one.parts) for one in beginning(("search",)).messages)

    assert '"action":"search"' in text
    assert "git" not in text + beginning(("search",)).system
    assert "read_file" not in text


def test_after_a_call_that_worked_only_an_answer_may_come() -> None:
    """One look, then the answer; two where two are allowed."""
    asked = request(asks("?"), calls("search", '{"query":"x"}'), got("search", "a:1: x", facts={"matches": 1}))

    assert next_steps(request(asks("?"))) == [*ALL, "answer"]
    assert next_steps(asked) == ["answer"]
    assert next_steps(asked, most_calls=2) == [*ALL, "answer"]


def test_a_call_that_brought_nothing_is_made_up_for_once() -> None:
    """By another call, not by an answer from nowhere; then it is enough. A search is not simply repeated."""
    gone = (asks("?"), calls("read_file", '{"path":"x"}'), got("read_file", "gone", ok=False))
    nothing = (asks("?"), calls("search", '{"query":"x"}'), got("search", "No matches.", facts={"matches": 0}))

    assert next_steps(request(*gone)) == list(ALL)
    assert next_steps(request(*nothing)) == ["read_file", "repo_tree", "shell"]
    assert next_steps(request(*nothing, *gone[1:])) == ["answer"]


def test_a_command_that_was_refused_is_not_asked_for_again() -> None:
    """Somebody said no. One that ran and failed may be corrected."""
    refused = got("shell", "The user refused this call.", ok=False)
    ran = got("shell", "no such option\n[exit code 2]", ok=False, facts={"exit_code": 2})

    assert next_steps(request(asks("?"), calls("shell", '{"command":"x"}'), refused)) == [
        "read_file",
        "repo_tree",
        "search",
    ]
    assert next_steps(request(asks("?"), calls("shell", '{"command":"x"}'), ran)) == list(ALL)


def test_a_new_question_has_its_own_calls() -> None:
    """What was looked up before does not count."""
    before = (asks("?"), calls("search", '{"query":"x"}'), got("search", "a:1: x", facts={"matches": 1}), says("x"))

    assert next_steps(request(*before, asks("And?"))) == [*ALL, "answer"]


def test_a_long_conversation_loses_its_older_half_at_a_time() -> None:
    """From one question to the next mostly the same beginning is told, and never more than fits."""
    turns = [one for n in range(100) for one in (asks(f"{n}? " + "x" * 300), says("y" * 100))]
    previous: list[str] = []
    kept = 0
    for count in range(1, len(turns), 2):
        now = told(request(*turns[:count]))
        assert sum(map(len, now)) < MOST_HISTORY + 1000
        assert now[-1].endswith(plain_text(turns[count - 1].parts))
        kept += now[: len(previous)] == previous
        previous = now

    assert kept > 85


def test_a_question_is_bounded() -> None:
    """A pasted book does not fit."""
    assert len(told(request(asks("x" * 1_000_000)))[0]) < 3000


def test_options_are_passed_on_within_bounds() -> None:
    """Unless told otherwise it is as sure of itself as it can be."""
    plain = small_request(request(asks("?")), most_calls=1).request.options
    warm = small_request(request(asks("?"), temperature=0.7, max_tokens=50, seed=1), most_calls=1).request.options

    assert (plain["temperature"], plain["max_tokens"]) == (0, 400)
    assert (warm["temperature"], warm["max_tokens"], warm["seed"]) == (0.7, 50, 1)
    assert small_request(request(asks("?"), max_tokens=10**9), most_calls=1).request.options["max_tokens"] == 400


def test_a_search_knows_what_it_is_about_where_the_tool_takes_it() -> None:
    """Another tool of this name is given only what it knows."""
    other = tuple(
        msgspec.structs.replace(tool, input_schema={"properties": {"query": {}}}) if tool.name == "search" else tool
        for tool in TOOLS
    )

    assert small_request(request(asks("Which port?")), most_calls=1).about == "Which port?"
    assert small_request(request(asks("Which port?"), tools=other), most_calls=1).about == ""


def test_without_tools_a_request_is_plain() -> None:
    """No steps, no examples; the caller's schema stays as it is."""
    schema = {"type": "object"}

    asked = plain_request(request(asks("One?"), says("1."), asks("Two?"), schema=schema))

    assert [plain_text(one.parts) for one in asked.messages] == [f"{FILES}\n\nOne?", "1.", "Two?"]
    assert asked.tools == ()
    assert asked.options == {"schema": schema}
