"""Whose repository a folder's `.git` is: it may lead to another one, whose history is not ours to show.

Looks at files only; starts nothing. May import: nothing of ours.
"""

from __future__ import annotations

import os
from pathlib import Path

_MOST_ABOVE = 64
_POINTER_LIMIT = 8 * 1024
_SETTINGS_LIMIT = 256 * 1024
_HISTORY = ("HEAD", "config", "logs", "objects", "packed-refs", "refs")


def repository_root(folder: Path) -> Path | None:
    """The nearest folder, from this one upward, that holds a repository.

    A folder `.git` without a `HEAD` is none, and git looks further up past it; it is kept from commands all the same.
    """
    above = str(folder)
    for _ in range(_MOST_ABOVE + 1):
        git = f"{above.rstrip('/')}/.git"
        if os.path.lexists(git) and (os.path.lexists(f"{git}/HEAD") or not os.path.isdir(git)):
            return Path(above)
        above, below = os.path.dirname(above), above
        if above in (below, ""):
            break
    return None


def foreign(root: Path) -> str:
    """Say why the repository at `root` is not that folder's own; empty if it is.

    A worktree's and a submodule's lie elsewhere, but point back to the folder they are for.
    """
    git = root / ".git"
    if git.is_dir() and not git.is_symlink():
        links = [git / name for name in _HISTORY if (git / name).is_symlink()]
        leads_out = not all(link.resolve().is_relative_to(root) for link in links)
        return "parts of its .git are elsewhere" if leads_out or (git / "commondir").exists() else ""
    place = _pointed_to(git)
    if place.is_relative_to(root) or _points_back(place, git):
        return ""
    return "its .git leads to another repository, which does not point back here"


def _pointed_to(git: Path) -> Path:
    if git.is_dir():
        return git.resolve()
    target = _text(git).partition("gitdir:")[2].strip()
    return (git.parent / target).resolve() if target else git


def _points_back(place: Path, git: Path) -> bool:
    """A worktree's folder names the pointer that leads to it; a submodule's settings name the submodule's folder."""
    back = _text(place / "gitdir").strip()
    if back and (place / back).resolve() == git.resolve():
        return True
    for line in _text(place / "config", _SETTINGS_LIMIT).splitlines():
        key, _, value = line.partition("=")
        if key.strip().lower() == "worktree" and (place / value.strip().strip('"')).resolve() == git.parent.resolve():
            return True
    return False


def has_plain_settings(root: Path) -> bool:
    """Whether the settings of the repository neither put its files elsewhere nor take in other files."""
    text = _text(root / ".git" / "config", _SETTINGS_LIMIT + 1).lower()
    return 0 < len(text) <= _SETTINGS_LIMIT and not any(word in text for word in ("worktree", "include"))


def tracked_files(root: Path) -> int | None:
    """How many files the repository in this folder tracks, as the head of its index says; None if it does not say."""
    git = root / ".git"
    if any(git.glob("sharedindex.*")) or "sparse" in _text(git / "config", _SETTINGS_LIMIT).lower():
        return None  # the index then holds a part of them only
    head = _text(git / "index", 12).encode(errors="surrogateescape")
    if len(head) != 12 or not head.startswith(b"DIRC"):
        return None
    return int.from_bytes(head[8:], "big")


def _text(path: Path, limit: int = _POINTER_LIMIT) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    with os.fdopen(fd, "rb") as file:
        try:
            return file.read(limit).decode(errors="surrogateescape")
        except (OSError, TypeError):  # a folder, or a pipe with nothing in it
            return ""
