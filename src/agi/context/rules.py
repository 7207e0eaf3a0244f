"""Rules for agents that people wrote down: AGENTS.md and its like, the user's own and those of the folders.

Which count: the user's own file, then those from the repository's root down to the workspace, the nearest last. Above
the workspace only what belongs to the user counts, never at or above the home folder, never on another mount. They are
text from files: bounded, without hidden characters, following no link out of their folder and no `@import`; nothing in
them allows anything. May import: errors, config, agents, workspace, context.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from agi.config.files import read_inside
from agi.config.rules import RULES_LIMIT, RULES_NAME
from agi.context.base import RULES, Piece
from agi.errors import ConfigError
from agi.protocol.visible import visible
from agi.workspace.repository import repository_root

MOST_FILES = 40
"""Of one folder, and of all folders together."""
OWN, PROJECT, ABOVE = "own", "project", "above"
_HEADINGS = {
    OWN: "The user's own rules ({}):",
    PROJECT: "The project's own rules ({}):",
    ABOVE: "Rules of the repository this folder is in ({}):",
}
_TOO_LONG = f"longer than {RULES_LIMIT} bytes"
_ALWAYS = ("alwaysapply:true",)


def find_rules(workspace: Path, *, names: Sequence[str], own: Path, home: str) -> list[Piece]:
    """All rules that hold for the whole workspace: the user's own first, the nearest last.

    `own` is the folder of the user's settings, `home` the folder at which looking upward ends.
    """
    found = [_read(own, RULES_NAME, OWN, str(own / RULES_NAME), rank=0)] if _is_there(own, RULES_NAME) else []
    near_first = [
        _in_folder(folder, names, PROJECT if folder == workspace else ABOVE, rank=1 + distance)
        for distance, folder in enumerate(_folders(workspace, home))
    ]
    return [*found, *(piece for level in reversed(near_first) for piece in level)]


def _folders(workspace: Path, home: str) -> list[Path]:
    """The workspace and those above it up to the repository's root; the workspace alone where there is none."""
    top = repository_root(workspace)
    if top is None or top == workspace:
        return [workspace]
    found = [workspace]
    device = _device(workspace)
    for folder in workspace.parents:
        if str(folder) == os.path.realpath(home) or not _is_ours(folder) or _device(folder) != device:
            return found
        found.append(folder)
        if folder == top:
            break
    return found


def _in_folder(folder: Path, names: Sequence[str], kind: str, rank: int) -> list[Piece]:
    """The rules of one folder, each once: what another file says already is not repeated."""
    found: list[Piece] = []
    said: dict[str, str] = {}
    for name in _there(folder, names)[:MOST_FILES]:
        source = name if kind == PROJECT else str(folder / name)
        real = os.path.realpath(folder / name)
        piece = _read(folder, name, kind, source, rank)
        same = said.get(real) or said.get(piece.text.strip())
        if same and not piece.refused:
            piece = Piece(name=RULES, source=source, rank=rank, refused=f"the same as {same}")
        elif not piece.refused:
            said[real] = said[piece.text.strip()] = source
        found.append(piece)
    return found


def _there(folder: Path, names: Iterable[str]) -> list[str]:
    """Those of the names that are there; the last part of one may be a pattern."""
    found: dict[str, None] = {}
    for name in names:
        if "*" not in name:
            if _is_there(folder, name):
                found[name] = None
            continue
        inner, _, pattern = name.rpartition("/")
        try:
            listed = sorted(os.listdir(folder / inner))
        except OSError:
            continue
        fitting = [one for one in listed if fnmatchcase(one, pattern) and one.isprintable()][:MOST_FILES]
        found.update((f"{inner}/{one}" if inner else one, None) for one in fitting)
    return list(found)


def _read(folder: Path, name: str, kind: str, source: str, rank: int) -> Piece:
    if kind == ABOVE and not _is_ours(folder / name):
        return Piece(name=RULES, source=source, rank=rank, refused="it is above the workspace and not yours")
    try:
        content = read_inside(folder, name, limit=RULES_LIMIT, links=True, cut=True)
    except ConfigError as error:
        return Piece(name=RULES, source=source, rank=rank, refused=error.message)
    return piece_of(content or b"", source, _HEADINGS[kind].format(source), rank=rank)


def piece_of(content: bytes, source: str, heading: str, *, rank: int = 0) -> Piece:
    """What a file of rules has to say, or why it is not taken."""
    if b"\0" in content:
        return Piece(name=RULES, source=source, rank=rank, refused="it is not text")
    text = visible(content[:RULES_LIMIT].decode(errors="replace").removeprefix("\ufeff"))
    if source.endswith(".mdc"):
        always, text = _cursor(text)
        if not always:
            return Piece(name=RULES, source=source, rank=rank, refused="it is for some files only")
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and all(line.lstrip().startswith("@") for line in lines):
        refused = "it only names other files, which are not followed"
        return Piece(name=RULES, source=source, rank=rank, refused=refused)
    longer = _TOO_LONG if len(content) > RULES_LIMIT else ""
    return Piece(name=RULES, source=source, heading=heading, rank=rank, text=text, longer=longer)


def _cursor(text: str) -> tuple[bool, str]:
    """Whether a rule with a head always applies, and the rule without its head."""
    if not text.startswith("---\n"):
        return True, text
    head, closed, body = text[4:].partition("\n---")
    always = any("".join(line.split()).lower() in _ALWAYS for line in head.splitlines())
    return (always, body.lstrip("-").lstrip()) if closed else (True, text)


def _is_there(folder: Path, name: str) -> bool:
    return os.path.lexists(os.path.join(folder, name))


def _is_ours(path: Path) -> bool:
    """Whether it belongs to us, and nobody else may change it."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return found.st_uid == os.getuid() and not found.st_mode & stat.S_IWOTH


def _device(path: Path) -> int:
    try:
        return os.stat(path).st_dev
    except OSError:
        return -1
