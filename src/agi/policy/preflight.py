"""What an approved plan lets run: whether a call that would be asked about is one of the steps somebody said yes to.

Pure. A plan only spares the second question: it allows nothing that is denied and nothing that destroys, and a step
says which command it means, or lets none run. Brings the reader of commands, so it is imported when there is a plan.
May import: protocol, policy.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from agi.policy.approval import Decision, is_listed
from agi.policy.ground import Ground
from agi.policy.places import is_protected
from agi.policy.subjects import Subject, subject_of
from agi.protocol.preflight import PreflightStep
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind

RULE = "preflight"
_EACH_TIME = frozenset({"destructive", "unparsed", "rule:deny"})
"""Why a call is asked about whatever was approved: it could destroy, cannot be read, or may be what a rule denies."""
_FAR = (ToolKind.EXEC, ToolKind.NET)
"""What such tools do cannot be taken back, so that a step has to say what it is."""


def covering(
    steps: Iterable[PreflightStep], definition: ToolDefinition, call: ToolCall, decision: Decision, ground: Ground
) -> PreflightStep | None:
    """The step by which a call may run that would be asked about; one that names it exactly comes first."""
    if decision.verdict != "ask" or decision.risk == "high" or decision.rule in _EACH_TIME:
        return None
    mine = [step for step in steps if is_listed(definition, (step.tool_name,))]
    if not mine:
        return None
    subject = subject_of(definition, call, ground)
    if subject.unclear or any(map(is_protected, subject.files)):
        return None
    exact = (step for step in mine if step.target and _is_target(step.target, subject, call))
    found = next(exact, None)
    if found is not None or decision.rule == "rule:ask" or not _may_be_vague(definition, call):
        return found
    return next((step for step in mine if not step.target), None)


def allowed_by(step: PreflightStep, decision: Decision) -> Decision:
    """The decision about a call that a step covers."""
    reason = f"It is the step {step.id} of the plan that was approved: {step.description}"
    return replace(decision, verdict="allow", rule=RULE, reason=reason, digest="", remember=None)


def asks_again(step: PreflightStep, definition: ToolDefinition) -> str:
    """Why a step's call is asked about once more when it comes, as far as that is known before; empty if it is not."""
    if step.risk == "high":
        return "could destroy something"
    if definition.kind in _FAR and not step.target and _has_arguments(definition):
        return "does not say what exactly it runs" if definition.kind is ToolKind.EXEC else "names no address"
    return "is about a file that decides what runs" if _is_file(definition) and is_protected(step.target) else ""


def example_call(definition: ToolDefinition, target: str) -> ToolCall:
    """A call as a step means it, to be judged by the rules; its other arguments are not known yet."""
    return ToolCall("", definition.name, msgspec.Raw(msgspec.json.encode(_input(definition, target) if target else {})))


def _input(definition: ToolDefinition, target: str) -> dict[str, str]:
    fields = _fields(definition)
    if definition.kind is ToolKind.EXEC and "command" in fields:
        return {"command": target}
    return {"url": target} if "url" in fields else {"path": target}


def _is_target(target: str, subject: Subject, call: ToolCall) -> bool:
    if subject.text is not None:
        return subject.text.strip() == target.strip()
    if subject.files:
        return set(subject.files) == {_plain(target)}
    given = msgspec.json.decode(call.input, type=dict[str, object])
    return given.get("url") == target


def _may_be_vague(definition: ToolDefinition, call: ToolCall) -> bool:
    """Whether a step that names just the tool is enough: the call stays in the workspace, or has nothing to choose."""
    return definition.kind not in _FAR or not msgspec.json.decode(call.input, type=dict[str, object])


def _plain(path: str) -> str:
    return ("/" if path.startswith("/") else "") + "/".join(part for part in path.split("/") if part not in ("", "."))


def _fields(definition: ToolDefinition) -> dict[str, object]:
    found = definition.input_schema.get("properties")
    return found if isinstance(found, dict) else {}


def _has_arguments(definition: ToolDefinition) -> bool:
    return bool(_fields(definition))


def _is_file(definition: ToolDefinition) -> bool:
    return "command" not in _fields(definition) and "url" not in _fields(definition)
