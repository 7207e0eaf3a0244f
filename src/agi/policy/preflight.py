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
from agi.policy.touching import CHANGERS
from agi.protocol.preflight import PreflightStep
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind

RULE = "preflight"
_EACH_TIME = frozenset({"destructive", "unparsed", "rule:deny"})
"""Why a call is asked about whatever was approved: it could destroy, cannot be read, or may be what a rule denies."""
_ABOUT = {
    ToolKind.READ: ("path",),
    ToolKind.WRITE: ("path", "patch"),
    ToolKind.EXEC: ("command",),
    ToolKind.NET: ("url",),
}
"""The arguments that say what a tool of a kind is about."""


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
    about = _about(definition)
    exact = (step for step in mine if step.target and _is_target(step.target, about, subject, call))
    found = next(exact, None)
    if found is not None or decision.rule == "rule:ask" or not (_may_be_vague(definition) or _is_empty(call)):
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
    if _about(definition) == "path" and is_protected(step.target):
        return "is about a file that decides what runs"
    if step.target and _about(definition):
        return ""
    return "" if _may_be_vague(definition) or not _fields(definition) else "does not say what exactly is done"


def example_call(definition: ToolDefinition, target: str) -> ToolCall:
    """A call as a step means it, to be judged by the rules; its other arguments are not known yet."""
    return ToolCall("", definition.name, msgspec.Raw(msgspec.json.encode(_input(definition, target) if target else {})))


def _input(definition: ToolDefinition, target: str) -> dict[str, str]:
    return {_about(definition) or "path": target}


def _is_target(target: str, about: str, subject: Subject, call: ToolCall) -> bool:
    """Whether a call is about just this; a path that leads elsewhere is another one."""
    if about == "command":
        return subject.text is not None and subject.text.strip() == target.strip()
    if about == "path":
        return set(subject.files) == {_plain(target)}
    return bool(about) and msgspec.json.decode(call.input, type=dict[str, object]).get(about) == target


def _may_be_vague(definition: ToolDefinition) -> bool:
    """Whether a step that names just the tool is enough: it looks, or changes files, which can be taken back.

    What runs commands or reaches out cannot, and of what a tool does elsewhere nothing is known.
    """
    if definition.kind is ToolKind.READ:
        return not definition.requires_approval
    return definition.kind is ToolKind.WRITE and definition.name in CHANGERS


def _is_empty(call: ToolCall) -> bool:
    """Whether there is nothing to choose."""
    return not msgspec.json.decode(call.input, type=dict[str, object])


def _about(definition: ToolDefinition) -> str:
    """The argument that a step's target is, as the rules see it: `command`, `url`, `path`; empty if there is none."""
    fields = _fields(definition)
    found = next((name for name in _ABOUT[definition.kind] if name in fields), "")
    return "path" if found == "patch" else found


def _plain(path: str) -> str:
    return ("/" if path.startswith("/") else "") + "/".join(part for part in path.split("/") if part not in ("", "."))


def _fields(definition: ToolDefinition) -> dict[str, object]:
    found = definition.input_schema.get("properties")
    return found if isinstance(found, dict) else {}
