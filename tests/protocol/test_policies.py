"""The defaults people live with until they choose others."""

from __future__ import annotations

from agi.protocol.policies import ApprovalPolicy, VerifyPolicy, step_limit
from agi.protocol.tools import EMPTY_INPUT, ToolCall, ToolKind, failed


def test_what_changes_the_world_asks_by_default():
    """Reading is free; writing, running and the network ask."""
    assert set(ApprovalPolicy().require_for_kinds) == set(ToolKind) - {ToolKind.READ}


def test_every_agent_has_a_limit_of_steps():
    """Built-in agents have their own, all others the common one."""
    assert [step_limit(name) for name in ("general", "build", "plan", "mine")] == [10, 100, 50, 50]


def test_a_change_is_verified_by_default():
    """Verification is on unless it is turned off."""
    assert VerifyPolicy().auto_verify


def test_a_failure_is_a_result_the_model_can_read():
    """A call that failed still has one result, and says why."""
    result = failed(ToolCall("call_1", "shell", EMPTY_INPUT), "no such file")

    assert (result.id, result.ok, result.error) == ("call_1", False, "no such file")
    assert [part.text for part in result.parts] == ["no such file"]
