"""For tests of replays: the project with roles that the tests of workers have."""

from __future__ import annotations

from tests.sessions.conftest import crewed

__all__ = ["crewed"]
