"""A workspace as `policy.detecting` looks at it: names, texts and programs, each bounded, nothing run.

May import: errors, workspace.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from agi.errors import AgiError
from agi.workspace.handle import Workspace
from agi.workspace.processes import find_program

TEXT_LIMIT = 1 << 20
MOST_NAMES = 10_000


class Looked:
    """The folder, seen through its handle."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def names(self, folder: str) -> Collection[str]:
        """What is in a folder; nothing if it cannot be listed."""
        try:
            return {entry.name for entry in self._workspace.list_dir(folder, MOST_NAMES).entries}
        except AgiError:
            return ()

    def text(self, name: str) -> str:
        """A file's text, as far as the limit; empty if it cannot be read."""
        try:
            return self._workspace.read_bytes(name, TEXT_LIMIT).data.decode(errors="replace")
        except AgiError:
            return ""

    def has_program(self, name: str) -> bool:
        """Whether a program of this name is installed outside the workspace."""
        return find_program(name, os.environ.get("PATH", ""), str(self._workspace.root)) is not None
