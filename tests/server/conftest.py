"""One daemon for each test of the front door, on a socket of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.testing.box import Daemon, daemon_in_a_box


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon whose user trusts the workspace."""
    async with daemon_in_a_box(tmp_path, trusted=True) as box:
        yield box
