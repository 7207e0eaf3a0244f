"""The tutorial is true: its page is typed into real shells, block by block, and shows what comes out."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.transcripts import Shell, blocks, environment

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
FIRST = "# first terminal"
PORT = "8787"


class Desk:
    """The terminals of somebody who follows the page, in a home with nothing in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self._root = root
        self._env = environment(self.home, root / "bin")
        self._shells: dict[str, Shell] = {}
        self._port = PORT

    def follow(self, language: str, block: str) -> None:
        """Do what a block says: in the terminal that its first line names, else in the first."""
        block = block.replace(PORT, self._port)
        if language == "sh":
            script = self._root / "block.sh"
            script.write_text(block)
            return self._at(FIRST).runs(script)
        name = block.splitlines()[0] if block.startswith("# ") else FIRST
        text = block.removeprefix(f"{name}\n")
        if "agi serve" not in text:
            return self._at(name).plays(text)
        # The page has the port that people get; here any free one will do.
        self._at(name).plays(text.replace("agi serve", "agi serve --port 0").replace(PORT, "…"))
        self._port = re.findall(r"^http://127\.0\.0\.1:(\d+)$", self._at(name).screen, re.MULTILINE)[0]

    def ends(self) -> None:
        """Every terminal is back at its prompt, and showed nothing more."""
        for shell in self._shells.values():
            shell.ends()

    def close(self) -> None:
        for shell in self._shells.values():
            shell.close()

    def _at(self, name: str) -> Shell:
        if name not in self._shells:
            self._shells[name] = Shell(self._env, self.home)
        return self._shells[name]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def installing() -> tuple[str, list[tuple[str, str]]]:
    """The block that installs, and those that are followed after it."""
    (_, first), *rest = blocks(PAGE)
    return first, rest


def test_installing_names_a_verb_that_makes_what_is_activated() -> None:
    """The suite runs in what `make install` made, so it is not run again: it exists, and makes `.venv`."""
    commands = [line.partition("#")[0].split() for line in installing()[0].splitlines()]
    assert commands == [["make", "install"], ["source", ".venv/bin/activate"]]

    planned = subprocess.run(
        ["make", "--dry-run", "--always-make", *commands[0][1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert planned.returncode == 0, planned.stderr
    assert "-m venv .venv" in planned.stdout


@pytest.mark.skipif(not shutil.which("curl"), reason="the tutorial talks to the daemon with curl, which is not here")
def test_every_step_of_the_tutorial_does_what_the_page_shows(desk: Desk) -> None:
    """From an empty home: asked, changed, approved, taken back, limited, checked, served, followed, forked."""
    followed = installing()[1]
    assert len(followed) >= 12

    for language, block in followed:
        desk.follow(language, block)
    desk.ends()

    assert (desk.home / "larder" / "shopping.txt").read_text() == "eggs\n"
    assert "prynt" not in (desk.home / "larder" / "larder.py").read_text()
