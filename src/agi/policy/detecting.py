"""Which commands verify a project, told by the files in it: a Makefile's `test`, pytest, npm, cargo, go.

Pure: whoever asks brings the names in the folder, the text of files and the programs there are. The commands are fixed
texts; a project's files only choose among them. They run the project's code all the same, so whoever runs them asks
first where the project is not trusted. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import msgspec
from msgspec import Struct

from agi.protocol.policies import VerifyPolicy

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""
_DEFAULT = VerifyPolicy().commands
_NOTHING = ("", "")
_PLACEHOLDER = "no test specified"
_RUNNERS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("package.json", "npm"))
"""The file that tells which program runs a JavaScript project's scripts."""
_PYTEST_SECTIONS = (("pyproject.toml", "[tool.pytest"), ("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]"))
_ENVIRONMENTS = (".venv", "venv")


class Project(Protocol):
    """A folder as far as it is looked at."""

    def names(self, folder: str) -> Collection[str]:
        """What is in a folder; nothing if there is none."""

    def text(self, name: str) -> str:
        """A file's text, as far as a limit; empty if there is none."""

    def has_program(self, name: str) -> bool:
        """Whether a program is installed, outside the project."""


class Checks(Struct, frozen=True, kw_only=True):
    """The commands that verify a project, and where they come from."""

    commands: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    """The files that told; none where the commands are configured."""
    note: str = ""
    """Why there is none."""


class _Package(Struct):
    scripts: dict[str, object] = {}


def checks_for(commands: tuple[str, ...], project: Project) -> Checks:
    """The configured commands; where nobody configured any, those that were found."""
    if not commands:
        return Checks(note="No verification command is configured (verify.commands).")
    return detect(project) if commands == _DEFAULT else Checks(commands=commands)


def may_prove(commands: tuple[str, ...], line: str) -> bool:
    """Whether a line can be a verification command at all, before any file is looked at: all that are found test."""
    return line in commands or (commands == _DEFAULT and "test" in line)


def detect(project: Project) -> Checks:
    """Look for a Makefile with a target `test`; without one, for everything else that can test."""
    names = project.names(".")
    makefile = next((name for name in MAKEFILES if name in names), "")
    if makefile and has_target(project.text(makefile), "test"):
        return Checks(commands=("make test",), found=(makefile,))
    looks: tuple[Callable[[Project, Collection[str]], tuple[str, str]], ...] = (_pytest, _script, _cargo, _go)
    found = [one for look in looks if (one := look(project, names)) != _NOTHING]
    if not found:
        note = "There is nothing to verify with: no Makefile with a target `test`, and no tests that are known here."
        return Checks(note=f"{note} Name a command in `verify.commands`.")
    return Checks(commands=tuple(command for command, _ in found), found=tuple(file for _, file in found))


def has_target(makefile: str, target: str) -> bool:
    """Look for a rule; a recipe line, a comment and an assignment (`test := 1`, `test = a:b`) are none."""
    for line in makefile.splitlines():
        names, colon, rest = line.partition(":")
        is_rule = colon and "=" not in names and not rest.startswith(("=", ":="))
        if is_rule and not line.startswith(("\t", "#")) and target in names.split():
            return True
    return False


def _pytest(project: Project, names: Collection[str]) -> tuple[str, str]:
    told = _pytest_told_by(project, names)
    if not told:
        return _NOTHING
    for environment in _ENVIRONMENTS:
        if environment in names and {"python", "pytest"} <= set(project.names(f"{environment}/bin")):
            return f"{environment}/bin/python -m pytest -q", told
    return ("pytest -q", told) if project.has_program("pytest") else _NOTHING


def _pytest_told_by(project: Project, names: Collection[str]) -> str:
    """The file that shows that pytest tests this project."""
    for name in ("pytest.ini", "conftest.py"):
        if name in names:
            return name
    for name, heading in _PYTEST_SECTIONS:
        if name in names and heading in project.text(name):
            return name
    for folder in ("tests", "test"):
        if folder in names and any(_is_test(name) for name in project.names(folder)):
            return f"{folder}/"
    return next((name for name in sorted(names) if _is_test(name)), "")


def _is_test(name: str) -> bool:
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _script(project: Project, names: Collection[str]) -> tuple[str, str]:
    if "package.json" not in names:
        return _NOTHING
    try:
        script = msgspec.json.decode(project.text("package.json").encode(), type=_Package).scripts.get("test")
    except (msgspec.DecodeError, RecursionError):
        return _NOTHING
    if not isinstance(script, str) or not script.strip() or _PLACEHOLDER in script:
        return _NOTHING
    program = next(program for file, program in _RUNNERS if file in names)
    return (f"{program} test", "package.json") if project.has_program(program) else _NOTHING


def _cargo(project: Project, names: Collection[str]) -> tuple[str, str]:
    # Without the option cargo stops at the first crate that fails, and what fails behind it would look new later.
    is_one = "Cargo.toml" in names and project.has_program("cargo")
    return ("cargo test --no-fail-fast", "Cargo.toml") if is_one else _NOTHING


def _go(project: Project, names: Collection[str]) -> tuple[str, str]:
    return ("go test ./...", "go.mod") if "go.mod" in names and project.has_program("go") else _NOTHING
