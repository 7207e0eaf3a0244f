"""What can tell more about workspaces at the start of a turn: a map of the repository. May import: context, index,
sessions, workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agi.context.base import Source
from agi.workspace.repository import repository_root

if TYPE_CHECKING:
    from agi.context.sources import RepoMap
    from agi.sessions.sites import Site


class OwnSources:
    """The sources of all workspaces; one for a process, since what was read is remembered."""

    def __init__(self) -> None:
        self._maps: dict[Path, RepoMap] = {}

    def at(self, site: Site) -> Sequence[Source]:
        """Those of a workspace; none where there is no repository, whose files could be of any kind."""
        root = site.workspace.root
        if not site.config.context.repo_map_tokens or repository_root(root) is None:
            return ()
        found = self._maps.get(root)
        if found is None:
            from agi.context.sources import RepoMap  # late: only a repository needs it
            from agi.index.shared import shared

            found = self._maps[root] = RepoMap(site.workspace, shared().of(site.workspace))
        return (found,)

    def close(self) -> None:
        """Stop reading."""
        for one in self._maps.values():
            one.close()
