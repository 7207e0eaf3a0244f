"""A project's rules, AGENTS.md, as text for the model; and text from a project made safe to show.

The commands AGENTS.md names for verification are config's business. May import: errors, config, protocol.
"""

from __future__ import annotations

from pathlib import Path

from agi.config.rules import RULES_LIMIT, RULES_NAME, read_rules
from agi.errors import ConfigError
from agi.protocol.visible import visible

__all__ = ["project_rules", "visible"]


def project_rules(workspace_root: Path) -> str:
    """Give the text of a workspace's AGENTS.md; empty if there is none or it is refused (`load_config` says why)."""
    try:
        content = read_rules(workspace_root)
    except ConfigError:
        return ""
    text = visible(content[:RULES_LIMIT].decode(errors="replace"))
    if len(content) > RULES_LIMIT:
        text += f"\n[{RULES_NAME} is longer than {RULES_LIMIT} bytes and was cut here.]\n"
    return text
