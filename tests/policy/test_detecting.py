"""Which commands verify a project is told by its files, if nobody says it."""

from __future__ import annotations

import json

import pytest

from agi.policy.detecting import Checks, checks_for, has_target, may_prove
from agi.protocol.policies import VerifyPolicy

DEFAULT = VerifyPolicy().commands
PROGRAMS = ("pytest", "npm", "pnpm", "yarn", "cargo", "go")


class Files:
    """A project in memory: paths with their text."""

    def __init__(self, files: dict[str, str], programs: tuple[str, ...] = PROGRAMS) -> None:
        self.files = files
        self.programs = programs

    def names(self, folder: str) -> set[str]:
        start = "" if folder == "." else f"{folder}/"
        return {path.removeprefix(start).partition("/")[0] for path in self.files if path.startswith(start)}

    def text(self, name: str) -> str:
        return self.files.get(name, "")

    def has_program(self, name: str) -> bool:
        return name in self.programs


def script(test: object) -> str:
    return json.dumps({"name": "x", "scripts": {"test": test}})


FOUND = {
    "a Makefile": ({"Makefile": "test:\n\ttrue\n", "pytest.ini": ""}, ("make test",), ("Makefile",)),
    "the Makefile that make reads": ({"GNUmakefile": "test:\n", "Makefile": ""}, ("make test",), ("GNUmakefile",)),
    "a Makefile without a test": ({"Makefile": "all:\n", "pytest.ini": ""}, ("pytest -q",), ("pytest.ini",)),
    "a section": ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ("pytest -q",), ("pyproject.toml",)),
    "an environment": (
        {"conftest.py": "", ".venv/bin/python": "", ".venv/bin/pytest": ""},
        (".venv/bin/python -m pytest -q",),
        ("conftest.py",),
    ),
    "an environment without pytest": ({"conftest.py": "", ".venv/bin/python": ""}, ("pytest -q",), ("conftest.py",)),
    "tests": ({"tests/test_a.py": ""}, ("pytest -q",), ("tests/",)),
    "a test beside the code": ({"a.py": "", "a_test.py": ""}, ("pytest -q",), ("a_test.py",)),
    "a script": ({"package.json": script("jest")}, ("npm test",), ("package.json",)),
    "a script run by pnpm": (
        {"package.json": script("vitest"), "pnpm-lock.yaml": ""},
        ("pnpm test",),
        ("package.json",),
    ),
    "a crate": ({"Cargo.toml": ""}, ("cargo test --no-fail-fast",), ("Cargo.toml",)),
    "a module": ({"go.mod": ""}, ("go test ./...",), ("go.mod",)),
    "two of them": (
        {"package.json": script("jest"), "tests/test_a.py": ""},
        ("pytest -q", "npm test"),
        ("tests/", "package.json"),
    ),
}


@pytest.mark.parametrize(("files", "commands", "told_by"), FOUND.values(), ids=FOUND)
def test_a_projects_files_tell_how_it_is_tested(files, commands, told_by):
    """The commands are fixed texts, and it is said which file chose them."""
    assert checks_for(DEFAULT, Files(files)) == Checks(commands=commands, found=told_by)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"package.json": script('echo "Error: no test specified" && exit 1')},
        {"package.json": script("")},
        {"package.json": script(["jest"])},
        {"package.json": "{not json"},
        {"package.json": '{"scripts": 7}'},
        {"package.json": '{"scripts":' * 100_000},
        {"tests/readme.txt": "", "pyproject.toml": "[project]\n"},
    ],
    ids=range(8),
)
def test_where_nothing_tells_that_is_said(files):
    """Rather than a command that can only fail."""
    found = checks_for(DEFAULT, Files(files))

    assert found.commands == ()
    assert "verify.commands" in found.note


@pytest.mark.parametrize("name", ["conftest.py", "Cargo.toml", "go.mod"])
def test_a_program_that_is_not_installed_verifies_nothing(name):
    """Its command would only fail."""
    assert checks_for(DEFAULT, Files({name: ""}, programs=())).commands == ()


def test_configured_commands_are_the_commands():
    """Nothing is looked for; and none at all is a choice too."""
    assert checks_for(("make check",), Files({"pytest.ini": ""})) == Checks(commands=("make check",))
    assert checks_for((), Files({"pytest.ini": ""})).commands == ()


@pytest.mark.parametrize(
    ("makefile", "has"),
    [
        ("test:\n", True),
        ("lint test: deps\n", True),
        ("test::\n", True),
        (".PHONY: test\n", False),
        ("tests:\n", False),
        ("test := 1\n", False),
        ("test ::= 1\n", False),
        ("test = a:b\n", False),
        ("\ttest: x\n", False),
        ("# test: x\n", False),
        ("", False),
    ],
)
def test_a_target_is_a_rule(makefile, has):
    """Not an assignment, a recipe or a comment."""
    assert has_target(makefile, "test") is has


@pytest.mark.parametrize("case", FOUND)
def test_every_command_that_is_found_is_known_as_one_before_files_are_looked_at(case):
    """What a line cannot be is told by the line alone; what it may be is looked up."""
    files, commands, _ = FOUND[case]

    assert all(may_prove(DEFAULT, command) for command in commands)
    assert checks_for(DEFAULT, Files(files)).commands == commands


def test_of_configured_commands_only_these_may_prove_something():
    """Whatever they are called."""
    assert may_prove(("./check",), "./check")
    assert not may_prove(("./check",), "pytest -q")
    assert not may_prove(DEFAULT, "true")
