"""What can tell more about workspaces at the start of a turn: a map of the repository, and the files a question may be
about.

May import: context, index, sessions, workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agi.context.base import Source
    from agi.context.sources import RepoMap, SelectedFiles
    from agi.sessions.sites import Site

_DATA, _CACHE = ".agi", "cache"


class OwnSources:
    """The sources of all workspaces; one for a process, since what was read is remembered."""

    def __init__(self) -> None:
        self._maps: dict[Path, RepoMap] = {}
        self._choices: dict[Path, SelectedFiles] = {}

    def at(self, site: Site) -> Sequence[Source]:
        """Those of a workspace; none where there is no repository, whose files could be of any kind."""
        from agi.workspace.repository import repository_root  # late: only a turn needs it

        told = site.config.context
        if not (told.repo_map_tokens or told.selected_files_tokens) or repository_root(site.workspace.root) is None:
            return ()
        found: list[Source] = [self._map(site)] if told.repo_map_tokens else []
        # The words of all files are kept on disk, in the project's own folder for data.
        if told.selected_files_tokens and (site.workspace.root / _DATA).is_dir():
            found.append(self._choice(site))
        return found

    def _map(self, site: Site) -> RepoMap:
        root = site.workspace.root
        if root not in self._maps:
            from agi.context.sources import RepoMap  # late: only a repository needs it
            from agi.index.shared import shared

            self._maps[root] = RepoMap(site.workspace, shared().of(site.workspace))
        return self._maps[root]

    def _choice(self, site: Site) -> SelectedFiles:
        root = site.workspace.root
        if root not in self._choices:
            from agi.context.sources import SelectedFiles  # late: only a repository needs it
            from agi.index.selecting import Selector
            from agi.index.shared import shared

            index = shared().of(site.workspace)
            self._choices[root] = SelectedFiles(Selector(site.workspace, root / _DATA / _CACHE, index=index))
        return self._choices[root]

    def close(self) -> None:
        """Stop reading."""
        for read in self._maps.values():
            read.close()
        for chosen in self._choices.values():
            chosen.close()
