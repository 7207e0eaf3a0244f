"""What a client is told at its start. Apart from the client itself: a daemon is told the same, and is no client.

May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct


class ClientSettings(Struct, frozen=True, kw_only=True):
    """Where a client works and what it was told at its start."""

    project: Path
    """The folder whose `.agi` holds the sessions."""
    home_config: Path
    """Where the user's own settings live."""
    env: Mapping[str, str]
    """The environment; never sent anywhere."""
    trust_once: bool = False
    """Trust the project for this run; a running daemon cannot be told that, so the harness runs in this process."""
    tell: Callable[[str], None] | None = None
    """Hears at once what a person should know of the log, whatever was asked; else the client's notice has it."""
