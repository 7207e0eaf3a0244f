"""The built-in tools as a model and the policy see them."""

import subprocess
import sys

import pytest

from agi.protocol.tools import ToolKind
from agi.tools.base import Registry
from agi.tools.builtin import builtin_tools

REGISTRY = Registry(builtin_tools())


def test_the_tools_have_the_names_kinds_and_arguments_that_were_agreed():
    """Names, aliases, kinds and arguments are a contract."""
    seen = {
        tool.name: (tool.kind, tool.aliases, list(tool.input_schema["properties"]), tool.input_schema["required"])
        for tool in REGISTRY.definitions()
    }

    assert seen == {
        "apply_patch": (ToolKind.WRITE, (), ["patch"], ["patch"]),
        "edit": (
            ToolKind.WRITE,
            (),
            ["path", "old_text", "new_text", "replace_all"],
            ["path", "old_text", "new_text"],
        ),
        "diagram": (ToolKind.EXEC, (), ["source", "format"], ["source", "format"]),
        "git_blame": (ToolKind.READ, (), ["path", "start_line", "end_line", "revision"], ["path"]),
        "git_diff": (ToolKind.READ, (), ["path", "revision", "to", "staged", "stat", "context"], []),
        "git_log": (ToolKind.READ, (), ["path", "revision", "query", "changed", "limit"], []),
        "git_show": (ToolKind.READ, (), ["revision", "path"], ["revision"]),
        "git_status": (ToolKind.READ, (), [], []),
        "job_list": (ToolKind.READ, (), [], []),
        "job_read": (ToolKind.READ, (), ["id", "since", "wait_for", "regex", "timeout_s"], ["id"]),
        "job_stop": (ToolKind.READ, (), ["id"], ["id"]),
        "read_file": (ToolKind.READ, ("fs.read",), ["path", "start_line", "end_line"], ["path"]),
        "recall": (
            ToolKind.READ,
            (),
            ["query", "id", "session_id", "kind", "path", "limit", "start_line", "end_line"],
            [],
        ),
        "repo_map": (ToolKind.READ, (), ["query", "max_tokens"], []),
        "repo_tree": (ToolKind.READ, (), ["path", "depth"], []),
        "search": (
            ToolKind.READ,
            (),
            ["query", "path", "glob", "regex", "context", "ignore_case", "files_only", "limit", "ignored", "about"],
            ["query"],
        ),
        "shell": (ToolKind.EXEC, ("shell.run",), ["command", "timeout_s", "cwd", "background"], ["command"]),
        "skill": (ToolKind.READ, (), ["name", "file", "query"], []),
        "todo": (ToolKind.READ, (), ["items"], ["items"]),
        "verify": (ToolKind.EXEC, (), [], []),
        "web_fetch": (ToolKind.NET, (), ["url", "raw"], ["url"]),
        "write_file": (ToolKind.WRITE, ("fs.write",), ["path", "content"], ["path", "content"]),
    }


@pytest.mark.parametrize("tool", REGISTRY.definitions(), ids=lambda tool: tool.name)
def test_every_schema_is_whole_and_every_argument_is_described(tool):
    """No references, no unknown fields, a description for each argument."""
    assert "$" not in str(tool.input_schema)
    assert tool.input_schema["additionalProperties"] is False
    assert all(argument["description"] for argument in tool.input_schema["properties"].values())
    assert tool.description


OUTSIDE = ["../outside.txt", "/etc/passwd", "link/outside.txt", "a/../../outside.txt", "~/x", "\0", "proj-evil/../../x"]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_a_path_that_leads_out_is_refused_by_every_tool_alike(desk, path):
    """There is one door; whichever tool knocks gets the same answer."""
    (desk.root.parent / "outside.txt").write_text("secret")
    (desk.root / "link").symlink_to("..")
    desk.write("inside.txt", "x\n")
    calls = [
        ("read_file", {"path": path}),
        ("write_file", {"path": path, "content": "x"}),
        ("edit", {"path": path, "old_text": "secret", "new_text": "x"}),
        ("repo_tree", {"path": path}),
        ("search", {"query": "s", "path": path}),
        ("shell", {"command": "cat outside.txt", "cwd": path}),
        ("apply_patch", {"patch": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"}),
        ("apply_patch", {"patch": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"}),
        ("apply_patch", {"patch": f"*** Begin Patch\n*** Update File: {path}\n*** Move to: m\n*** End Patch"}),
        ("apply_patch", {"patch": f"*** Begin Patch\n*** Update File: inside.txt\n*** Move to: {path}\n*** End Patch"}),
    ]

    for name, given in calls:
        result = await desk.use(name, **given)
        assert not result.ok, name
        assert "secret" not in result.error

    assert desk.tree() == {"inside.txt": b"x\n"}
    assert (desk.root.parent / "outside.txt").read_text() == "secret"


@pytest.mark.parametrize("name", [tool.name for tool in REGISTRY.definitions()])
async def test_an_unknown_argument_is_refused(desk, name):
    """A misspelled argument is told, not ignored."""
    result = await desk.use(name, nonsense=1)

    assert not result.ok
    assert "schema" in result.error


def test_importing_the_tools_runs_and_loads_little():
    """Heavy parts wait until a tool is used."""
    code = "import sys, agi.tools.builtin; print([m for m in ('ctypes', 'unicodedata', 'shutil') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout == "[]\n"
