"""Where a path of a reading tool leads: into the workspace, or to a file of this session that the model was told of.

May import: errors, protocol, tools.base, workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from agi.errors import NotFound
from agi.protocol import ids
from agi.tools.base import ToolContext
from agi.workspace.handle import Workspace

_ATTACHED = re.compile(r"attachments/[0-9a-f]{20}-[A-Za-z0-9._-]+", re.ASCII)
"""How attachments are named; a folder of the workspace may be called so too, but hardly its files."""


class Place(Struct, frozen=True):
    """A path in the folder it belongs to; `above` is what stands before it where it is named."""

    workspace: Workspace
    path: str
    above: str = ""


@contextmanager
def placed(context: ToolContext, path: str) -> Iterator[Place]:
    """Find out where a path leads; what it leads to need not be there."""
    folder = context.artifact_ref.rpartition("/")[0]
    names = path.split("/")
    if _ATTACHED.fullmatch(path) and (place := context.artifacts.parent.parent / names[0]).is_dir():
        with Workspace.open(place) as attachments:
            yield Place(attachments, names[1], f"{names[0]}/")
        return
    is_ref = len(names) == 3 and names[0] == folder and ids.is_id(names[1], ids.TURN)
    if not is_ref or names[2] in ("", ".", ".."):
        yield Place(context.workspace, path)
        return
    if not context.artifacts.parent.is_dir():
        raise NotFound(f"{path!r} does not exist.", hint="No output was kept in this session.", code="file_not_found")
    with Workspace.open(context.artifacts.parent) as artifacts:
        yield Place(artifacts, f"{names[1]}/{names[2]}", f"{folder}/")
