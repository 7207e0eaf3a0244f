"""The skills of workspaces and of the user, beside the sites they belong to. May import: skills, workspace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agi.skills.loading import Memory, Skills
    from agi.workspace.handle import Workspace


FOLDERS = (".agi/skills", ".agents/skills", ".claude/skills")
"""Where a project keeps skills, said here too: knowing that there are none must cost nothing."""


class OwnSkills:
    """The skills of all workspaces; one for a process, since what was read is remembered."""

    def __init__(self, home_config: Path) -> None:
        self._home_config = home_config
        self._memory: Memory | None = None

    def may_be_at(self, workspace: Workspace) -> bool:
        """Whether a workspace or the user may have some; tells at once."""
        places = (*(workspace.root / folder for folder in FOLDERS), self._home_config / "skills")
        return any(os.path.lexists(place) for place in places)

    def at(self, workspace: Workspace, *, enabled: bool) -> Skills:
        """What a workspace and the user offer."""
        from agi.skills.loading import Memory, Skills  # late: most one-shots need none

        self._memory = self._memory or Memory()
        return Skills(workspace, self._home_config, memory=self._memory, enabled=enabled)
