"""A beginning for a tool of the project: a folder with a function that works and a line about it.

What is there already is left as it is. May import: errors, cli.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from agi.cli.options import usage
from agi.errors import ConfigError, Conflict

FOLDER = ".agi/tools"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

PROMPT = "Count the lines of a text file of the project.\n"
CODE = '''\
from typing import Annotated

from agi_tool import ToolError, tool


@tool(kind="read", timeout_seconds=30)
def {function}(path: Annotated[str, "A text file of the project."], empty: bool = True) -> dict[str, int]:
    """Count lines; with empty=False, only those with something in them."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if empty or line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(f"{{path}} cannot be read: {{error}}.", hint="Name a text file.") from error
    return {{"lines": len(lines)}}
'''


def write_template(project: Path, name: str) -> Path:
    """Make the folder of a new tool; raises if its name cannot be one, or is in use."""
    if not _NAME.fullmatch(name):
        rule = "It begins with a letter and has ASCII letters, digits, `_` and `-`, 64 at most."
        raise usage("tools", f"{name[:80]!r} cannot be the name of a tool. {rule}")
    folder = project / FOLDER / name
    for above in (folder.parent.parent, folder.parent):
        if above.is_symlink():
            raise ConfigError(f"{above} is a symlink.", hint="Put a real folder in its place.")
        try:
            above.mkdir(exist_ok=True, mode=0o700)  # `.agi` holds what was said, also when it is made for a tool
        except OSError as error:
            raise ConfigError(f"{above} cannot be made: {error.strerror}.", hint="Check the folder.") from error
    try:
        folder.mkdir()
    except FileExistsError:
        raise Conflict(f"{folder} is there already.", hint="Choose another name.", code="tool_exists") from None
    _write(folder / "tool.py", CODE.format(function=name.replace("-", "_").lower()))
    _write(folder / "prompt.txt", PROMPT)
    return folder


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
        file.write(text)
