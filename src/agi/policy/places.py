"""Where a path in a command leads: into the workspace, or out of it, or to what decides what runs.

Only by its spelling; links are looked up where files are opened. May import: policy.bash.
"""

from __future__ import annotations

from agi.policy.bash.values import UNKNOWN

PROTECTED = frozenset({".git", ".agi", ".mcp.json"})
"""Names that decide what is run or allowed, in whatever folder."""
_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/")
_SCRATCH = ("/tmp/", "/var/tmp/")  # noqa: S108 -- recognised, not used


def is_device(path: str) -> bool:
    """Tell whether writing to a path changes no file."""
    return path.startswith(_DEVICES) and ".." not in path.split("/")


def leads_out(path: str) -> bool:
    """Tell whether a path may lie outside the workspace, or is one of ours and git's that decide what runs."""
    parts = path.split("/")
    if is_device(path):
        return False
    # bash expands the file of `>&` twice, so that even quoted signs can start a command.
    unsure = any(sign in path for sign in (UNKNOWN, "$", "`"))
    absolute = path.startswith("/") and not path.startswith(_SCRATCH)
    return unsure or absolute or path.startswith("~") or ".." in parts or is_protected(path)


def is_inside(path: str) -> bool:
    """Tell whether a path names a file of the workspace for sure, and none that is protected."""
    return bool(path) and not path.startswith("/") and not leads_out(path) and not any(sign in path for sign in "*?[{")


def is_protected(path: str) -> bool:
    """Tell whether a path leads to one of ours, or git's, that decide what runs; in any spelling of its case."""
    return not PROTECTED.isdisjoint(path.lower().split("/"))
