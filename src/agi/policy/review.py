"""Patch review: whether a change of files is shown before it is made, and whether somebody must say yes first.

Making the patch and waiting for the answer are done elsewhere. May import: protocol.
"""

from __future__ import annotations

from agi.protocol.policies import PatchReviewPolicy
from agi.protocol.tools import ToolDefinition, ToolKind

__all__ = ["PatchReviewPolicy", "is_proposed", "waits_for_a_person"]


def is_proposed(policy: PatchReviewPolicy, definition: ToolDefinition) -> bool:
    """Tell whether a call's change is put into the log as a patch before it is made."""
    return policy.mode != "off" and definition.kind is ToolKind.WRITE


def waits_for_a_person(policy: PatchReviewPolicy, definition: ToolDefinition) -> bool:
    """Tell whether the change is made only after a person approved of the patch, whatever else was granted."""
    return policy.mode == "request" and definition.kind is ToolKind.WRITE
