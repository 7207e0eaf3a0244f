"""Look for skills in the folders that may hold them; runs nothing, reads only the beginning of each SKILL.md.

What a project holds is read through its workspace, so no link leads out; a folder of the user's own may link where the
user likes. What was read is remembered by the stamp of the file. May import: errors, protocol, workspace, skills.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from agi.errors import AgiError, WorkspaceError
from agi.protocol.skills import Skill, SkillList, SkillProblem, SkillSource, SkillTrouble
from agi.skills.checking import HEAD, SKILL_NAME, Told, one_line, skill_from
from agi.workspace.handle import Entry, Listing, ReadFile, Workspace

PROJECT_FOLDERS = (".agi/skills", ".agents/skills", ".claude/skills")
"""Where a project keeps skills; of two with one name, that of the first folder counts."""
USER_FOLDER = "skills"
"""Where the user does, in the folder of the user's settings; these come last."""
MOST_ENTRIES = 5_000
"""How many entries of one folder are looked at."""
SETTLED_NS = 50_000_000
"""A file that changed this recently may change again without its stamp showing it."""

Found = Skill | SkillProblem
Stamp = tuple[int, int, int, int]
Known = dict[str, tuple[Stamp, Found]]
"""What was read of each SKILL.md, by its path."""


class _Shelf(Struct, frozen=True, kw_only=True):
    """One folder of skills."""

    source: SkillSource
    shown: str
    """How it is named in lists."""
    real: str
    """Where it really is, by which a skill that is met twice is known again; good for stamps, never for reading."""
    listing: Listing
    locate: Callable[[str], str]
    """Where the folder of a skill really is, from `/`."""
    read: Callable[[str], ReadFile]
    """The beginning of a skill's SKILL.md, by the name of its folder."""


class Finder:
    """Looks once at a workspace and the user's folder; `known` is what an earlier look has read."""

    def __init__(self, known: Known) -> None:
        self._before = known
        self.known: Known = {}
        """What is known now, for the next look."""
        self._skills: dict[str, Skill] = {}
        self._places: set[str] = set()
        self._problems: list[SkillProblem] = []

    def look(self, workspace: Workspace, home_config: Path) -> SkillList:
        """Every skill, sorted by name, and what is wrong with others."""
        for folder in PROJECT_FOLDERS:
            self._look_into(folder, lambda folder=folder: _in_project(workspace, folder))  # type: ignore[misc]
        self._look_into(str(home_config / USER_FOLDER), lambda: _of_user(home_config))
        skills = tuple(self._skills[name] for name in sorted(self._skills))
        return SkillList(skills=skills, problems=tuple(self._problems))

    def _look_into(self, path: str, shelf_of: Callable[[], _Shelf]) -> None:
        """Take what a folder holds; one that is not there holds nothing, what is wrong with one is told."""
        shown = one_line(path)
        try:
            shelf = shelf_of()
        except AgiError as error:
            if error.code not in ("file_not_found", "workspace_missing"):
                self._tell(shown, "unreadable", one_line(error.message), error.hint)
            return
        for entry in shelf.listing.entries:
            if entry.kind in ("directory", "symlink") and not entry.name.startswith((".", "_")):
                self._take(shelf, entry)
        if shelf.listing.truncated:
            message = f"{shown} holds more than {MOST_ENTRIES:,} entries; the others are not looked at."
            self._tell(shown, "too_many", message, "Remove some.")

    def _tell(self, folder: str, code: SkillTrouble, message: str, hint: str) -> None:
        self._problems.append(SkillProblem(name=folder, path=folder, code=code, message=message, hint=hint))

    def _take(self, shelf: _Shelf, entry: Entry) -> None:
        told = Told(folder=entry.name, path=one_line(f"{shelf.shown}/{entry.name}/{SKILL_NAME}"), source=shelf.source)
        try:
            place = shelf.locate(entry.name) if entry.kind == "symlink" else f"{shelf.real}/{entry.name}"
            if place in self._places:
                return  # met already, by another way
            self._places.add(place)
            found = self._read(shelf, entry.name, told)
        except AgiError as error:
            if entry.kind == "symlink" and error.code == "not_a_directory":
                return  # a link to a file, not to a folder
            found = _unreadable(error, told)
        except OSError as error:
            found = told.problem("unreadable", f"It cannot be read: {error.strerror}.")
        if isinstance(found, Skill):
            self._add(found)
        else:
            self._problems.append(found)

    def _read(self, shelf: _Shelf, name: str, told: Told) -> Found:
        """Read a skill, unless its file is the one that was read before."""
        stamp = _stamp(f"{shelf.real}/{name}/{SKILL_NAME}")
        kept = self._before.get(told.path) if stamp is not None else None
        if kept is not None and kept[0] == stamp:
            found = kept[1]
        else:
            file = shelf.read(name)
            found = skill_from(file.data, file.size, told)
        if stamp is not None and time.time_ns() - stamp[3] > SETTLED_NS:
            self.known[told.path] = (stamp, found)
        return found

    def _add(self, skill: Skill) -> None:
        first = self._skills.setdefault(skill.name, skill)
        if first is skill:
            return
        problem = SkillProblem(
            name=skill.name,
            path=skill.path,
            code="shadowed",
            message=f"Another skill of this name counts: {first.path}.",
            hint="Rename one of them, or remove it.",
        )
        self._problems.append(problem)


def open_own(folder: Path, home_config: Path) -> Workspace:
    """Hold a folder of the user's open; it may be a link, but not one to the user's settings, which hold keys."""
    opened = Workspace.open(folder)
    if home_config.resolve().is_relative_to(opened.root):
        opened.close()
        raise WorkspaceError("It leads to the folder of your settings.", hint="Put a folder of its own there.")
    return opened


def _in_project(workspace: Workspace, folder: str) -> _Shelf:
    def locate(path: str) -> str:
        return f"{workspace.root}/{workspace.locate(path)}"

    listing = workspace.list_dir(folder, MOST_ENTRIES)
    return _Shelf(
        source="project",
        shown=folder,
        real=locate(folder),
        listing=listing,
        locate=lambda name: locate(f"{folder}/{name}"),
        read=lambda name: workspace.read_bytes(f"{folder}/{name}/{SKILL_NAME}", HEAD),
    )


def _of_user(home_config: Path) -> _Shelf:
    folder = home_config / USER_FOLDER

    def read(name: str) -> ReadFile:
        with open_own(folder / name, home_config) as one:
            return one.read_bytes(SKILL_NAME, HEAD)

    with Workspace.open(folder) as opened:
        return _Shelf(
            source="user",
            shown=str(folder),
            real=str(opened.root),
            listing=opened.list_dir(".", MOST_ENTRIES),
            locate=lambda name: os.path.realpath(folder / name),
            read=read,
        )


def _unreadable(error: AgiError, told: Told) -> SkillProblem:
    if error.code == "file_not_found":
        return told.problem("invalid", f"It has no {SKILL_NAME}.", "Write one, or remove the folder.")
    return told.problem("unreadable", one_line(error.message), error.hint)


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
