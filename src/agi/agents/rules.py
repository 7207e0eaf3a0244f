"""A project's rules, AGENTS.md, as text for the model; and text from a project made safe to show.

The commands AGENTS.md names for verification are config's business. May import: errors, config.
"""

from __future__ import annotations

from pathlib import Path

from agi.config.rules import RULES_LIMIT, RULES_NAME, read_rules
from agi.errors import ConfigError

_HIDDEN = dict.fromkeys(
    (0x200B, 0xFEFF, *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080))
)
"""Characters nobody sees but a model reads: tags, zero-width spaces, and those that turn the direction of writing."""


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


def visible(text: str) -> str:
    """Leave out what a reader could not see."""
    return text.translate(_HIDDEN)
