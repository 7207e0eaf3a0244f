"""Where workers change files: each in a folder of its own, a git worktree where there is a repository.

The folder begins as the parent's files are at that moment, also what is not committed. It lies in the user's cache, and
goes when its changes are merged or its session is deleted. May import: errors, protocol, workspace.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from agi.errors import AgiError, WorkspaceError
from agi.protocol.workers import Isolation, KeptApart
from agi.workspace.repository import repository_root

if TYPE_CHECKING:
    from agi.workspace.copying import Held
    from agi.workspace.git import GitResult
    from agi.workspace.handle import Workspace

FILES = "files"
BASE = "base.json"
KEPT = "kept"


class Apart:
    """The folders of one harness's workers."""

    def __init__(self, data: Path, home_config: Path, env: Mapping[str, str]) -> None:
        self.root = workers_folder(home_config, env) / sha256(os.fsencode(data)).hexdigest()[:16]
        self.kept = self.root / KEPT
        self.lent: dict[str, str] = {}
        """The project of workers that are about to begin, and not in the log yet."""

    def files(self, session_id: str) -> Path:
        """The folder a worker works in."""
        return self.root / session_id / FILES

    def is_there(self, session_id: str) -> bool:
        """Whether a worker has its folder."""
        return self.files(session_id).is_dir()

    def session_of(self, path: str) -> str | None:
        """The worker whose folder a path is; None for any other path."""
        head, _, name = os.path.dirname(path).rpartition(os.sep)
        return name if head == str(self.root) and os.path.basename(path) == FILES else None

    async def make(self, session_id: str, workspace: Workspace, how: Isolation) -> KeptApart:
        """Begin a folder with the files of a workspace; says how it is kept apart."""
        from agi.workspace.copying import copy_files, write_base  # late: most runs have no workers

        await self.remove(session_id, workspace)
        place = self.files(session_id)
        place.parent.mkdir(parents=True, mode=0o700)
        try:
            in_git = how != "folder" and await self._add_worktree(workspace, place, must=how == "worktree")
            place.mkdir(exist_ok=True)
            base = await asyncio.to_thread(copy_files, workspace, place, self.kept)
            await asyncio.to_thread(write_base, place.parent / BASE, base)
        except BaseException:
            await self.remove(session_id, workspace)
            raise
        return "worktree" if in_git else "folder"

    async def remove(self, session_id: str, workspace: Workspace | None) -> None:
        """Let a folder go; harmless if it is gone. Without a workspace, git forgets the worktree by itself in time."""
        place = self.files(session_id)
        if not place.parent.exists():
            return
        import shutil  # late, as above

        if workspace is not None and (place / ".git").is_file():
            from agi.workspace.git import git

            try:
                await git(workspace, "worktree", "remove", "--force", "--force", str(place), reads_files=False)
            except AgiError:
                pass  # the folder goes all the same
        await asyncio.to_thread(shutil.rmtree, place.parent, ignore_errors=True)

    def sweep(self, is_known: Callable[[str], bool]) -> list[str]:
        """The folders of workers that are not known any more; contents that nobody needs go at once."""
        if not self.root.is_dir():
            return []
        names = [entry.name for entry in self.root.iterdir() if entry.name != KEPT]
        if not names:
            import shutil  # late, as above

            shutil.rmtree(self.root, ignore_errors=True)
        return [name for name in names if not is_known(name)]

    def base(self, session_id: str) -> dict[str, Held]:
        """What a worker's files held in the beginning."""
        from agi.workspace.copying import read_base  # late, as above

        try:
            return read_base(self.root / session_id / BASE)
        except (OSError, ValueError) as error:
            hint = "Give the work to another worker."
            raise WorkspaceError(f"The worker's folder is gone: {error}.", hint=hint, code="worker_gone") from error

    def rebase(self, session_id: str, changed: Mapping[str, bytes | None]) -> None:
        """Have paths begin from other contents, as if the worker had begun later; None for nothing."""
        from agi.workspace.copying import Held, keep, write_base  # late, as above

        base = self.base(session_id)
        for path, data in changed.items():
            if data is None:
                base.pop(path, None)
            else:
                base[path] = Held(keep(self.kept, data), base[path].runs if path in base else False)
        write_base(self.root / session_id / BASE, base)

    async def _add_worktree(self, workspace: Workspace, place: Path, *, must: bool) -> bool:
        """Make the folder a worktree, if the workspace is the root of a repository with a commit."""
        from agi.workspace.git import git  # late, as above
        from agi.workspace.handle import Workspace

        why = "it is not the root of a repository"
        if repository_root(workspace.root) == workspace.root:
            try:
                # Without a checkout: the files are copied, so none of the repository's filters is needed.
                added = ("worktree", "add", "--quiet", "--detach", "--no-checkout", str(place), "HEAD")
                why = _problem(await git(workspace, *added, reads_files=False))
                if not why:
                    with Workspace.open(place) as fresh:
                        why = _problem(await git(fresh, "read-tree", "HEAD", reads_files=False))
            except AgiError as error:
                why = error.message
        if why and must:
            raise WorkspaceError(
                f"There can be no git worktree of {str(workspace.root)!r}: {why}",
                code="no_worktree",
                hint="Set workers.isolate to `auto` or `folder`.",
            )
        return not why


def workers_folder(home_config: Path, env: Mapping[str, str]) -> Path:
    """Where all folders of workers are: in the user's cache, or beside the user's settings if there is no home."""
    base = env.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = env.get("HOME", "")
        base = f"{home}/.cache" if os.path.isabs(home) else ""
    place = Path(base) / "agi" / "workers" if base else home_config.parent / f"{home_config.name}-workers"
    return place.absolute()


def _problem(answer: GitResult) -> str:
    if answer.exit_code == 0:
        return ""
    return answer.stderr.strip()[:500] or "git failed"
