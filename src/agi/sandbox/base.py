"""The words of the sandbox: what a command may reach, how much it may use, which rung holds it, and what came of it.

Values only. May import: nothing of ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

RungName = Literal["namespaces", "bubblewrap", "landlock", "none"]
Network = Literal["off", "allow-list", "on"]

MIB = 1 << 20
GIB = 1 << 30


class Limits(Struct, frozen=True, kw_only=True):
    """How much one command may use, its children counted; None is no limit. Time is the launcher's business."""

    memory: int | None = None
    """Bytes of memory; None is three quarters of the machine's, and 8 GiB at most."""
    processes: int | None = 1024
    """Processes and threads at one time."""
    file_size: int | None = 8 * GIB
    """Bytes in any one file."""
    cpu_seconds: int | None = 3600
    """Seconds of processor time of any one process."""
    open_files: int | None = 16_384
    """Open files of any one process."""
    scratch: int = 2 * GIB
    """Bytes in each of the folders that last as long as the command: `/tmp`, the home folder, shared memory."""


class Confinement(Struct, frozen=True, kw_only=True):
    """What commands in one workspace may reach. What is not named is read-only, and the home folder is not there."""

    workspace: Path
    """The folder they work in, as its real path."""
    read_only: bool = False
    """Whether they may only look at the workspace."""
    network: Network = "off"
    """`off`: none but their own loopback; `allow-list`: HTTP to `hosts`; `on`: all there is."""
    hosts: tuple[str, ...] = ()
    """Where `allow-list` leads: `host`, `.suffix`, each with `:port` if it is not a usual one."""
    denied_hosts: tuple[str, ...] = ()
    """Where it never leads, whatever `hosts` says."""
    writable: tuple[Path, ...] = ()
    """More places they may change."""
    readable: tuple[Path, ...] = ()
    """Places they may read although they lie in one that is hidden."""
    hidden: tuple[Path, ...] = ()
    """Places they must not see: the daemon's data, the user's settings."""
    tmp: Path | None = None
    """A private folder to be their `/tmp` from command to command; None is an empty one each time."""
    unix_sockets: bool = False
    """Whether they may use unix sockets; pairs of connected ones are always fine."""
    may_create_repository: bool = False
    """Whether `git init` may work in a workspace that has no `.git`."""
    rung: RungName | None = None
    """What they were judged to run on: on any other nothing runs. None is not judged yet."""
    must_confine: bool = False
    """Whether nothing may run where no sandbox works."""
    limits: Limits = Limits()
    """How much each may use."""


class Rung(Struct, frozen=True, kw_only=True):
    """What holds commands on this machine, and what it does not hold, for people."""

    name: RungName
    gaps: tuple[str, ...] = ()
    """What gets past it, one sentence each."""
    why: tuple[str, ...] = ()
    """Why no better one: what was tried and what it said."""

    @property
    def confines(self) -> bool:
        """Whether there is a sandbox at all."""
        return self.name != "none"


class Aftermath(Struct, frozen=True, kw_only=True):
    """What is known of a command once it is over, beside how it ended and what it said."""

    started: bool = True
    """Whether it ran at all; False if the sandbox itself failed."""
    failure: str = ""
    """Why it did not, where it was we who kept it from running."""
    leftovers: bool = False
    """Whether processes it left in the background had to be ended."""
    notes: tuple[str, ...] = ()
    """What a person or a model should know: out of memory, a host refused, a file put back."""
