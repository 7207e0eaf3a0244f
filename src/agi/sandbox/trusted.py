"""Find a program that only the owner of the system could have put there: what builds the walls must not be planted.

May import: nothing of ours.
"""

from __future__ import annotations

import os
import stat

_FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin")
_STORE = "/nix/store/"


def find_trusted(name: str, search_path: str) -> str | None:
    """The first program of that name on PATH that this user could not have changed, nor anyone but root.

    To root everything belongs, also a repository it cloned; so for root it must lie where systems keep programs.
    """
    for folder in search_path.split(":"):
        if not folder.startswith("/"):
            continue
        program = os.path.realpath(os.path.join(folder, name))
        if os.path.isfile(program) and os.access(program, os.X_OK) and _is_the_systems(program):
            return program
    return None


def _is_the_systems(path: str) -> bool:
    """Whether a file and every folder above it belong to root and can be changed by nobody else."""
    if os.getuid() == 0 and os.path.dirname(path) not in _FOLDERS and not path.startswith(_STORE):
        return False
    while True:
        info = os.lstat(path)
        others_may_write = info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        keeps_names = stat.S_ISDIR(info.st_mode) and info.st_mode & stat.S_ISVTX
        if info.st_uid != 0 or (others_may_write and not keeps_names):
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)
