"""What a driver is: how a peer is installed, set up against the scripted provider, started, and spoken to.

A peer is a file beside this one and a line in `known`. A driver knows nothing of what is measured. May import: nothing
of its siblings.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

PROMPT = "go"
Shows = Literal["as it comes", "at the end", "asks for no stream"]


class Package(NamedTuple):
    """What is installed, from where the user's npm or pip gets things."""

    kind: str
    """`npm`, `pip`, or empty for what is here already."""
    wants: tuple[str, ...]
    """Names with versions."""
    version: str


class Tool(NamedTuple):
    """What the scripted model calls to have a shell do nothing; `%d` becomes the number of the step."""

    name: str
    arguments: dict[str, object]


class Ground:
    """A home and a project of one peer, outside of any repository, in nobody's way."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or Path(tempfile.mkdtemp(prefix="agi-peers-"))
        self.home = self.root / "home"
        self.project = self.root / "project"
        self.temporary = self.root / "tmp"
        """What a peer leaves in the folder for temporary files goes with its ground, and is in nobody else's way."""
        for folder in (self.home, self.project, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
        }

    def write(self, name: str, text: str) -> None:
        """Write a file below the home, for its owner alone."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)

    def bytes_on_disk(self) -> int:
        """What home and project take, in blocks of the disk."""
        found = 0
        for top in (self.home, self.project):
            for folder, _, names in os.walk(top):
                for name in names:
                    try:
                        found += os.lstat(os.path.join(folder, name)).st_blocks * 512
                    except OSError:  # gone meanwhile
                        pass
        return found


class Serving(Protocol):
    """A peer that runs on and takes sessions."""

    pid: int

    async def session(self) -> str:
        """Begin one."""

    async def turn(self, session: str) -> None:
        """Say the prompt in it and wait for the end; raises RuntimeError if that is none."""


class Peer(Protocol):
    """One program."""

    name: str
    package: Package
    tool: Tool
    notes: tuple[str, ...]
    """What a reader of the table must know about this peer."""
    shows: Shows
    """What its command line does with a streamed answer."""
    keeps: bool
    """Whether sessions are on disk afterwards."""

    def settle(self, ground: Ground, url: str) -> None:
        """Write its settings and set its environment; `url` is the provider's, ending in `/v1`."""

    def start(self) -> tuple[str, ...]:
        """The least it can be asked: its version."""

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        """The command that asks once and prints the answer."""

    def serve(self, ground: Ground) -> AbstractAsyncContextManager[Serving] | None:
        """Start it as a server; None if a process of it has one session."""
