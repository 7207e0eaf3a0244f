"""Rules of folders below the workspace's root: told once the agent has been to a folder that has some.

Not those of dependencies and of what is ignored: whoever wrote these does not work here. All through the workspace's
one door. May import: errors, workspace, context.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agi.config.rules import RULES_LIMIT
from agi.context.base import Piece
from agi.context.rules import piece_of
from agi.errors import AgiError
from agi.workspace.beneath import join
from agi.workspace.handle import SKIPPED, Workspace

DEPENDENCIES = SKIPPED | {
    *("vendor", "vendored", "third_party", "third-party", "external", "deps", "bower_components", "jspm_packages"),
    *("site-packages", "dist-packages", ".cargo", "pods", "carthage", "dist", "build", "target", "out", ".next"),
}
"""Folders whose rules are somebody else's, or that are made."""
MOST_LISTED = 10_000
HEADING = "Rules for the files in {}/ ({}):"


def folders_of(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """The folders that paths are in, or are themselves; those that lead nowhere in the workspace are left out."""
    found: dict[str, None] = {}
    for path in paths:
        try:
            place = workspace.relative(path)
            found[place if workspace.is_dir(place) else place.rpartition("/")[0]] = None
        except (AgiError, OSError):
            continue
    return [one for one in found if one not in ("", ".")]


def nested_rules(workspace: Workspace, folders: Iterable[str], names: Sequence[str]) -> list[Piece]:
    """The rules of these folders and of those above them, the deepest last; not the root's own."""
    plain = [name for name in names if "*" not in name]
    found: list[Piece] = []
    for folder in _with_parents(folders):
        here = [join(folder, name) for name in plain]
        pieces = [piece for path in here if (piece := _read(workspace, folder, path)) is not None]
        said: set[str] = set()
        for piece in pieces:
            if piece.text.strip() not in said and not piece.refused:
                said.add(piece.text.strip())
                found.append(piece)
    return found


def _with_parents(folders: Iterable[str]) -> list[str]:
    found = {
        "/".join(names[:depth])
        for folder in folders
        if (names := [name for name in folder.split("/") if name not in ("", ".")])
        and not any(name.lower() in DEPENDENCIES or name == ".." or not name.isprintable() for name in names)
        for depth in range(1, len(names) + 1)
    }
    return sorted(found, key=lambda folder: (folder.count("/"), folder))


def _read(workspace: Workspace, folder: str, path: str) -> Piece | None:
    try:
        if not workspace.exists(path) or not _is_shown(workspace, folder):
            return None
        read = workspace.read_bytes(path, RULES_LIMIT + 1)
    except (AgiError, OSError):
        return None
    piece = piece_of(read.data, path, HEADING.format(folder, path))
    return Piece(
        name=piece.name,
        source=path,
        text=piece.text,
        heading=piece.heading,
        place="conversation",
        longer=piece.longer,
        refused=piece.refused,
    )


def _is_shown(workspace: Workspace, folder: str) -> bool:
    """Whether no .gitignore leaves the folder out, or one above it."""
    from agi.workspace.walking import walk_visible  # late: few workspaces have rules below their root

    names = folder.split("/")
    for depth in range(len(names)):
        above = "/".join(names[:depth]) or "."
        listed = walk_visible(workspace, above, depth=1, limit=MOST_LISTED)
        if not any(one.name == names[depth] and one.kind == "directory" for one in listed.entries):
            return False
    return True
