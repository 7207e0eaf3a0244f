"""What a sandbox of bubblewrap is built of: its options for mounts, gathered in order, later ones over earlier ones.

A place that another command could swap while we look is opened first, and bubblewrap is told to make sure that it
mounts what was opened; old versions cannot, and take it by name. May import: errors, sandbox.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from agi.errors import Unavailable
from agi.sandbox.holding import hold

_LOOK = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW


class Mounts:
    """Options, the descriptors they name, and the names that are kept free for them."""

    def __init__(self, *, by_descriptor: bool, has_sizes: bool, scratch: int) -> None:
        self.arguments: list[str] = []
        self.descriptors: list[int] = []
        self.by_descriptor = by_descriptor
        self.until_started = ExitStack()
        """Closes what the command inherits."""
        self.until_over = ExitStack()
        """Gives back what must last as long as the command."""
        self._size = ("--size", str(scratch)) if has_sizes else ()

    def close(self) -> None:
        """Give back everything."""
        self.until_started.close()
        self.until_over.close()

    def add(self, *options: str) -> None:
        """Options as they are."""
        self.arguments += options

    def empty(self, path: str) -> None:
        """An empty folder of its own, of limited size."""
        self.arguments += (*self._size, "--tmpfs", path)

    def freeze(self, path: str) -> None:
        """No more changes to what is mounted there, without what is mounted in it."""
        self.arguments += ("--remount-ro", path)

    def show(self, path: str, at: str = "") -> None:
        """A place, read-only, and a mount of its own: it cannot be moved, removed or replaced."""
        self._bind("--ro-bind", path, at or path)

    def open(self, path: str, at: str = "") -> None:
        """A place that may be changed, and a mount of its own."""
        self._bind("--bind", path, at or path)

    def veil(self, path: str) -> None:
        """Nothing to see: an empty folder, or a file that cannot be opened."""
        if os.path.isdir(path):
            self.empty(path)
            self.freeze(path)
        else:
            self.arguments += ("--ro-bind", os.devnull, path)

    def write(self, content: bytes, path: str) -> None:
        """A file with this content, in a folder that is ours."""
        self.arguments += ("--file", str(self.pass_bytes(content)), path)

    def reserve(self, path: str, content: bytes | None = None) -> bool:
        """Keep a free name free, for as long as the command runs; False if it is not free.

        To be asked first: what stands there may be held by another command, and would go with it.
        """
        held = hold(path, content)
        if held is None:
            return False
        self.until_over.callback(held.release)
        self.show(path)
        return True

    def pass_bytes(self, content: bytes) -> int:
        """A descriptor from which the content can be read, once."""
        fd = os.memfd_create("agi")
        self._keep(fd)
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def _bind(self, option: str, path: str, at: str) -> None:
        if not self.by_descriptor:
            self.arguments += (option, path, at)
            return
        fd = os.open(path, _LOOK)
        self._keep(fd)
        if os.readlink(f"/proc/self/fd/{fd}") != path:
            raise Unavailable(f"{path!r} is not where it seems to be.", hint="Try again.", code="sandbox_failed")
        self.arguments += (f"{option}-fd", str(fd), at)

    def _keep(self, fd: int) -> None:
        self.until_started.callback(os.close, fd)
        self.descriptors.append(fd)
