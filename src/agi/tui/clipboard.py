"""Copying: to the terminal by its own sequence, which also works far away, and to the desktop by its program if any.

May import: nothing of ours.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
)
"""The programs that copy, each with the variable that says there is a desktop for it."""
PATIENCE_S = 2.0


def copy_to_desktop(text: str, env: Mapping[str, str]) -> str:
    """Hand a text to the desktop's clipboard; gives the program that took it, or nothing."""
    for variable, command in PROGRAMS:
        if variable and not env.get(variable):
            continue
        program = shutil.which(command[0], path=env.get("PATH"))
        if program is None:
            continue
        try:
            subprocess.run(  # noqa: S603  # a program of the user's desktop, with nothing but text on its stdin
                [program, *command[1:]],
                input=text.encode(errors="replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE_S,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return command[0]
    return ""
