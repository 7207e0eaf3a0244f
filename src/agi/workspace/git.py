"""Ask git about a repository that may be hostile: its hooks, monitors, filters, aliases and pagers do not run.

A repository's own `.git/config` can name commands for git to start. Each way that is known is switched off on the
command line, which beats the file. Only for questions; changing a repository is for commands the user approved.
Whether the repository is this folder's own is asked of `repository`. May import: errors, workspace.
"""

from __future__ import annotations

import os

from msgspec import Struct

from agi.errors import NotFound, WorkspaceError
from agi.workspace.handle import Workspace
from agi.workspace.processes import Captured, capture, child_environment, find_program
from agi.workspace.repository import foreign, has_plain_settings, repository_root

OUTPUT_LIMIT = 1 << 20

_SAFE = (
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.pager=cat"),
    *("-c", "core.sshCommand=false"),
    *("-c", "core.askPass=false"),
    *("-c", "core.editor=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "credential.helper="),
    *("-c", "diff.external="),
    *("-c", "diff.submodule=short"),
    *("-c", "gpg.program=false"),
    *("-c", "gpg.ssh.program=false"),
    *("-c", "gpg.x509.program=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "protocol.ext.allow=never"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
    # These name files anywhere, and what is in them can show through.
    *("-c", "diff.orderFile=/dev/null"),
    *("-c", "mailmap.file=/dev/null"),
)
_QUIET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_LIST_SETTINGS = ("config", "--includes", "-z", "--name-only", "--get-regexp", r"^(filter\.|core\.worktree$)")
_MOST_FILTERS = 100


class GitResult(Struct, frozen=True, kw_only=True):
    """What git answered; `exit_code` is None or negative if it did not end by itself."""

    exit_code: int | None
    output: bytes
    errors: bytes
    truncated: bool = False
    timed_out: bool = False

    @property
    def stdout(self) -> str:
        """The output as text."""
        return self.output.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """What it complained about, as text."""
        return self.errors.decode(errors="replace")


async def git(
    workspace: Workspace, *args: str, timeout: float = 30.0, limit: int = OUTPUT_LIMIT, reads_files: bool = True
) -> GitResult:
    """Run one git command in the workspace's root, with everything switched off that could start another program.

    `reads_files` is False for a command that looks at no file's content, and so has no use for content filters.
    """
    root = repository_root(workspace.root)
    if root is not None and (why := foreign(root)):
        raise _unsafe(why)
    options: list[str] = []
    if reads_files or root is None or not has_plain_settings(root):
        options = await _checked_settings(workspace, timeout)
    answer = await _run(workspace, (*options, *args), timeout, limit)
    return GitResult(
        exit_code=answer.exit_code,
        output=answer.stdout,
        errors=answer.stderr,
        truncated=answer.truncated,
        timed_out=answer.timed_out,
    )


async def _checked_settings(workspace: Workspace, timeout: float) -> list[str]:
    """Look at what the repository configures; gives the options that switch off what has a name of its own."""
    listed = await _run(workspace, _LIST_SETTINGS, timeout, OUTPUT_LIMIT)
    if listed.truncated or listed.timed_out:
        raise _unsafe("its configuration is too large")
    settings = os.fsdecode(listed.stdout).split("\0")
    if "core.worktree" in settings:
        await _refuse_other_folder(workspace, timeout)
    return _without_filters(settings)


async def _refuse_other_folder(workspace: Workspace, timeout: float) -> None:
    """A configuration may say that its files are elsewhere, as a submodule's does; we show no other folder."""
    answer = await _run(workspace, ("rev-parse", "--show-toplevel"), timeout, OUTPUT_LIMIT)
    top = os.fsdecode(answer.stdout).removesuffix("\n")
    if not top.startswith("/") or not workspace.root.is_relative_to(top):
        raise _unsafe("it says that its files are in another folder")


def _without_filters(settings: list[str]) -> list[str]:
    """Options that empty every content filter the configuration names; git treats an empty command as none."""
    found = {key.removeprefix("filter.").rpartition(".")[0] for key in settings if key.startswith("filter.")}
    names = sorted(found - {""})
    if len(names) > _MOST_FILTERS or any("=" in name for name in names):
        # `-c` ends the name at the first `=`, so such a filter could not be switched off.
        raise _unsafe("it names filters that cannot be switched off")
    options: list[str] = []
    for name in names:
        for setting in ("clean=", "smudge=", "process=", "required=false"):
            options += ("-c", f"filter.{name}.{setting}")
    return options


def _unsafe(why: str) -> WorkspaceError:
    hint = "Look at .git/config; a command you approve may still use git."
    return WorkspaceError(f"git was not asked about this repository: {why}.", hint=hint, code="git_refused")


async def _run(workspace: Workspace, args: tuple[str, ...], timeout: float, limit: int) -> Captured:
    env = {**child_environment(os.environ, os.getpid()), **_QUIET}
    program = find_program("git", env["PATH"], str(workspace.root))
    if program is None:
        raise NotFound("git is not installed.", hint="Install git, or do without.", code="git_missing")
    with workspace.pinned() as cwd:
        return await capture([program, *_SAFE, *args], cwd=cwd, env=env, timeout_s=timeout, limit=limit)
