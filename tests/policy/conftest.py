from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from msgspec import Raw

from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind

TOOLS = {
    "read_file": ToolDefinition(
        name="read_file", description="", input_schema={}, kind=ToolKind.READ, aliases=("fs.read",)
    ),
    "write_file": ToolDefinition(
        name="write_file", description="", input_schema={}, kind=ToolKind.WRITE, aliases=("fs.write",)
    ),
    "shell": ToolDefinition(name="shell", description="", input_schema={}, kind=ToolKind.EXEC, aliases=("shell.run",)),
    "verify": ToolDefinition(name="verify", description="", input_schema={}, kind=ToolKind.EXEC),
    "fetch": ToolDefinition(name="fetch", description="", input_schema={}, kind=ToolKind.NET),
    "careful": ToolDefinition(
        name="careful", description="", input_schema={}, kind=ToolKind.READ, requires_approval=True
    ),
}


@pytest.fixture
def tool() -> Callable[[str], ToolDefinition]:
    return TOOLS.__getitem__


@pytest.fixture
def call() -> Callable[..., ToolCall]:
    def make(name: str, **given: object) -> ToolCall:
        return ToolCall("call_1", name, Raw(msgspec.json.encode(given)))

    return make
