"""The tools every agent can be given. May import: tools."""

from __future__ import annotations

from agi.tools.apply_patch import ApplyPatchTool
from agi.tools.base import Tool
from agi.tools.edit import EditTool
from agi.tools.git_status import GitStatusTool
from agi.tools.read_file import ReadFileTool
from agi.tools.repo_tree import RepoTreeTool
from agi.tools.search import SearchTool
from agi.tools.shell import ShellTool
from agi.tools.verify import VerifyTool
from agi.tools.write_file import WriteFileTool


def builtin_tools() -> tuple[Tool, ...]:
    """Make one of each."""
    return (
        ApplyPatchTool(),
        EditTool(),
        GitStatusTool(),
        ReadFileTool(),
        RepoTreeTool(),
        SearchTool(),
        ShellTool(),
        VerifyTool(),
        WriteFileTool(),
    )
