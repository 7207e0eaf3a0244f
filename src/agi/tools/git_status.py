"""git_status: the branch, and which files changed. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.schema import input_schema, read_input
from agi.workspace.git import git

MOST_FILES = 500

_ARGS = (
    *("-c", "core.quotePath=false", "-c", "status.relativePaths=true"),
    *("status", "--porcelain=v2", "--branch", "--ignore-submodules=all", "--untracked-files=normal", "--", "."),
)
_FIELDS_BEFORE_PATH = {"1": 8, "2": 9, "u": 10}


class GitStatusInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to choose."""


class Status(Struct, frozen=True):
    """A repository's state: its branch, and the changed files with git's two letters for each."""

    branch: str
    ahead: int
    behind: int
    files: tuple[tuple[str, str], ...]


class GitStatusTool:
    """Shows what changed since the last commit."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="git_status",
            description="Show the git branch and the changed, staged and untracked files of the workspace.",
            input_schema=input_schema(GitStatusInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Ask git, in a way that runs nothing of the repository's."""
        read_input(call, GitStatusInput)
        answer = await git(context.workspace, *_ARGS)
        if answer.timed_out:
            return failed(call, "git did not answer in time.")
        if answer.exit_code != 0 and not answer.truncated:
            return failed(call, f"git status failed: {answer.stderr.strip()[:2000]}")
        status = parse_status(answer.stdout)
        return ToolResult(
            id=call.id,
            ok=True,
            parts=(Text(text=_shown(status, cut=answer.truncated)),),
            result={
                "branch": status.branch,
                "clean": not status.files,
                "files": [{"path": path, "status": letters} for letters, path in status.files[:MOST_FILES]],
            },
        )


def parse_status(text: str) -> Status:
    """Read what `git status --porcelain=v2 --branch` writes."""
    branch, ahead, behind = "", 0, 0
    files: list[tuple[str, str]] = []
    for line in text.split("\n"):
        kind, _, rest = line.partition(" ")
        if line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line.startswith("# branch.ab "):
            plus, minus = line.removeprefix("# branch.ab ").split(" ")
            ahead, behind = abs(int(plus)), abs(int(minus))
        elif kind == "?":
            files.append(("??", rest))
        elif kind in _FIELDS_BEFORE_PATH:
            fields = line.split(" ", _FIELDS_BEFORE_PATH[kind])
            files.append((fields[1].replace(".", " "), fields[-1].partition("\t")[0]))
    return Status(branch, ahead, behind, tuple(files))


def _shown(status: Status, *, cut: bool) -> str:
    lines = [f"branch {status.branch}"]
    if status.ahead or status.behind:
        lines[0] += f" (ahead {status.ahead}, behind {status.behind})"
    lines += [f"{letters} {path}" for letters, path in status.files[:MOST_FILES]]
    if not status.files:
        lines.append("nothing changed")
    if cut or len(status.files) > MOST_FILES:
        lines.append(f"[only the first {MOST_FILES} files are shown]")
    return "\n".join(lines)
