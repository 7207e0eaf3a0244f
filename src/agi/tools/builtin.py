"""The tools every agent can be given. May import: tools."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agi.tools.apply_patch import ApplyPatchTool
from agi.tools.base import Tool
from agi.tools.diagram import DiagramTool
from agi.tools.edit import EditTool
from agi.tools.git_blame import GitBlameTool
from agi.tools.git_diff import GitDiffTool
from agi.tools.git_log import GitLogTool
from agi.tools.git_show import GitShowTool
from agi.tools.git_status import GitStatusTool
from agi.tools.job_list import JobListTool
from agi.tools.job_read import JobReadTool
from agi.tools.job_stop import JobStopTool
from agi.tools.read_file import ReadFileTool
from agi.tools.recall import RecallTool
from agi.tools.repo_map import RepoMapTool
from agi.tools.repo_tree import RepoTreeTool
from agi.tools.search import SearchTool
from agi.tools.shell import ShellTool
from agi.tools.skill import SkillTool
from agi.tools.todo import TodoTool
from agi.tools.verify import VerifyTool
from agi.tools.web_fetch import WebFetchTool
from agi.tools.write_file import WriteFileTool

_NOTHING: Mapping[str, str] = MappingProxyType({})


def builtin_tools(env: Mapping[str, str] = _NOTHING) -> tuple[Tool, ...]:
    """Make one of each; `env` is the user's, by which a page is fetched through a proxy."""
    return (
        ApplyPatchTool(),
        DiagramTool(),
        EditTool(),
        GitBlameTool(),
        GitDiffTool(),
        GitLogTool(),
        GitShowTool(),
        GitStatusTool(),
        JobListTool(),
        JobReadTool(),
        JobStopTool(),
        ReadFileTool(),
        RecallTool(),
        RepoMapTool(),
        RepoTreeTool(),
        SearchTool(),
        ShellTool(),
        SkillTool(),
        TodoTool(),
        VerifyTool(),
        WebFetchTool(env),
        WriteFileTool(),
    )
