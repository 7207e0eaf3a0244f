"""The system text: the agent's prompt, the workspace, the project's rules, the session's own instructions.

No clock, id or random value is in it, so providers can reuse what they have cached. May import: agents.
"""

from __future__ import annotations

from pathlib import Path

from agi.agents.base import Agent
from agi.agents.rules import project_rules


def system_text(agent: Agent, workspace: Path, session_prompt: str | None) -> str:
    """Join the sections that have something to say."""
    rules = project_rules(workspace)
    sections = [
        agent.prompt.strip(),
        f"You work in the folder {workspace}. Paths you give to tools are relative to it.",
        f"The project's own rules (AGENTS.md):\n\n{rules}" if rules else "",
        session_prompt.strip() if session_prompt else "",
    ]
    return "\n\n".join(section for section in sections if section)
