"""What a command is to see of the machine, as steps in order: what is mounted where, later steps over earlier ones.

Who builds a sandbox takes the steps in its own words. A place that another command could swap while we look is opened
first, and who builds makes sure that it mounts what was opened. May import: errors, sandbox.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from typing import Literal

from agi.errors import Unavailable
from agi.sandbox.holding import Unkept, hold
from agi.sandbox.homes import within
from agi.sandbox.passing import closed_hint, passing_hint

_LOOK = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW

Bind = tuple[Literal["bind"], str, str, bool, int]
"""A place, where it is shown, whether it may be changed there, and it opened: −1 if its name is enough."""
Folder = tuple[Literal["empty", "veil", "freeze", "make"], str]
"""An empty folder of its own; the same, which cannot be changed; no more changes to one; one that is to be there."""
File = tuple[Literal["write"], str, bytes]
"""A file with this content, in a folder that is ours."""
Step = Bind | Folder | File


class Mounts:
    """The steps, what was opened for them, and the names that are kept free for them."""

    def __init__(self, *, by_descriptor: bool = True) -> None:
        self.steps: list[Step] = []
        self.by_descriptor = by_descriptor
        """Whether who builds can make sure of what it mounts."""
        self.until_built = ExitStack()
        """Closes what was opened."""
        self.until_over = ExitStack()
        """Gives back what must last as long as the command."""

    def may_be_changed(self, path: str) -> bool:
        """Whether what is seen at a path, as far as it is said, is of the machine and may be changed."""
        for step in reversed(self.steps):
            if step[0] == "bind" and within(path, step[2]):
                return step[3]
            if step[0] in ("empty", "veil") and within(path, step[1]):
                return False
        return False

    def empty(self, path: str) -> None:
        """An empty folder of its own, of limited size."""
        self.steps.append(("empty", path))

    def make(self, path: str) -> None:
        """A folder in one that is empty."""
        self.steps.append(("make", path))

    def freeze(self, path: str) -> None:
        """No more changes to what is mounted there, without what is mounted in it."""
        self.steps.append(("freeze", path))

    def show_as_named(self, path: str) -> None:
        """A place that nobody swaps, read-only."""
        self.steps.append(("bind", path, path, False, -1))

    def show(self, path: str) -> None:
        """A place, read-only, and a mount of its own: it cannot be moved, removed or replaced."""
        self._bind(path, path, may_change=False)

    def open(self, path: str, at: str = "") -> None:
        """A place that may be changed, and a mount of its own."""
        self._bind(path, at or path, may_change=True)

    def veil(self, path: str) -> None:
        """Nothing to see: an empty folder, or a file that cannot be opened."""
        if os.path.isdir(path):
            self.steps.append(("veil", path))
        elif os.path.exists(path):  # else it is a link to nothing
            self.steps.append(("bind", os.devnull, path, False, -1))

    def write(self, content: bytes, path: str) -> None:
        """A file with this content, in a folder that is ours."""
        self.steps.append(("write", path, content))

    def reserve(self, path: str, content: bytes | None = None) -> bool:
        """Keep a free name free, for as long as the command runs; False if it is not free.

        To be asked first: what stands there may be held by another command, and would go with it.
        """
        try:
            held = hold(path, content)
        except OSError as problem:
            said = f"{path!r} could not be kept from the command: {problem.strerror}."
            hint = passing_hint(problem)
            if isinstance(problem, PermissionError):
                hint = closed_hint(os.path.dirname(path))
            elif isinstance(problem, Unkept) and problem.errno in (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP):
                hint = "Nothing was run. Work on a disk where its user may say when a folder was changed."
            raise Unavailable(said, hint=hint, code="sandbox_failed") from problem
        if held is None:
            return False
        self.until_over.callback(held.release)
        self.show(path)
        return True

    def _bind(self, path: str, at: str, *, may_change: bool) -> None:
        fd = -1
        if self.by_descriptor:
            fd = os.open(path, _LOOK)
            self.until_built.callback(os.close, fd)
            if os.readlink(f"/proc/self/fd/{fd}") != path:
                raise Unavailable(f"{path!r} is not where it seems to be.", hint="Try again.", code="sandbox_failed")
        self.steps.append(("bind", path, at, may_change, fd))
