"""The indexes of this process, one per workspace, so that whoever asks next finds what is known already.

May import: index, workspace.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

from agi.index.parsing import Parsing
from agi.index.repo import RepoIndex
from agi.workspace.handle import Workspace

MOST_INDEXES = 8
"""Workspaces whose index stays in memory; the one that was not asked for the longest time goes first."""
_DATA, _CACHE = ".agi", "cache"


class Indexes:
    """Indexes by the folder they are about; all of them parse in one process."""

    def __init__(self) -> None:
        self._parsing = Parsing()
        self._by_root: dict[Path, RepoIndex] = {}
        self._lock = threading.Lock()

    def of(self, workspace: Workspace) -> RepoIndex:
        """The index of a workspace. On disk it is kept in the project's own folder for data, where there is one."""
        with self._lock:
            found = self._by_root.pop(workspace.root, None)
            if found is None:
                data = workspace.root / _DATA
                found = RepoIndex(data / _CACHE if data.is_dir() else None, parsing=self._parsing)
            self._by_root[workspace.root] = found
            while len(self._by_root) > MOST_INDEXES:
                del self._by_root[next(iter(self._by_root))]
            return found

    def close(self) -> None:
        """Forget all of them and end the process that parses."""
        with self._lock:
            for index in self._by_root.values():
                index.close()
            self._by_root.clear()
            self._parsing.close()


@cache
def shared() -> Indexes:
    """Those that all of this process share."""
    return Indexes()
