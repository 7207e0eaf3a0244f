"""Looking for tools runs nothing, follows no link, and is bounded; what is wrong with one does not hide the others."""

from __future__ import annotations

import os

import pytest

from agi.usertools import finding
from agi.usertools.base import Found, ToolProblem
from agi.usertools.finding import (
    LARGEST_SOURCES,
    LONGEST_PROMPT,
    MOST_ENTRIES,
    MOST_SOURCES,
    MOST_TOOLS,
    read_tool,
    tool_names,
)


def names_of(project, taken=()):
    names, problems = tool_names(project.root, taken)
    return names, {one.name: one.message for one in problems}


def test_a_folder_is_a_tool_and_a_plain_file_is_none(project):
    """A README beside tools, a cache or a hidden folder is left alone."""
    project.tool("size")
    project.tool("custom-tool")
    project.tool("__pycache__")
    project.tool(".hidden")
    (project.root / ".agi/tools/README.md").write_text("x")

    assert names_of(project) == (["custom-tool", "size"], {})


def test_without_a_folder_there_is_nothing(project):
    """And nothing is wrong."""
    assert names_of(project) == ([], {})
    (project.root / ".agi").write_text("a file")
    assert names_of(project) == ([], {})


@pytest.mark.threat("T34")
@pytest.mark.parametrize("name", ["read_file", "fs.read", "READ_FILE", "read-file", "shell", "shell-run", "Size"])
def test_no_tool_can_stand_in_for_another(project, name):
    """Neither under a name, nor an alias, nor one that looks like it."""
    project.tool("size")
    project.tool(name)
    names, problems = names_of(project, ("read_file", "fs.read", "shell", "shell.run", "size"))

    assert name not in names
    assert name in problems


@pytest.mark.parametrize("name", ["9lives", "a b", "ünder", "a" * 65, "-x", "semi;colon", "new\nline"])
def test_a_name_a_provider_would_refuse_is_told(project, name):
    """It would make every request of the session fail."""
    project.tool("size")
    project.tool(name)

    assert names_of(project)[0] == ["size"]
    assert len(names_of(project)[1]) == 1


def test_a_name_that_is_no_utf8_is_told(project):
    """And can be shown."""
    project.tool("size")
    os.mkdir(os.fsencode(project.root / ".agi/tools") + b"/\xff")

    names, problems = names_of(project)
    assert names == ["size"]
    assert [name.encode() for name in problems] == [b"\\udcff"]


def test_links_and_pipes_are_told_and_not_followed(project, tmp_path):
    """Whatever lies behind them is not covered by trust."""
    project.tool("size")
    tools = project.root / ".agi/tools"
    (tmp_path / "outside").mkdir()
    (tools / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(tools / "pipe")

    assert names_of(project) == (
        ["size"],
        {"out": "It is a symlink.", "pipe": "It is neither a folder nor a plain file."},
    )


@pytest.mark.parametrize("linked", [".agi", ".agi/tools"])
def test_a_linked_folder_is_not_entered(project, tmp_path, linked):
    """All of it could be elsewhere, and change without a trace."""
    project.tool("size")
    (project.root / linked).rename(tmp_path / "moved")
    (project.root / linked).symlink_to(tmp_path / "moved")

    names, problems = names_of(project)
    assert names == []
    assert "symlink" in next(iter(problems.values()))


def test_thousands_of_tools_are_bounded(project, monkeypatch):
    """Some are looked at, or none, and it is said."""
    tools = project.root / ".agi/tools"
    tools.mkdir(parents=True)
    for number in range(MOST_TOOLS + 1):
        (tools / f"t{number:03}").mkdir()
    names, problems = names_of(project)
    assert len(names) == MOST_TOOLS
    assert "only the first 64" in problems[".agi/tools"]

    for number in range(MOST_ENTRIES):
        (tools / f"u{number}").mkdir()
    names, problems = names_of(project)
    assert names == []
    assert "more than 1000" in problems[".agi/tools"]


def test_a_tool_is_read_with_the_files_beside_it(project):
    """All Python of its folder, but no cache and no data; the hash is of what was read."""
    folder = project.tool("size", "x = 1\n", "Measures.\n")
    (folder / "lib").mkdir()
    (folder / "lib/helper.py").write_text("y = 2\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/evil.py").write_text("z = 3\n")
    (folder / "data.json").write_text("{}")
    first = read_tool(project.root, "size")

    assert isinstance(first, Found)
    assert first.sources == {"tool.py": "x = 1\n", "lib/helper.py": "y = 2\n"}
    assert first.prompt == "Measures."
    (folder / "lib/helper.py").write_text("y = 3\n")
    assert read_tool(project.root, "size").digest != first.digest


def _no_code(folder):
    (folder / "tool.py").unlink()


def _linked_code(folder):
    _no_code(folder)
    (folder / "tool.py").symlink_to("/etc/hostname")


def _pipe(folder):
    _no_code(folder)
    os.mkfifo(folder / "tool.py")


def _folder_as_code(folder):
    _no_code(folder)
    (folder / "tool.py").mkdir()


def _latin(folder):
    (folder / "tool.py").write_bytes(b"x = '\xe4'\n")


def _large(folder):
    with open(folder / "big.py", "wb") as file:
        file.truncate(LARGEST_SOURCES + 1)


def _sparse(folder):
    with open(folder / "tool.py", "wb") as file:
        file.truncate(10 << 30)


def _many(folder):
    for number in range(MOST_SOURCES + 1):
        (folder / f"a{number}.py").touch()


def _deep(folder):
    folder.joinpath(*["a"] * (finding.DEEPEST + 2)).mkdir(parents=True)


def _linked_helper(folder):
    (folder / "helper.py").symlink_to("/etc/hostname")


def _empty_prompt(folder):
    (folder / "prompt.txt").write_text(" \n")


def _huge_prompt(folder):
    (folder / "prompt.txt").write_text("x" * (LONGEST_PROMPT + 1))


def _latin_prompt(folder):
    (folder / "prompt.txt").write_bytes(b"\xe4")


def _escape_prompt(folder):
    (folder / "prompt.txt").write_bytes(b"\x1b[2J")


def _pipe_prompt(folder):
    (folder / "prompt.txt").unlink()
    os.mkfifo(folder / "prompt.txt")


def _linked_prompt(folder):
    (folder / "prompt.txt").unlink()
    (folder / "prompt.txt").symlink_to("/etc/hostname")


BROKEN = [
    _no_code, _linked_code, _pipe, _folder_as_code, _latin, _large, _sparse, _many, _deep, _linked_helper,
    _empty_prompt, _huge_prompt, _latin_prompt, _escape_prompt, _pipe_prompt, _linked_prompt,
]  # fmt: skip


@pytest.mark.parametrize("spoil", BROKEN)
def test_what_cannot_be_read_is_told_at_once(project, spoil):
    """With a name, a reason and a way out."""
    spoil(project.tool("size"))
    found = read_tool(project.root, "size")

    assert isinstance(found, ToolProblem)
    assert found.name == "size"
    assert found.message
    assert found.hint
