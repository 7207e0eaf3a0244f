"""The charset a project's `.editorconfig` gives a file, asked only where the file itself says nothing.

Plain patterns only: `*`, `*.ext`, `*.{one,other}` and names of files; other sections are passed over.
May import: errors, workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agi.errors import AgiError
from agi.workspace.handle import Workspace

_NAME = ".editorconfig"
_LARGEST = 64 * 1024
_CHARSETS = {"latin1": "iso8859-1", "utf-16be": "utf-16-be", "utf-16le": "utf-16-le"}
"""What is not UTF-8; the others need no telling."""


def charset(workspace: Workspace, place: str) -> str:
    """The codec configured for a file of the workspace; empty if there is none."""
    *folders, name = place.split("/")
    for depth in range(len(folders), -1, -1):
        above = "/".join(folders[:depth])
        text = _read(workspace, f"{above}/{_NAME}" if above else _NAME)
        found = [value for pattern, value in _charsets(text) if _fits(pattern, name)]
        if found:
            return _CHARSETS.get(found[-1], "")
        if re.search(r"^\s*root\s*=\s*true\s*$", text, re.MULTILINE | re.IGNORECASE):
            break
    return ""


def _read(workspace: Workspace, path: str) -> str:
    try:
        return workspace.read_bytes(path, _LARGEST).data.decode("utf-8", "replace")
    except (AgiError, OSError):
        return ""


def _charsets(text: str) -> Iterator[tuple[str, str]]:
    """The sections that name a charset, in order: a later one beats an earlier one."""
    pattern = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            pattern = line[1:-1]
        elif pattern and (found := re.fullmatch(r"charset\s*[=:]\s*([\w-]+)", line, re.IGNORECASE)):
            yield pattern, found[1].lower()


def _fits(pattern: str, name: str) -> bool:
    head, _, rest = pattern.partition("{")
    choices, _, tail = rest.partition("}")
    return any(_is_like(name, head + choice.strip() + tail) for choice in choices.split(","))


def _is_like(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return pattern in ("*", name)
