"""Files that a repository keeps although its ignore rules name them: they count as any other.

git is asked when its index has changed, and what it said is remembered. May import: errors, workspace, checkpoints.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from agi.checkpoints.store import Store
from agi.errors import AgiError
from agi.workspace.git import git
from agi.workspace.handle import Workspace
from agi.workspace.repository import repository_root

MOST = 2000
_ASK = ("ls-files", "--cached", "--ignored", "--exclude-standard", "-z")


async def tracked_but_ignored(store: Store, workspace: Workspace) -> frozenset[str]:
    """The paths; none where there is no repository, or git cannot be asked about it."""
    stamp = _stamp(workspace.root)
    if not stamp:
        return frozenset()
    listed = await asyncio.to_thread(_remembered, store, workspace.root, stamp)
    if listed is None:
        try:
            answer = await git(workspace, *_ASK)
        except AgiError:
            return frozenset()
        listed = answer.stdout.encode() if answer.exit_code == 0 else b""
        await asyncio.to_thread(_remember, store, workspace.root, stamp, listed)
    return frozenset(os.fsdecode(path) for path in listed.split(b"\0")[:-1][:MOST])


def _remembered(store: Store, root: Path, stamp: str) -> bytes | None:
    with store.reading() as db:
        row = db.execute("SELECT tracked_at, tracked FROM workspaces WHERE root=?", (os.fsencode(root),)).fetchone()
    return row[1] if row is not None and row[0] == stamp else None


def _remember(store: Store, root: Path, stamp: str, listed: bytes) -> None:
    with store.writing(durable=False) as db:
        db.execute("INSERT OR IGNORE INTO workspaces (root) VALUES (?)", (os.fsencode(root),))
        db.execute("UPDATE workspaces SET tracked_at=?, tracked=? WHERE root=?", (stamp, listed, os.fsencode(root)))


def _stamp(root: Path) -> str:
    """What tells whether the index of the repository around a folder has changed; empty if there is none."""
    folder = repository_root(root)
    if folder is None:
        return ""
    found = folder / ".git"
    try:
        if found.is_file():  # a worktree or a submodule says where its repository is
            found = folder / found.read_text(errors="replace")[:4096].removeprefix("gitdir:").strip()
        info = (found / "index").stat()
    except (OSError, ValueError):
        return ""
    return f"{info.st_mtime_ns}:{info.st_size}:{info.st_ino}"
