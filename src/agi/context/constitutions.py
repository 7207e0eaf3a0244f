"""Constitutions as text for the model: documents of rules that the user bound to a repository.

Read through a handle of their own, so nothing outside of them can be told. May import: errors, protocol, workspace,
context.
"""

from __future__ import annotations

import os
from pathlib import Path

from agi.context.base import RULES, Piece
from agi.errors import AgiError
from agi.protocol.resources import Resource
from agi.protocol.visible import visible
from agi.workspace.handle import Workspace

MOST_BYTES = 64 * 1024
"""Of one constitution; what is longer is cut and said to be."""
MOST_FILES = 50
RANK = -1
"""They come before a project's own rules when tokens are short: their user bound them on purpose."""


def constitution_piece(resource: Resource) -> Piece:
    """One of them as a piece; where it cannot be read, why."""
    source = f"constitution {resource.name}"
    path = Path(resource.path)
    is_file = os.path.isfile(path)
    try:
        workspace = Workspace.open(path.parent if is_file else path)
    except AgiError as error:
        return Piece(name=RULES, source=source, refused=error.message)
    try:
        names = [path.name] if is_file else _documents(workspace)
        text, cut = _joined(workspace, names, titled=not is_file)
    except (AgiError, OSError) as error:
        return Piece(name=RULES, source=source, refused=str(error))
    finally:
        workspace.close()
    if not text.strip():
        return Piece(name=RULES, source=source, refused="it has no text")
    heading = f"The constitution “{resource.name}”, which the user has bound to this repository:"
    longer = f"longer than {MOST_BYTES} bytes" if cut else ""
    return Piece(name=RULES, source=source, heading=heading, text=visible(text), rank=RANK, longer=longer)


def _documents(workspace: Workspace) -> list[str]:
    """The documents of a folder, by name."""
    entries = workspace.walk(limit=2_000).entries
    found = sorted(one.name for one in entries if one.kind == "file" and one.name.lower().endswith((".md", ".txt")))
    return found[:MOST_FILES]


def _joined(workspace: Workspace, names: list[str], *, titled: bool) -> tuple[str, bool]:
    """Their text, one behind the other, and whether some of it was cut."""
    pieces: list[str] = []
    room = MOST_BYTES
    for name in names:
        content = workspace.read_bytes(name, limit=room + 1).data
        told = content[:room].decode(errors="replace")
        pieces.append(f"{name}:\n\n{told}" if titled else told)
        if len(content) > room:
            return "\n\n".join(pieces), True
        room -= len(content)
    return "\n\n".join(pieces), False
