"""Values of the house as MCP results: snake_case, bounded, and of the shape their schema says."""

from __future__ import annotations

import jsonschema
import msgspec
import pytest

from agi.protocol import rpc
from agi.protocol.drafts import PooledAgent
from agi.server.mcp_tools import TOOLS
from agi.server.mcp_words import LONGEST_TEXT, clipped, input_schema_of, schema_of, told


def test_names_are_snake_case_and_what_is_unset_is_left_out() -> None:
    """The same fields as `/v1/rpc` has, in MCP's spelling."""
    agent = PooledAgent(
        agent_id="a", role="plan", kind="worker", status="idle", session_id="s", task_slug="t", project="p"
    )
    found = told(rpc.AgentList(agents=(agent,)))
    asked = rpc.ApprovalRequested(
        session_id="s",
        project="p",
        task_slug="",
        role="r",
        turn_id="t",
        tool_call_id="c",
        tool_name="shell",
        state="pending",
        args=msgspec.Raw(b'{"keepMe": 1}'),
    )

    assert found["agents"][0]["agent_id"] == "a"
    jsonschema.validate(found, schema_of(rpc.AgentList))
    assert told(asked)["args"] == {"keepMe": 1}
    assert "risk" not in told(asked)


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    """What is left out is counted."""
    text = clipped("a" * LONGEST_TEXT + "end")
    assert len(text) < LONGEST_TEXT + 100
    assert text.endswith("aend")
    assert "3 characters left out" in text
    assert clipped("short") == "short"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_schema_is_a_valid_one_of_an_object(tool) -> None:
    """Clients refuse a whole server over one that is not."""
    for schema in (input_schema_of(tool.takes), schema_of(tool.gives)):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in str(schema)
