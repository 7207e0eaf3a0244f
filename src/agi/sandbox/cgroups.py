"""Control groups: memory and processes of a command limited together, where the system lets us make such groups.

Both versions of the interface. Groups are made once and used again, one command at a time. Whether it works is tried
with a real process, since only that shows it, and a command that could not be made a member is told from one that was:
somebody may have removed the group. May import: sandbox.
"""

from __future__ import annotations

import _thread
import atexit
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from agi.sandbox.base import Limits
from agi.sandbox.claims import claim, unclaimed
from agi.sandbox.limits import MORE_LIKELY_TO_GO, memory_of
from agi.sandbox.survivors import descendants

_PREFIX = "agi-"
_TRY_S = 5.0
_ROUNDS = 20
_KEPT = 32
"""How many groups wait for a next command; each keeps its folders and descriptors."""
_CLOSE_S = 0.3
_POLL_S = 0.01
_PIECE = 1 << 16


class Group:
    """One command's group: a folder, or one for each controller, held by open descriptors."""

    def __init__(self, folders: dict[str, Path], *, unified: bool, held: Sequence[int]) -> None:
        self._folders = folders
        self._held = list(held)
        self._unified = unified
        self.joins = tuple(dict.fromkeys(f"{folder}/cgroup.procs" for folder in folders.values()))
        """The files into which the number of a process is written to make it a member."""
        self.entrances = () if unified else tuple(dict.fromkeys(f"{folder}/tasks" for folder in folders.values()))
        """The files into which a process with one thread writes "0" to become one itself, for which the kernel lets
        nobody wait; none in the second version, which has no such way in."""
        self.birthplace = str(folders["memory"]) if unified else ""
        """The folder of which a process can be born a member, likewise; none in the first version."""
        self._memory = f"{folders['memory']}/{'memory.events' if unified else 'memory.oom_control'}"
        self._pids = f"{folders['pids']}/pids.events"
        self._limits: Limits | None = None
        self._adopting = False
        self._seen = self._events()

    def adopt(self, pid: int, then: Callable[[Exception | None], None]) -> None:
        """Make a process and all its descendants members, in a thread, and say then what was in the way, if anything.

        The kernel lets us wait some milliseconds for that, in which others need not wait. A member's children are
        members.
        """
        self._adopting = True
        # Not `Thread.start`: it waits until the thread runs, a millisecond for everybody in the event loop.
        try:
            _thread.start_new_thread(self._fetch, (pid, then))
        except RuntimeError as error:  # there can be no more threads just now
            self._adopting = False
            then(error)

    def _fetch(self, pid: int, then: Callable[[Exception | None], None]) -> None:
        problem: Exception | None = None
        try:
            self._fetch_all(pid)
        except Exception as error:
            problem = error
        self._adopting = False
        then(problem)

    def _fetch_all(self, pid: int) -> None:
        members: set[int] = set()
        for _ in range(_ROUNDS):
            fresh = ({pid} | descendants(pid)) - members
            if not fresh:
                return
            for one in fresh:
                for path in self.joins:
                    with suppress(ProcessLookupError):  # it has ended
                        _write(path, str(one))
                with suppress(OSError):
                    _write(_score(one), str(MORE_LIKELY_TO_GO))
            members |= fresh

    @property
    def is_empty(self) -> bool:
        """Whether nobody is in it any more, nor on the way in."""
        if self._adopting:
            return False
        return not any(map(_read, self.joins))

    def limit(self, limits: Limits) -> bool:
        """Set what its members may use together; False if that cannot be set, as where somebody has removed it."""
        if limits == self._limits:
            return all(map(os.path.exists, self.joins))
        memory, processes = memory_of(limits), limits.processes
        try:
            if self._unified:
                self._set("memory", "memory.max", memory)
                with suppress(OSError):  # from Linux 4.19
                    self._set("memory", "memory.oom.group", 1)
            else:
                self._set("memory", "memory.limit_in_bytes", memory if memory is not None else -1)
            self._set("pids", "pids.max", processes)
        except OSError:
            return False
        self._limits = limits
        return True

    def hits(self) -> tuple[bool, bool]:
        """Whether memory ran out, and whether processes did, since this was last asked."""
        before, self._seen = self._seen, self._events()
        return self._seen[0] > before[0], self._seen[1] > before[1]

    def remove(self) -> bool:
        """Remove it; False if someone is still in it."""
        for folder in set(self._folders.values()):
            with suppress(OSError):
                folder.rmdir()
        if any(folder.exists() for folder in self._folders.values()):
            return False
        while self._held:
            os.close(self._held.pop())
        return True

    def _set(self, controller: str, name: str, value: int | None) -> None:
        _write(f"{self._folders[controller]}/{name}", "max" if value is None else str(value))

    def _events(self) -> tuple[int, int]:
        return _count(_read(self._memory), "oom_kill"), _count(_read(self._pids), "max")


class Groups:
    """The groups of this process."""

    def __init__(self, parents: dict[str, Path], *, unified: bool) -> None:
        self._parents = parents
        self._unified = unified
        self._all: list[Group] = []
        self._free: list[Group] = []
        self._ending: list[Group] = []
        self._made = 0
        self._kept = _KEPT
        self._lock = Lock()
        """Whether groups work may be tried by one thread while another takes one for a command."""
        self._owner = os.getpid()
        self._token = os.urandom(4).hex()
        atexit.register(self.close)

    def take(self, limits: Limits) -> Group | None:
        """A group that nobody uses, with these limits; None if none can be made now."""
        with self._lock:
            self._settle()
            while self._free:
                group = self._free.pop()
                if group.limit(limits):
                    return group
                self._drop(group)
            made = self._make()
            if made is not None and not made.limit(limits):
                self._drop(made)
                return None
            return made

    def give_back(self, group: Group) -> None:
        """Say that the command is over; its last processes may need a moment."""
        with self._lock:
            self._ending.append(group)
            if not self._kept:
                self._settle()

    def retire(self) -> None:
        """Others are used from now on: remove what waits for a command, and the rest as it is given back."""
        with self._lock:
            self._kept = 0
            self._settle()

    def work(self) -> bool:
        """Whether a process can be made a member, found out by trying."""
        group = self.take(Limits(memory=1 << 30, processes=100))
        if group is None:
            return False
        try:
            script = 'for file; do echo $$ >"$file" || exit 1; done'
            argv = ["/bin/sh", "-c", script, "sh", *group.joins]
            tried = subprocess.run(argv, capture_output=True, timeout=_TRY_S, check=False)  # noqa: S603
            return tried.returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False
        finally:
            self.give_back(group)

    def close(self) -> None:
        """Remove all that can be removed; what is not empty is left for the next process that looks."""
        if os.getpid() != self._owner:
            return
        until = time.monotonic() + _CLOSE_S
        while self._all and time.monotonic() < until:
            self._all = [group for group in self._all if not group.remove()]
            time.sleep(_POLL_S if self._all else 0)  # the last processes are still ending
        self._all, self._free, self._ending = [], [], []
        atexit.unregister(self.close)

    def _settle(self) -> None:
        self._free += [group for group in self._ending if group.is_empty]
        self._ending = [group for group in self._ending if group not in self._free]
        while len(self._free) > self._kept:
            self._drop(self._free.pop())

    def _make(self) -> Group | None:
        self._made += 1
        name = f"{_PREFIX}{self._owner}-{self._token}-{self._made}"
        folders = {controller: parent / name for controller, parent in self._parents.items()}
        held: list[int | None] = []
        with suppress(OSError):
            for folder in set(folders.values()):
                folder.mkdir()
                held.append(claim(str(folder)))
        group = Group(folders, unified=self._unified, held=[fd for fd in held if fd is not None])
        if len(held) < len(set(folders.values())):
            group.remove()
            return None
        self._all.append(group)
        return group

    def _drop(self, group: Group) -> None:
        """Use it no more; what is left of it goes at the end."""
        if group.remove():
            self._all.remove(group)


def find_groups() -> Groups | None:
    """Find where groups can be made, and try it with a process; None if they cannot."""
    mounts, own = _mounts(), _own()
    candidates: list[tuple[dict[str, Path], bool]] = []
    if "" in mounts and "" in own:
        here = Path(f"{mounts['']}/{own['']}")
        # A group that holds processes cannot be divided, so ours stand beside the one we are in.
        places = (here.parent, here) if own[""] else (here,)
        candidates += [(dict.fromkeys(("memory", "pids"), place), True) for place in places]
    if {"memory", "pids"} <= mounts.keys() & own.keys():
        candidates.append(({name: Path(f"{mounts[name]}/{own[name]}") for name in ("memory", "pids")}, False))
    for parents, unified in candidates:
        if not all(os.access(parent, os.W_OK) for parent in parents.values()):
            continue
        for parent in set(parents.values()):
            _sweep(parent)
        groups = Groups(parents, unified=unified)
        if groups.work():
            return groups
        groups.close()
    return None


def _mounts() -> dict[str, str]:
    """Where each controller of the first version is mounted, and under an empty name the second version."""
    found: dict[str, str] = {}
    for line in _read("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, *_, options = after.split(" ")
        place = before.split(" ")[4]
        if kind == "cgroup2":
            found.setdefault("", place)
        elif kind == "cgroup":
            found.update(dict.fromkeys(options.split(","), place))
    return found


def _own() -> dict[str, str]:
    """The group we are in, by controller."""
    found: dict[str, str] = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path.strip("/")))
    return found


def _score(pid: int) -> str:
    return f"/proc/{pid}/oom_score_adj"


def _sweep(parent: Path) -> None:
    """Remove what processes left that are no more, wherever they ran."""
    with suppress(OSError):
        for entry in parent.iterdir():
            owner = entry.name.removeprefix(_PREFIX).partition("-")[0]
            if entry.name.startswith(_PREFIX) and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
                with suppress(OSError), unclaimed(str(entry)):
                    entry.rmdir()


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        text = b""
        while piece := os.read(fd, _PIECE):
            text += piece
        return text.decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _write(path: str, text: str) -> None:
    """Tell the kernel something; an `OSError` where it refuses."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _count(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0
