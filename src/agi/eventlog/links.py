"""A data folder is used as it is, and never through a link: one may have come with a repository and lead anywhere.

May import: errors.
"""

from __future__ import annotations

import os
from pathlib import Path

from agi.errors import ConfigError

DATABASE = "agi.sqlite"


def refuse_links(folder: Path) -> None:
    """A repository must not make the harness write somewhere else through links."""
    database = folder / DATABASE
    beside = (database.with_name(DATABASE + ending) for ending in ("", "-wal", "-shm", ".lock", ".rebuilding"))
    for path in (folder, folder / "sessions", *beside):
        if path.is_symlink():
            raise _linked(path)


def refuse_links_within(folder: Path) -> None:
    """The same, and nothing below the folder of sessions may be one."""
    refuse_links(folder)
    for above, folders, files in os.walk(folder / "sessions"):
        for path in (Path(above, name) for name in (*folders, *files)):
            if path.is_symlink():
                raise _linked(path)


def _linked(path: Path) -> ConfigError:
    return ConfigError(f"{path} is a link.", code="data_folder_linked", hint="Remove it; agi makes its files itself.")
