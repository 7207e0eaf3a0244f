"""Seed 000's words for tools: kind, definition, call, result. What a tool does is the room `tools`' business.

May import: protocol.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, Raw, Struct, UnsetType

from agi.protocol.parts import Artifact, Audio, File, Image, Json, Text

EMPTY_INPUT = Raw(b"{}")


class ToolKind(StrEnum):
    """What a tool may do to the world; approvals go by it."""

    READ = "read"
    WRITE = "write"
    EXEC = "exec"
    NET = "network"


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as the model and the policy see it."""

    name: str
    description: str
    input_schema: Json
    kind: ToolKind
    requires_approval: bool = False
    aliases: tuple[str, ...] = ()
    polling: bool = False
    """Whether asking the same again and again is what it is for; the loop guard leaves it alone then."""


class ToolCall(Struct, frozen=True):
    """A tool the model asked for; `input` is a JSON object exactly as written."""

    id: str
    name: str
    input: Raw


class ToolResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a call. A failure is a result too: the model reads it and goes on."""

    id: str
    ok: bool
    parts: tuple[Text | Image | Audio | File, ...]
    artifacts: tuple[str, ...] = ()
    """Refs of the files kept for it, such as `artifacts/turn_…/out.log`."""
    error: str = ""
    result: Json | UnsetType = UNSET
    """The outcome for programs, such as `{"path": …, "bytes": …}`."""
    artifact: Artifact | UnsetType = UNSET
    """The one artifact a client would show first: a diff or a long output."""
    changed: bool = False
    """Whether the workspace may have been changed; verification goes by it."""


def failed(call: ToolCall, error: str) -> ToolResult:
    """Make the result of a call that did not succeed; the model is told `error`."""
    return ToolResult(id=call.id, ok=False, error=error, parts=(Text(text=error),))
