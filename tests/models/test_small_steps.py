"""The steps a small model may take."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from agi.models.small_steps import ARGUMENTS, step_schema, step_text, usable
from agi.tools.builtin import builtin_tools


def actions(schema: dict[str, object]) -> list[str]:
    choices = schema.get("anyOf", [schema])
    return [one["properties"]["action"]["const"] for one in choices]  # type: ignore[index, attr-defined]


def test_a_step_is_a_tool_or_the_answer() -> None:
    """After enough calls only the answer; after one that failed only a tool."""
    assert actions(step_schema(("read_file", "search"))) == ["read_file", "search", "answer"]
    assert actions(step_schema(())) == ["answer"]
    assert actions(step_schema(("search",), may_answer=False)) == ["search"]
    assert actions(step_schema((), may_answer=False)) == ["answer"]


def test_an_answer_does_not_end_where_a_quotation_begins() -> None:
    """A quote that a small model forgot to escape is not the end. Who reads patterns otherwise is told none."""
    pattern = step_schema((), as_written=True)["properties"]["text"]["pattern"]  # type: ignore[index, call-overload]

    for whole in ("7", "Yes.", "It says:\n```\nx\n```", 'He said "no"', "- a\n- b\n", "größer ✓", "C:\\", "\x01"):
        assert re.fullmatch(pattern, json.dumps(whole)[1:-1]), whole
        assert re.fullmatch(pattern, json.dumps(whole, ensure_ascii=False)[1:-1]), whole
    for broken in ("", "Run `agi --provider scripted ", "It prints (", "name=", "{", "a,", 'a "b', "a\nb", "\\"):
        assert not re.fullmatch(pattern, broken), broken
    assert "pattern" not in json.dumps(step_schema(("search",)))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_choice_comes_before_its_details_also_where_keys_are_sorted(name: str) -> None:
    """Providers are told schemas with sorted keys, and servers force fields in the order they are told."""
    schema = step_schema((name,), may_answer=False)["anyOf"][0]  # type: ignore[index]
    told = json.loads(msgspec.json.encode(schema, order="deterministic"))

    assert list(told["properties"]) == ["action", ARGUMENTS[name]]
    assert told["additionalProperties"] is False
    assert sorted(told["required"]) == sorted(told["properties"])


def test_every_tool_it_knows_is_there_and_takes_the_argument() -> None:
    """A tool that is renamed, or wants more, is found out here."""
    built_in = {tool.definition.name: tool.definition.input_schema for tool in builtin_tools()}

    for name, argument in ARGUMENTS.items():
        assert argument in built_in[name]["properties"]  # type: ignore[operator]
        assert set(built_in[name].get("required", ())) <= {argument}  # type: ignore[call-overload]


def test_only_offered_tools_are_used_in_a_fixed_order() -> None:
    """Whatever the order they are offered in; others are not for small models."""
    assert usable(["write_file", "shell", "search", "read_file"]) == ("read_file", "search", "shell")
    assert usable([]) == ()


def test_a_step_is_told_back_as_it_would_have_been_written() -> None:
    """The same shape as the schema forces."""
    assert step_text("search", 'say "x"') == '{"action":"search","query":"say \\"x\\""}'
    assert step_text("answer", "Yes.") == '{"action":"answer","text":"Yes."}'
    assert step_text("apply_patch", "…") == '{"action":"apply_patch","input":"…"}'
