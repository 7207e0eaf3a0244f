"""What a tool of a project can reach: never more than a command of the same workspace, and less by what it declares.

May import: sandbox, usertools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agi.sandbox.base import GIB, MIB, Confinement, Limits
from agi.usertools.base import DeclaredKind

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell

_LOOKING = Limits(memory=GIB, processes=64, file_size=64 * MIB, cpu_seconds=10, open_files=1024, scratch=64 * MIB)
"""How much a tool may use while it is only described."""


def cell_to_look(cell: Cell | None) -> Cell | None:
    """Where a tool is described: it can change nothing and reach nobody."""
    return _narrowed(cell, read_only=True, limits=_LOOKING)


def cell_to_run(cell: Cell | None, kind: DeclaredKind) -> Cell | None:
    """Where a tool runs: `read` cannot change the workspace, and neither it nor `write` reaches the network."""
    if kind in ("exec", "network"):
        return cell
    return _narrowed(cell, read_only=kind == "read", limits=None)


def _narrowed(cell: Cell | None, *, read_only: bool, limits: Limits | None) -> Cell | None:
    if cell is None:
        return None
    old: Confinement = cell.confinement
    narrow = replace(
        old,
        read_only=read_only or old.read_only,
        network="off",
        hosts=(),
        writable=() if read_only else old.writable,
        unix_sockets=False,
        limits=limits or old.limits,
    )
    return type(cell)(cell.ladder, narrow)
