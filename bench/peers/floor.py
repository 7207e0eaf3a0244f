"""The bare floor: asyncio, httpx2 and a subprocess; keeps nothing, asks nobody, serves no one."""

from __future__ import annotations

import sys

from bench.peers.base import Package, Tool
from bench.peers.scripts import Script


class Floor(Script):
    """A loop of a few lines."""

    name = "floor"
    package = Package("", (), "httpx2")
    tool = Tool("shell", {"command": "true %d"})
    notes = (
        "a bare loop: no log, no sandbox, no server; it bounds everyone from below; its start is a bare interpreter",
    )
    program = "bare_loop.py"

    def start(self) -> tuple[str, ...]:
        return sys.executable, "-c", "pass"
