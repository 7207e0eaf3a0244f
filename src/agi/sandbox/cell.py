"""A cell: the ladder and a confinement together, which is all the launcher needs to run a command in a sandbox.

May import: errors, sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agi.errors import Invalid
from agi.sandbox.base import Confinement, Rung
from agi.sandbox.places import SYSTEM, within

if TYPE_CHECKING:
    from agi.sandbox.ladder import Ladder
    from agi.sandbox.wrapped import Wrapped


class Cell:
    """Where the commands of one workspace run."""

    def __init__(self, ladder: Ladder, confinement: Confinement) -> None:
        self.ladder = ladder
        self.confinement = confinement

    @property
    def rung(self) -> Rung:
        """What holds them."""
        return self.ladder.rung

    def wrap(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Wrapped:
        """Make a command ready; the folder it starts in never widens what it may change."""
        folder, workspace = os.path.realpath(cwd), str(self.confinement.workspace)
        if not within(folder, workspace):
            hint = "Commands start in the workspace or a folder of it."
            raise Invalid(f"{str(cwd)!r} is outside the workspace.", hint=hint, code="cwd_outside_workspace")
        if workspace in SYSTEM and self.rung.confines:
            hint = "Work in a folder of your own, or switch the sandbox off (sandbox.mode)."
            raise Invalid(f"No sandbox can keep a command in {workspace!r}.", hint=hint, code="workspace_too_wide")
        return self.ladder.wrap(argv, self.confinement, cwd=folder, env=env)
