"""Find where a change of a path would land: a folder held open, a name in it, and what stands there now.

A link at the end of the path is followed to the file it names, so that the file is replaced and the link stays.
Writing is replace's business. May import: errors, workspace.beneath, workspace.paths.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from agi.errors import WorkspaceError
from agi.workspace.beneath import LOOK, LOOK_FOLDER, Place

OpenPlace = Callable[[str, int], Place]
"""Opens a relative path beneath the root with these flags."""


class Target(NamedTuple):
    """Where a change lands. `folder` is an open descriptor; `missing` names folders to be made in it first."""

    folder: int
    missing: tuple[str, ...]
    name: str
    location: str
    before: os.stat_result | None


def find_target(open_place: OpenPlace, parts: Sequence[str], *, follow: bool) -> Target:
    """Look a path up without changing anything; the caller closes `folder`."""
    place, missing = _deepest_folder(open_place, parts[:-1])
    name = parts[-1]
    try:
        before = None if missing else _status(place.fd, name)
        if follow and before is not None and stat.S_ISLNK(before.st_mode):
            end = _end_of_link(open_place, "/".join(parts))
            os.close(place.fd)
            return find_target(open_place, end.split("/"), follow=False)
    except BaseException:
        os.close(place.fd)
        raise
    location = "/".join(filter(None, (place.location, *missing, name)))
    return Target(place.fd, missing, name, location, before)


def make_folders(target: Target, made: list[tuple[int, str]] | None = None) -> Target:
    """Make the folders that are missing above a target; the answer has a descriptor of its own to be closed.

    What was made is added to `made`, each with an open descriptor of the folder it is in.
    """
    folder = os.dup(target.folder)
    for name in target.missing:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
                if made is not None:
                    made.append((os.dup(folder), name))
            below = os.open(name, LOOK_FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return target._replace(folder=folder, missing=())


def remove_folders(made: Sequence[tuple[int, str]]) -> None:
    """Take away the folders that were made, as far as they are still empty."""
    for folder, name in reversed(made):
        with suppress(OSError):
            os.rmdir(name, dir_fd=folder)


def close_folders(made: Sequence[tuple[int, str]]) -> None:
    """Let go of what `make_folders` held open."""
    for folder, _ in made:
        os.close(folder)


def _deepest_folder(open_place: OpenPlace, parts: Sequence[str]) -> tuple[Place, tuple[str, ...]]:
    """Open the folder, or the nearest one above it that exists, and name the rest."""
    for count in range(len(parts), 0, -1):
        with suppress(FileNotFoundError):
            return open_place("/".join(parts[:count]), LOOK_FOLDER), tuple(parts[count:])
    return open_place(".", LOOK_FOLDER), tuple(parts)


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _end_of_link(open_place: OpenPlace, path: str) -> str:
    try:
        place = open_place(path, LOOK)
    except FileNotFoundError:
        message = f"{path!r} is a link to a file that does not exist."
        raise WorkspaceError(message, hint="Name the file itself, or remove the link first.") from None
    os.close(place.fd)
    return place.location
