"""The second rung: bubblewrap builds a machine of its own around a command, with namespaces and without any power.

The same machine as the first rung's, by a program that is made for it and may do so where we may not. All capabilities
are dropped: as root, a sandbox with them is none. Whether it works here is for the ladder to find out. May import:
errors, sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from agi.sandbox.base import Confinement
from agi.sandbox.inner import guarded_by_shell
from agi.sandbox.limits import wanted
from agi.sandbox.mounts import Mounts, Step
from agi.sandbox.scene import set_scene
from agi.sandbox.seccomp import Sockets, build_filter
from agi.sandbox.syscalls import machine
from agi.sandbox.wrapped import Wrapped


class Bubblewrap(Struct, frozen=True, kw_only=True):
    """The program, and what this version of it can do."""

    program: str
    can_disable_namespaces: bool = True
    can_limit_sizes: bool = True
    can_bind_descriptors: bool = True

    def wrap(
        self, argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str], grouped: bool
    ) -> Wrapped:
        """Make a command ready."""
        mounts = Mounts(by_descriptor=self.can_bind_descriptors)
        wrapped = Wrapped()
        wrapped.hides_signals = True
        wrapped.until_started.push(mounts.until_built)
        wrapped.until_over.push(mounts.until_over)
        try:
            set_scene(wrapped, mounts, confinement, env)
            numbers = wanted(confinement.limits, grouped=grouped)
            report, leave = wrapped.open_report(), wrapped.open_leave()
            inner = guarded_by_shell(argv, numbers, report=report, leave=leave)
            if confinement.network == "allow-list":
                inner = _through_gate(wrapped, confinement, inner)
            options = [*self._namespaces(confinement), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
            for step in mounts.steps:
                options += self._words(step, wrapped, confinement.limits.scratch)
            options += _filter(wrapped, confinement)
            wrapped.argv = [self.program, *options, "--chdir", cwd, "--", *inner]
        except BaseException:
            wrapped.close()
            raise
        return wrapped

    def _namespaces(self, confinement: Confinement) -> Iterator[str]:
        yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        if confinement.network != "on":
            yield "--unshare-net"
        if self.can_disable_namespaces:
            yield "--disable-userns"
        yield from ("--cap-drop", "ALL", "--die-with-parent", "--new-session")

    def _words(self, step: Step, wrapped: Wrapped, size: int) -> Sequence[str]:
        match step:
            case ("bind", path, at, may_change, -1):
                return ("--bind" if may_change else "--ro-bind", str(path), at)
            case ("bind", _, at, may_change, fd):
                wrapped.pass_fds.append(fd)
                return ("--bind-fd" if may_change else "--ro-bind-fd", str(fd), at)
            case ("empty", path):
                return self._empty(path, size)
            case ("veil", path):
                return (*self._empty(path, size), "--remount-ro", path)
            case ("freeze", path):
                return ("--remount-ro", path)
            case ("make", path):
                return ("--dir", path)
            case ("write", path, content):
                return ("--file", str(_pass_bytes(wrapped, content)), path)

    def _empty(self, path: str, size: int) -> Sequence[str]:
        return (*(("--size", str(size)) if self.can_limit_sizes else ()), "--tmpfs", path)


def _filter(wrapped: Wrapped, confinement: Confinement) -> Sequence[str]:
    program = build_filter(machine(), Sockets(internet=True, unix=confinement.unix_sockets))
    return ("--seccomp", str(_pass_bytes(wrapped, program))) if program is not None else ()


def _pass_bytes(wrapped: Wrapped, content: bytes) -> int:
    """A descriptor from which the content can be read, once."""
    fd = os.memfd_create("agi")
    wrapped.until_started.callback(os.close, fd)
    wrapped.pass_fds.append(fd)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _through_gate(wrapped: Wrapped, confinement: Confinement, argv: Sequence[str]) -> list[str]:
    from agi.sandbox.gate import open_gate  # late: most commands have no network

    return open_gate(wrapped, confinement).through(argv)
