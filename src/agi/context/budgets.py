"""What each section may cost: as configured, and never more than a share of the model's window.

A section is worth less than the conversation it takes the room from. Pure. May import: config, context.
"""

from __future__ import annotations

from collections.abc import Mapping

from agi.config.values import ContextSettings
from agi.context.base import NOTES, REPO_MAP, RULES, SELECTED, SKILLS

SHARES: Mapping[str, int] = {RULES: 4, SKILLS: 16, NOTES: 16, REPO_MAP: 16, SELECTED: 16}
"""Into how many parts the window is divided for each section to have one."""


def budgets_for(settings: ContextSettings, skills: int, window: int | None) -> dict[str, int]:
    """The budgets for a model with this window, of which None limits nothing; skills have a setting of their own."""
    wanted = {
        RULES: settings.rules_tokens,
        SKILLS: skills,
        NOTES: settings.notes_tokens,
        REPO_MAP: settings.repo_map_tokens,
        SELECTED: settings.selected_files_tokens,
    }
    return {name: tokens if window is None else min(tokens, window // SHARES[name]) for name, tokens in wanted.items()}
