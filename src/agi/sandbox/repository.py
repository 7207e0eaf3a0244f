"""A repository in a sandbox: git can commit, and nothing can be left there that runs when its user next calls git.

What makes git start a program are its hooks and its settings. They are read-only, and so are the ways to name others in
their place: the folder itself is a mount, which cannot be renamed, and `commondir`, a file that would lead git to other
settings, is taken. May import: sandbox.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from agi.sandbox.mounts import Mounts
from agi.sandbox.stepping import beginning

_LONGEST_READ = 64 * 1024
_NO_OTHER_FOLDER = b".\n"
"""What `commondir` says in a repository that shares nothing: look here."""

_STEERING = ("config", "config.worktree", "hooks", "commondir")
"""What tells git which programs to start."""

_HELD: tuple[tuple[str, bytes | None], ...] = (
    ("hooks", None),
    ("commondir", _NO_OTHER_FOLDER),
    ("config.worktree", b""),
)
"""What of it need not be there, and what means the same as its absence. The last counts only where the settings say
so, and git's own commands have them say so later."""


def mount_repository(mounts: Mounts, workspace: str, *, may_create: bool) -> bool:
    """Show the workspace's repository; False if `.git` is a link, which no mount can protect."""
    path = f"{workspace}/.git"
    if not may_create and mounts.reserve(path):
        return True
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return True
    if stat.S_ISLNK(mode):
        return False
    if stat.S_ISDIR(mode):
        _mount_folder(mounts, path)
        return True
    mounts.show(path)
    if folder := _pointed_to(path):
        _mount_elsewhere(mounts, folder, path)
    return True


def git_folder(workspace: str) -> str | None:
    """Where the workspace's repository keeps its index; None if it has none."""
    path = f"{workspace}/.git"
    if os.path.isdir(path):
        return os.path.realpath(path)
    return _pointed_to(path) or None


def _mount_elsewhere(mounts: Mounts, folder: str, pointer: str) -> None:
    """The repository of a worktree or a submodule; only if it says itself that it belongs here.

    The pointer is a file of the workspace, which may be hostile: it must not make another folder writable.
    """
    if _read(f"{folder}/gitdir") and os.path.realpath(_read(f"{folder}/gitdir")) == pointer:
        shared = os.path.realpath(os.path.join(folder, _read(f"{folder}/commondir") or "."))
        if os.path.dirname(folder) == f"{shared}/worktrees" and _is_repository(shared):
            _mount_folder(mounts, shared)
            mounts.open(folder)
            held = mounts.reserve(f"{folder}/config.worktree", b"")
            _protect(mounts, folder, ("commondir", "gitdir", *(() if held else ("config.worktree",))))
    elif _is_repository(folder) and _work_tree(folder) == os.path.dirname(pointer):
        _mount_folder(mounts, folder)


def _mount_folder(mounts: Mounts, folder: str) -> None:
    # A mount cannot stand on a link, and no name can be held in a folder that is closed to its user, who may open it.
    can_be_held = os.access(folder, os.W_OK | os.X_OK)
    if not (can_be_held and _is_repository(folder)) or any(os.path.islink(f"{folder}/{name}") for name in _STEERING):
        mounts.show(folder)  # so all of it may only be looked at
        return
    mounts.open(folder)
    held = {name for name, content in _HELD if mounts.reserve(f"{folder}/{name}", content)}
    _protect(mounts, folder, (name for name in _STEERING if name not in held))
    # Names a command can make, and so could swap while we look: only where that would be noticed.
    if mounts.by_descriptor:
        _protect(mounts, folder, ("worktrees", "modules"))


def _protect(mounts: Mounts, folder: str, names: Iterable[str]) -> None:
    for name in names:
        path = f"{folder}/{name}"
        if os.path.lexists(path) and not os.path.islink(path):
            mounts.show(path)


def _is_repository(folder: str) -> bool:
    files = all(os.path.isfile(f"{folder}/{name}") for name in ("HEAD", "config"))
    return files and os.path.isdir(f"{folder}/objects")


def _pointed_to(pointer: str) -> str:
    text = _read(pointer)
    if not text.startswith("gitdir:"):
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(pointer), text.removeprefix("gitdir:").strip()))


def _work_tree(folder: str) -> str:
    """Where a submodule's repository says its files are; empty if it does not say."""
    for line in _read(f"{folder}/config").splitlines():
        key, _, value = line.partition("=")
        if key.strip().lower() == "worktree":
            return os.path.realpath(os.path.join(folder, value.strip().strip('"')))
    return ""


def _read(path: str) -> str:
    try:
        return beginning(path, _LONGEST_READ).decode(errors="replace").strip()
    except OSError:
        return ""
