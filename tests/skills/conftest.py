"""What the tests of skills share: a project, a user, and a way to write skills for both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agi.protocol.skills import SkillList
from agi.skills.loading import Memory, Skills
from agi.workspace.beneath import Opener, Place, best_opener
from agi.workspace.handle import Workspace


def skill_text(name: str, description: str = "Does a thing.", body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


class Desk:
    """A project and the settings of its user, with what is opened counted."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.root.mkdir()
        self.home.mkdir()
        self.opened: list[str] = []
        self.workspace = Workspace.open(self.root, opener=self._counting(best_opener()))
        self.memory = Memory()
        self.skills = Skills(self.workspace, self.home, memory=self.memory)

    def _counting(self, opener: Opener) -> Opener:
        def count(root: int, path: str, flags: int) -> Place:
            self.opened.append(path)
            return opener(root, path, flags)

        return count

    def write(self, path: str, content: str | bytes) -> Path:
        """Put a file into the project; `~` is the folder of the user's settings."""
        file = self.home / path[2:] if path.startswith("~/") else self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def add(
        self, name: str, description: str = "Does a thing.", *, at: str = ".agi/skills", body: str = "Do it."
    ) -> Path:
        """Write a skill."""
        return self.write(f"{at}/{name}/SKILL.md", skill_text(name, description, body))

    def all(self) -> SkillList:
        return self.skills.all()

    def names(self) -> list[str]:
        return [skill.name for skill in self.all().skills]

    def wrong(self) -> list[tuple[str, str, str]]:
        """Name, code and message of what does not count."""
        return [(problem.name, problem.code, problem.message) for problem in self.all().problems]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    fresh = Desk(tmp_path)
    yield fresh
    fresh.workspace.close()
