"""A workspace's folder, held open. Apart from the handle: who only has to know that it is there needs nothing else.

May import: errors.
"""

from __future__ import annotations

import os
from pathlib import Path

from agi.errors import Invalid


class Opened:
    """A folder that is held open until closed."""

    __slots__ = ("fd", "given", "root")

    def __init__(self, root: Path, fd: int, given: str) -> None:
        self.root = root
        """Where it is, with links followed."""
        self.fd = fd
        """-1 once it is closed."""
        self.given = given
        """How it was named."""

    def close(self) -> None:
        """Let go of the folder; closing twice is harmless."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def open_root(path: str | Path) -> Opened:
    """Open a folder as a workspace; refuse what is missing or no folder."""
    given = os.path.abspath(path)
    try:
        root = Path(given).resolve(strict=True)
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except NotADirectoryError:
        raise _no_workspace(path, "is not a folder", "workspace_not_a_directory") from None
    except PermissionError:
        raise _no_workspace(path, "may not be read", "workspace_not_readable") from None
    except (OSError, ValueError, RuntimeError):
        raise _no_workspace(path, "does not exist", "workspace_missing") from None
    return Opened(root, fd, given)


def _no_workspace(path: str | Path, what: str, code: str) -> Invalid:
    return Invalid(f"The workspace {str(path)!r} {what}.", hint="Give the path of an existing folder.", code=code)
