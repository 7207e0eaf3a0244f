"""The stores that are open in this process: one a data folder, shared by everyone, until it is closed.

Light to load, since most processes only read files and need no store. May import: checkpoints.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agi.checkpoints.store import Store

_stores: dict[Path, Store] = {}
_guard = threading.Lock()


def store_at(data_folder: Path) -> Store:
    """The store of a data folder (`.agi`); its file is opened, or made, when it is first read or written."""
    from agi.checkpoints.store import Store  # late: brings SQLite's and our own machinery

    with _guard:
        found = _stores.get(data_folder)
        if found is None:
            found = _stores[data_folder] = Store(data_folder / "checkpoints")
        return found


def close_store(data_folder: Path) -> None:
    """Let go of the file, if anybody had it open."""
    with _guard:
        found = _stores.pop(data_folder, None)
    if found is not None:
        found.close()
