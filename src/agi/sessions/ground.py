"""Where a site's calls would run, as the rules about them see it. May import: policy, sandbox, tools, sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agi.policy.approval import Ground
from agi.protocol.tools import ToolDefinition, ToolKind

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell
    from agi.sessions.sites import Site


def ground_of(site: Site) -> Ground:
    """Whether the workspace is trusted, and where its paths lead."""
    return Ground(trusted=site.trusted, locate=site.workspace.locate)


def ground_for(ground: Ground, definition: ToolDefinition, cell: Cell | None) -> Ground:
    """The same for one tool: what holds it in, if it runs commands. Only then need the sandbox be tried out."""
    if definition.kind is not ToolKind.EXEC or cell is None or not cell.rung.confines:
        return ground
    return msgspec.structs.replace(ground, boundary=cell.rung.name, network=cell.confinement.network != "off")
