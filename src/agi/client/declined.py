"""Workspaces their user would not trust, each as it was then, so that the same question is not put twice.

Kept beside the user's settings, in a file of its own: it is an answer, no setting. Asking is the faces' business.
May import: errors, config.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Raw

from agi.config.store import Document, read_document, update_document
from agi.errors import ConfigError

FOLDER = "declined"
MOST = 500
_KEY = "declinedWorkspaces"


def is_declined(workspace: Path, home_config: Path, fingerprint: str) -> bool:
    """Tell whether the user said no to this workspace as it is now."""
    try:
        found = _records(read_document(home_config / FOLDER))
    except ConfigError:
        return False
    return found.get(os.path.realpath(workspace)) == fingerprint


def decline(workspace: Path, home_config: Path, fingerprint: str) -> None:
    """Remember a no; the oldest of very many is forgotten. Raises ConfigError if it cannot be written."""
    update_document(home_config / FOLDER, lambda document: _put(document, os.path.realpath(workspace), fingerprint))


def _put(document: Document, path: str, fingerprint: str) -> None:
    records = _records(document)
    records.pop(path, None)
    kept = [*records.items(), (path, fingerprint)][-MOST:]
    document[_KEY] = Raw(msgspec.json.encode(dict(kept)))


def _records(document: Document) -> dict[str, str]:
    try:
        return msgspec.json.decode(document.get(_KEY, b"{}"), type=dict[str, str])
    except msgspec.DecodeError:
        return {}
