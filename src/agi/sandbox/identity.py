"""The user's git identity without the rest of `~/.gitconfig`, which may hold tokens and names of programs.

Home is hidden from commands, and a commit needs a name. May import: nothing of ours.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

_LARGEST = 256 * 1024
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?\Z")
_KEPT = {
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "core": {"autocrlf", "eol", "safecrlf", "quotepath", "filemode"},
    "safe": {"directory"},
    "merge": {"conflictstyle"},
    "pull": {"rebase", "ff"},
}


def git_identity(home: str, settings: str) -> bytes:
    """What of the user's own git settings a command may know, as a settings file; empty if there is nothing."""
    paths = (f"{settings}/git/config", f"{home}/.gitconfig")
    return _gathered(tuple((path, _stamp(path)) for path in paths))


@lru_cache(maxsize=8)
def _gathered(files: tuple[tuple[str, int], ...]) -> bytes:
    return "".join(_kept(path) for path, stamp in files if stamp).encode()


def _kept(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            lines = file.read(_LARGEST).decode(errors="replace").splitlines()
    except OSError:
        return ""
    section, kept = "", []
    for line in lines:
        if found := _SECTION.match(line.strip()):
            section = "" if found[2] is not None else found[1].lower()
            line = line.strip()[found.end() :]
        setting = _SETTING.match(line)
        if setting and setting[1].lower() in _KEPT.get(section, ()) and not (setting[2] or "").endswith("\\"):
            kept.append(f"[{section}]\n\t{setting[1]} = {setting[2] or 'true'}\n")
    return "".join(kept)


def _stamp(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
