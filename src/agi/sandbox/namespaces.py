"""The first rung: a machine of its own around a command, with namespaces and without any power, built by ourselves.

The root is read-only, home and `/run` are not there, the workspace may be changed but for what runs later, the network
is a loopback without a way out. The helper clones a process into new namespaces, and that builds the machine and gives
up all power before it runs anything. Whether it works here is for the ladder to find out. May import: errors, sandbox.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from agi.sandbox.base import Confinement
from agi.sandbox.helper import Helper
from agi.sandbox.landlock import DRAIN_S, GRACE_S
from agi.sandbox.limits import MORE_LIKELY_TO_GO, wanted
from agi.sandbox.mounts import Mounts, Step
from agi.sandbox.scene import set_scene
from agi.sandbox.seccomp import Sockets, build_filter
from agi.sandbox.syscalls import PROCESSORS, machine
from agi.sandbox.wrapped import Wrapped

_MOUNTS, _CONTROL_GROUPS, _NAMES, _MESSAGES = 0x20000, 0x2000000, 0x4000000, 0x8000000
_USERS, _PROCESSES, _NETWORK = 0x10000000, 0x20000000, 0x40000000
_ALWAYS = _MOUNTS | _CONTROL_GROUPS | _NAMES | _MESSAGES | _USERS | _PROCESSES


class Namespaces:
    """Has commands started by the helper, each as the second process of a machine of its own."""

    def __init__(self, helper: Helper, numbers: Mapping[str, int]) -> None:
        self._helper = helper
        self._numbers = numbers

    def wrap(
        self, argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str], grouped: bool
    ) -> Wrapped:
        """Make a command ready."""
        mounts = Mounts()
        wrapped = Wrapped()
        wrapped.until_over.push(mounts.until_over)
        wrapped.until_over.push(mounts.until_built)  # what was opened is compared by number: it must not be another's
        try:
            set_scene(wrapped, mounts, confinement, env)
            port = 0
            if confinement.network == "allow-list":
                from agi.sandbox.gate import PORT, open_gate  # late: most commands have no network

                open_gate(wrapped, confinement)
                port = PORT
            order = {
                "grace": GRACE_S,
                "drain": DRAIN_S,
                "limits": wanted(confinement.limits, grouped=grouped),
                "score": MORE_LIKELY_TO_GO,
                "landlock": None,
                "filter": None,
                "enclosure": self._plan(confinement, mounts, cwd, port),
            }
            wrapped.argv = argv
            wrapped.hold(self._helper, order)
        except BaseException:
            wrapped.close()
            raise
        return wrapped

    def _plan(self, confinement: Confinement, mounts: Mounts, cwd: str, port: int) -> dict[str, object]:
        is_offline = confinement.network != "on"
        return {
            "clone": self._numbers["clone"],
            "pivot_root": self._numbers["pivot_root"],
            "namespaces": _ALWAYS | (_NETWORK if is_offline else 0),
            "is_offline": is_offline,
            "user": os.getuid(),
            "group": os.getgid(),
            "steps": [_compared(step) for step in mounts.steps],
            "size": confinement.limits.scratch,
            "port": port,
            "cwd": cwd,
            "filter": build_filter(machine(), Sockets(internet=True, unix=confinement.unix_sockets)),
        }


def find_namespaces(helper: Helper) -> Namespaces | None:
    """The rung, if it can be tried: on a system and a processor whose calls we know, and call by their numbers."""
    known = PROCESSORS.get(machine())
    return Namespaces(helper, known.numbers) if known is not None and sys.platform == "linux" else None


def _compared(step: Step) -> Sequence[object]:
    """A step as the helper knows it, with paths as bytes: of what was opened, it is told which file that is."""
    if step[0] != "bind":
        word, path, *content = step
        return (word, os.fsencode(path), *content)
    _, path, at, may_change, fd = step
    found = os.fstat(fd) if fd >= 0 else None
    seen = (found.st_dev, found.st_ino) if found else None
    return ("bind", os.fsencode(path), os.fsencode(at), may_change, seen)
