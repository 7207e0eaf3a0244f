"""What would become of a call in a workspace, and why; nothing is run and no log is opened.

May import: errors, protocol, policy, tools, sessions.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Raw

from agi.config.grants import read_grants
from agi.errors import Invalid
from agi.policy.explaining import explain
from agi.protocol.explanations import Explanation
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind
from agi.sessions.ground import ground_for, ground_of
from agi.sessions.sites import Site
from agi.tools.base import Registry
from agi.tools.builtin import builtin_tools


def explain_call(site: Site, home_config: Path, *, tool: str, text: str, agent: str = "") -> Explanation:
    """Judge a command, a path, or a whole input as JSON, for an agent (empty: the default one)."""
    registry = Registry(builtin_tools())
    definition = registry.find(tool)
    if definition is None:
        known = ", ".join(one.name for one in registry.definitions())
        raise Invalid(f"There is no tool {tool[:80]!r}.", code="tool_not_found", hint=f"There are: {known}.")
    chosen = site.agents.find(agent) if agent else site.agents.default(site.config)
    return explain(
        site.config.approval,
        definition,
        ToolCall("call", definition.name, _input(definition, text)),
        allowed_tools=chosen.tools,
        granted=read_grants(home_config, site.workspace.root) if site.trusted else (),
        ground=ground_for(ground_of(site), definition, site.cell()),
    )


def _input(definition: ToolDefinition, text: str) -> Raw:
    if text.lstrip().startswith("{") and definition.kind is not ToolKind.EXEC:
        return Raw(text.encode())
    return Raw(msgspec.json.encode({"command" if definition.kind is ToolKind.EXEC else "path": text}))
