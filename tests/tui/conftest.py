"""Someone at the interface, and a daemon behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.testing.box import Daemon, daemon_in_a_box
from agi.testing.person import Person, sitting_at


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon with nothing in its folder."""
    async with daemon_in_a_box(tmp_path) as made:
        yield made


@pytest.fixture
async def person(daemon: Daemon) -> AsyncIterator[Person]:
    """Someone at a screen of 80 columns and 24 rows."""
    async with sitting_at(daemon) as made:
        yield made
