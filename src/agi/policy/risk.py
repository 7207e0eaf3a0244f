"""How much harm a call could do: low, medium or high; and whether it is of the destructive class.

What goes through our own tools is kept as a diff and can be undone; what a shell command deletes cannot, so the class
is about commands. It is a net against accidents, not a wall: that is the sandbox. May import: protocol.
"""

from __future__ import annotations

import msgspec

from agi.policy.destructive import destroys
from agi.protocol.sessions import Risk
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind

_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def risk_of(definition: ToolDefinition, call: ToolCall) -> Risk:
    """Rate a call: reading is low, changing and running medium; high is the destructive class and nothing else."""
    if definition.kind is ToolKind.READ:
        return "medium" if definition.requires_approval else "low"
    return "high" if is_destructive(definition, call) else "medium"


def is_destructive(definition: ToolDefinition, call: ToolCall) -> bool:
    """Tell whether a call runs a command that could destroy something; what cannot be read counts as such."""
    if definition.kind is not ToolKind.EXEC:
        return False
    try:
        command = _decode(call.input).get("command")
        return command is not None and destroys(_decode_text(command))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
