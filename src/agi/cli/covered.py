"""What a person looks at before trusting a folder: each of its files that trust is about, with what is in it.

Bounded, and with every character visible. May import: errors, config, trust, cli.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from agi.cli.display import exact, exact_lines, fit
from agi.config.files import read_inside
from agi.config.fingerprint import fingerprint
from agi.config.rules import RULES_NAME, read_rules, verify_commands
from agi.errors import ConfigError
from agi.trust import TrustState

FILES = 20
LINES = 30
WIDEST = 1000
READ = 1 << 16


def describe(project: Path, state: TrustState, *, contents: bool) -> Iterator[str]:
    """Name what is to be trusted, with its contents if one is to look at them here."""
    folder = exact(str(project))
    if state.reason == "changed":
        yield f"{folder} has changed since you trusted it:"
        names = list(state.changed)
    else:
        names = sorted(fingerprint(project).files)
        yield f"{folder} brings settings of its own:" if names else f"{folder} brings no settings of its own."
    for name in names[:FILES]:
        yield f"  {exact(name)}"
        if contents:
            yield from (f"    {line}" for line in _bounded(_content(project, name)))
    if len(names) > FILES:
        yield f"  … and {len(names) - FILES} more"


def _content(project: Path, name: str) -> list[str]:
    """The lines of a file; of AGENTS.md only the commands count."""
    try:
        if name == RULES_NAME:
            return ["[its verification commands]", *map(exact, verify_commands(read_rules(project)))]
        path = project / name
        if path.is_symlink():
            return [f"[a link to {exact(os.readlink(path))}]"]
        if path.is_dir():
            return ["[a folder]"]
        content = read_inside(project, name, limit=READ, cut=True)
    except (ConfigError, OSError) as error:
        return [f"[cannot be read: {exact(str(error))}]"]
    if content is None:
        return ["[it is gone]"]
    if b"\0" in content:
        return [f"[not a text, {len(content)} bytes or more]"]
    cut = ["[only the beginning is shown]"] if len(content) > READ else []
    return [*exact_lines(content[:READ].decode(errors="replace").rstrip("\n").replace("\t", "    ")), *cut]


def _bounded(lines: list[str]) -> Iterator[str]:
    for line in lines[:LINES]:
        yield fit(line, WIDEST)
    if len(lines) > LINES:
        yield f"… {len(lines) - LINES} more lines"
