"""The skills of one workspace: listed, found by name, their text and files read when asked for.

A skill's files are read beneath its folder and nowhere else, whatever links say. Nothing is run; where a script of a
skill may run is the business of the tool that runs commands. May import: errors, protocol, workspace, skills.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from agi.errors import AgiError, Invalid, NotFound, TooLarge, WorkspaceError
from agi.protocol.skills import Skill, SkillList, SkillProblem
from agi.protocol.visible import visible
from agi.skills import frontmatter
from agi.skills.checking import LARGEST, SKILL_NAME, Told, decoded, one_line, skill_from
from agi.skills.finding import USER_FOLDER, Finder, Known, open_own
from agi.skills.scalars import Unreadable
from agi.workspace.handle import Entry, Workspace

LARGEST_FILE = 1 << 20
"""Bytes of a file of a skill that is shown."""
MOST_FILES = 100
DEEPEST = 6
MOST_WORKSPACES = 32
"""Of how many workspaces it is remembered what was read."""


class SkillFile(Struct, frozen=True):
    """A file of a skill, by its path from the skill's folder."""

    path: str
    size: int


class Loaded(Struct, frozen=True, kw_only=True):
    """A skill as it is used: what it says, and the files beside it."""

    skill: Skill
    body: str
    files: tuple[SkillFile, ...]
    more_files: bool = False
    """Whether there are more than are named."""


class Memory:
    """What was read of skills, by workspace; one for a process."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def look(self, workspace: Workspace, home_config: Path) -> SkillList:
        """List the skills; files that were read before and have not changed are not read again."""
        key = str(workspace.root)
        finder = Finder(self._known.get(key, {}))
        found = finder.look(workspace, home_config)
        self._known.pop(key, None)
        self._known[key] = finder.known
        for old in list(self._known)[:-MOST_WORKSPACES]:
            self._known.pop(old, None)
        return found


class Skills:
    """What one workspace and its user offer; every look is fresh. Blocks while it reads."""

    def __init__(
        self, workspace: Workspace, home_config: Path, *, memory: Memory | None = None, enabled: bool = True
    ) -> None:
        self._workspace = workspace
        self._home_config = home_config
        self._memory = memory or Memory()
        self._enabled = enabled

    def all(self) -> SkillList:
        """Every skill there is now, and what is wrong with others."""
        if not self._enabled:
            return SkillList(enabled=False)
        return self._memory.look(self._workspace, self._home_config)

    def find(self, name: str) -> Skill:
        """Look a skill up; raises NotFound with the nearest names, or with what is wrong with that one."""
        listed = self.all()
        if not listed.enabled:
            raise NotFound("Skills are switched off here.", hint="`skills.enabled` does it.", code="skills_off")
        for skill in listed.skills:
            if skill.name == name:
                return skill
        for problem in listed.problems:
            if problem.name == name:
                raise NotFound(
                    f"The skill {name!r} cannot be used. {problem.message}", hint=problem.hint, code="skill_not_found"
                )
        from difflib import get_close_matches  # late: needed only for a typing mistake

        near = get_close_matches(name, [skill.name for skill in listed.skills], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {len(listed.skills):,} skills."
        raise NotFound(f"There is no skill {name[:80]!r}.", hint=hint, code="skill_not_found")

    def load(self, name: str) -> Loaded:
        """Give a skill's text and name its files; raises AgiError if it cannot be read any more."""
        skill = self.find(name)
        with self._opened(skill) as place:
            file = place.workspace.read_bytes(place.at(SKILL_NAME), LARGEST)
            told = Told(folder=skill.name, path=skill.path, source=skill.source)
            now = skill_from(file.data, file.size, told)
            if not isinstance(now, Skill):
                raise Invalid(f"The skill {name!r} cannot be used. {now.message}", hint=now.hint)
            files, more = _files(place)
        try:
            body = frontmatter.split(_text(file.data, SKILL_NAME))[1]
        except Unreadable as problem:
            raise Invalid(str(problem), hint=problem.hint) from None
        return Loaded(skill=now, body=visible(body).strip("\n"), files=files, more_files=more)

    def read(self, name: str, file: str) -> str:
        """Give the text of one of a skill's files; raises AgiError if it is none, or not beneath the skill's folder."""
        skill = self.find(name)
        with self._opened(skill) as place:
            path = place.at(file)
            place.check(path, file)
            found = place.workspace.read_bytes(path, LARGEST_FILE)
        if found.truncated:
            message = f"{file!r} has {found.size:,} bytes; {LARGEST_FILE:,} at most are shown."
            raise TooLarge(message, hint=self._elsewhere(skill))
        return visible(_text(found.data, file))

    def _elsewhere(self, skill: Skill) -> str:
        return "Read it by lines with read_file, at its path in the project." if skill.source == "project" else ""

    @contextmanager
    def _opened(self, skill: Skill) -> Iterator[_Place]:
        if skill.source == "project":
            yield _Place(self._workspace, skill.path.rpartition("/")[0])
            return
        with open_own(self._home_config / USER_FOLDER / skill.name, self._home_config) as folder:
            yield _Place(folder, "")


class _Place(Struct, frozen=True):
    """The folder of a skill: a handle, and the path from there."""

    workspace: Workspace
    folder: str

    def at(self, file: str) -> str:
        """The path of a file of the skill; an absolute one is none of its files."""
        if file.startswith("/"):
            raise WorkspaceError(
                f"{file[:200]!r} is no file of the skill.", hint="Give its path from the skill's folder."
            )
        return f"{self.folder}/{file}" if self.folder else file

    def check(self, path: str, file: str) -> None:
        """Refuse what is not beneath the folder, by its spelling or through a link."""
        if not self.folder:
            return  # the handle itself ends there
        below = self.workspace.locate(self.folder) + "/"
        spelled_inside = self.workspace.relative(path).startswith(self.folder + "/")
        if not spelled_inside or not self.workspace.locate(path).startswith(below):
            message = f"{file[:200]!r} leads out of the skill's folder."
            raise WorkspaceError(message, hint="Give a path beneath it, or use read_file.")


def _text(data: bytes, name: str) -> str:
    try:
        return decoded(data)
    except ValueError as error:
        raise Invalid(f"{name!r} is no text: {error}.", hint="Only text is shown.", code="not_text") from None


def _files(place: _Place) -> tuple[tuple[SkillFile, ...], bool]:
    """The files beside SKILL.md, nearest first; folders of caches and hidden ones are left out."""
    try:
        listing = place.workspace.walk(place.folder or ".", depth=DEEPEST, limit=10 * MOST_FILES)
    except AgiError:
        return (), False
    start = len(place.folder) + 1 if place.folder else 0
    files = [
        SkillFile(one_line(entry.name[start:]), entry.size)
        for entry in listing.entries
        if _is_shown(entry, entry.name[start:])
    ]
    return tuple(files[:MOST_FILES]), listing.truncated or len(files) > MOST_FILES


def _is_shown(entry: Entry, path: str) -> bool:
    return entry.kind == "file" and path != SKILL_NAME and not any(name.startswith(".") for name in path.split("/"))


def check_folder(folder: Path) -> Skill | SkillProblem:
    """Give the skill in a folder, wherever it is, or what is wrong with it; raises AgiError if there is none."""
    with Workspace.open(folder) as opened:
        file = opened.read_bytes(SKILL_NAME, LARGEST)
        told = Told(folder=opened.root.name, path=str(opened.root / SKILL_NAME), source="user")
    return skill_from(file.data, file.size, told)
