"""A cell: the ladder and a confinement together, which is all the launcher needs to run a command in a sandbox.

May import: errors, sandbox.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agi.errors import Invalid
from agi.sandbox.base import Confinement, Rung
from agi.sandbox.homes import SYSTEM, real, within
from agi.sandbox.opened import refuse_too_wide

if TYPE_CHECKING:
    from agi.sandbox.ladder import Ladder
    from agi.sandbox.wrapped import Wrapped


class Cell:
    """Where the commands of one workspace run."""

    def __init__(self, ladder: Ladder, confinement: Confinement) -> None:
        self.ladder = ladder
        self.confinement = confinement
        self._rung: Rung | None = None

    @property
    def rung(self) -> Rung:
        """What holds them, fixed when first asked: calls are judged by it, and run on nothing else."""
        if self._rung is None:
            self._rung = self.ladder.rung
            self.confinement = replace(self.confinement, rung=self.confinement.rung or self._rung.name)
        return self._rung

    def wrap(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Wrapped:
        """Make a command ready; the folder it starts in never widens what it may change.

        Raises `Unavailable` if what holds commands now is not what they were judged with; nothing runs then.
        """
        folder, workspace = real(str(cwd)), str(self.confinement.workspace)
        if not within(folder, workspace):
            hint = "Commands start in the workspace or a folder of it."
            raise Invalid(f"{str(cwd)!r} is outside the workspace.", hint=hint, code="cwd_outside_workspace")
        if self.rung.confines:
            if workspace in SYSTEM:
                hint = "Work in a folder of your own, or switch the sandbox off (sandbox.mode)."
                raise Invalid(f"No sandbox can keep a command in {workspace!r}.", hint=hint, code="workspace_too_wide")
            refuse_too_wide(self.confinement, env)
        return self.ladder.wrap(argv, self.confinement, cwd=folder, env=env)


def find_closed(cwd: Path) -> str | None:
    """The folder that keeps a command from one it was to begin in: that is its own failure and not the sandbox's."""
    folder = real(str(cwd))
    if os.getuid() != 0:
        return None if os.access(folder, os.X_OK) else folder
    # What root may do by its power a command of root's may not: each folder on the way must be open to its user.
    way = (*reversed(Path(folder).parents), folder)
    return next((str(one) for one in way if not _is_open(str(one))), None)


def _is_open(folder: str) -> bool:
    try:
        found = os.stat(folder)
    except OSError:
        return False
    if found.st_uid == os.getuid():
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid in (os.getgid(), *os.getgroups()):
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)
