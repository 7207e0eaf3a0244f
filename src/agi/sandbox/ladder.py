"""The ladder: which rung holds commands on this machine, found by trying, and told with what it does not hold.

Namespaces, by ourselves or else by bubblewrap, which may make them where we may not; else Landlock with a filter of
system calls; else nothing, and that is said. Tried when first asked for, and again after a failure. Where something has
held commands, nothing is no rung any more: a command may have brought that about. Whether commands may run on a rung is
for policy to say. May import: errors, config, sandbox.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from agi.config.values import SandboxMode
from agi.errors import Unavailable
from agi.sandbox.base import Confinement, Limits, Rung, RungName
from agi.sandbox.bubblewrap import Bubblewrap
from agi.sandbox.cgroups import Groups, find_groups
from agi.sandbox.helper import Helper
from agi.sandbox.landlock import Landlock, landlock_version
from agi.sandbox.limits import raise_our_own
from agi.sandbox.namespaces import find_namespaces
from agi.sandbox.plain import Plain
from agi.sandbox.scratch import sweep
from agi.sandbox.syscalls import PROCESSORS, machine
from agi.sandbox.trusted import find_trusted
from agi.sandbox.trying import try_out, variants
from agi.sandbox.wrapped import Wrapped, Wrapper

_LATER = "What a command leaves in the workspace may run later, when you or your editor run it."
_NAMESPACES_GAPS = ("Files outside home folders can be read.", _LATER)
_LANDLOCK_GAPS = (
    "Files outside home folders can be read.",
    _LATER,
    "Protected files in the workspace (.git/hooks, .git/config, .mcp.json, .agi) are put back after a command, not "
    "kept from it; the daemon's own data in .agi can be read and changed.",
    "Other processes can be seen.",
    "The mode, owner and times of files outside can be changed where you may change them.",
    "Shared memory (/dev/shm) is the machine's.",
    "Commands have no sockets at all, not even among themselves, and a list of allowed hosts counts as none.",
)
_NO_RUNG = "Commands run as you: they can read, change and reach everything that you can."
_SINCE = {
    2: "Files cannot be moved from folder to folder.",
    3: "Files outside can be emptied where you may write to them.",
    6: "Other processes of yours can be sent signals.",
}
"""What a version of Landlock older than these does not hold, or does not let."""


_Found = tuple[Wrapper, tuple[str, ...]] | str
"""What keeps commands in and what gets past it, or why it does not."""

CONFINING: tuple[RungName, ...] = ("namespaces", "bubblewrap", "landlock")
"""The rungs that keep commands in, the best first."""

_ORDER: tuple[RungName, ...] = (*CONFINING, "none")


class Ladder:
    """What holds commands; one for a process."""

    def __init__(
        self, env: Mapping[str, str], mode: SandboxMode = "auto", *, tried: Sequence[RungName] = CONFINING
    ) -> None:
        self._env = dict(env)
        self._mode = mode
        self._tried = tried
        self._found: tuple[Rung, Wrapper] | None = None
        self._best: RungName = "none"
        """The best rung that ever held commands here."""
        self._groups: Groups | None = None
        self._has_swept = False
        self._helper = Helper()
        self._lock = threading.Lock()
        """It may be tried out by two threads at once; one of them waits."""

    @property
    def rung(self) -> Rung:
        """What holds commands here; takes some milliseconds when first asked, and where a better one held before.

        Raises `Unavailable` if it cannot be tried now, or if nothing holds and something did. Nothing is kept then.
        """
        with self._lock:
            if self._found is not None and self._has_fallen_to(self._found[0]):
                self._found = None
            return self._look()[0]

    def failed(self) -> None:
        """Say that a sandbox did not come about; what holds is found out anew."""
        self._found = None

    def close(self) -> None:
        """Give back what commands were limited with and started by."""
        self._helper.close()
        if self._groups is not None:
            self._groups.close()

    def wrap(self, argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str]) -> Wrapped:
        """Make a command ready to run on the rung there is; `Unavailable` if it was judged on another."""
        rung, wrapper = self._find()
        _refuse_another(rung, confinement)
        groups = self._groups
        group = groups.take(confinement.limits) if groups is not None else None
        try:
            wrapped = wrapper.wrap(argv, confinement, cwd=cwd, env=env, grouped=group is not None)
        except BaseException:
            if groups is not None and group is not None:
                groups.give_back(group)
            raise
        if groups is not None and group is not None:
            wrapped.share(group.adopt, entrances=group.entrances, birthplace=group.birthplace)
            wrapped.until_over.callback(groups.give_back, group)
            wrapped.notes.append(lambda: _hits(group.hits(), confinement.limits))
        return wrapped

    def _find(self) -> tuple[Rung, Wrapper]:
        with self._lock:
            return self._look()

    def _look(self) -> tuple[Rung, Wrapper]:
        if self._found is None:
            if sys.platform == "linux":
                raise_our_own()
                self._groups = self._working_groups()
            self._found = self._compared(*self._climb())
        return self._found

    def _working_groups(self) -> Groups | None:
        if self._groups is not None:
            if self._groups.work():
                return self._groups
            self._groups.retire()
        return find_groups()

    def _compared(self, rung: Rung, wrapper: Wrapper) -> tuple[Rung, Wrapper]:
        """What was found, beside what was there before: less is said to be less, and nothing is refused."""
        if not self._has_fallen_to(rung):
            self._best = rung.name
            return rung, wrapper
        if not rung.confines:
            raise _fallen(self._best, rung)
        less = f"Less than before: `{self._best}` worked here, and does not now. It is tried again each turn."
        return replace(rung, gaps=(less, *rung.gaps)), wrapper

    def _has_fallen_to(self, rung: Rung) -> bool:
        return _ORDER.index(rung.name) > _ORDER.index(self._best)

    def _climb(self) -> tuple[Rung, Wrapper]:
        if self._mode == "off":
            return Rung(name="none", gaps=(_NO_RUNG,), why=("switched off (sandbox.mode)",)), self._unconfined()
        try:
            return self._try_each()
        finally:
            self._sweep()

    def _try_each(self) -> tuple[Rung, Wrapper]:
        why_not: list[str] = []
        for name, attempt in zip(CONFINING, (self._namespaces, self._bubblewrap, self._landlock), strict=True):
            if name in self._tried:
                found = attempt()
                if not isinstance(found, str):
                    wrapper, gaps = found
                    return Rung(name=name, gaps=gaps, why=tuple(why_not)), wrapper
                why_not.append(found)
        return Rung(name="none", gaps=(_NO_RUNG,), why=tuple(why_not)), self._unconfined()

    def _sweep(self) -> None:
        """Have removed what the killed have left among temporary files, once: there may be much, and nobody waits."""
        if not self._has_swept:
            self._has_swept = True
            with suppress(RuntimeError):  # there can be no more threads: the next process does it
                _thread.start_new_thread(sweep, (self._env,))  # which the end of this process does not wait for either

    def _limit_gaps(self, bubblewrap: Bubblewrap | None) -> tuple[str, ...]:
        gaps = []
        if self._groups is None:
            gaps.append("Memory is limited for each process, not for a command as a whole: no control groups here.")
            if os.getuid() == 0:
                gaps.append("As root, the number of processes is not limited.")
        if machine() not in PROCESSORS:
            gaps.append("System calls are not filtered on this kind of processor.")
        if bubblewrap is not None and os.getuid() == 0:
            gaps.append("As root, the mode and times of the machine's /dev/null and its like can be changed.")
        if bubblewrap is not None and not bubblewrap.can_bind_descriptors:
            gaps.append("This bubblewrap is old: commands that run at the same time could trick each other's sandbox.")
        return tuple(gaps)

    def _namespaces(self) -> _Found:
        wrapper = find_namespaces(self._helper)
        if wrapper is None:
            return "namespaces: not on this kind of machine"
        said = try_out(wrapper, self._env)
        return f"namespaces: {said}" if said else (wrapper, (*_NAMESPACES_GAPS, *self._limit_gaps(None)))

    def _bubblewrap(self) -> _Found:
        program = find_trusted("bwrap", self._env.get("PATH", ""))
        if program is None:
            return "bubblewrap: not installed where only the system's owner can change it"
        said = "it does not run"
        for wrapper in variants(program):
            said = try_out(wrapper, self._env)
            if not said:
                return wrapper, (*_NAMESPACES_GAPS, *self._limit_gaps(wrapper))
        return f"bubblewrap: {said}"

    def _landlock(self) -> _Found:
        version = landlock_version()
        if not version:
            return "Landlock: not offered by this kernel"
        if machine() not in PROCESSORS:
            return "Landlock: of no use without a filter of system calls for this kind of processor"
        wrapper = Landlock(version, self._helper)
        if said := try_out(wrapper, self._env):
            return f"Landlock: {said}"
        since = tuple(gap for known, gap in _SINCE.items() if version < known)
        return wrapper, (*_LANDLOCK_GAPS, *since, *self._limit_gaps(None))

    def _unconfined(self) -> Wrapper:
        """Where nothing keeps commands in: on Linux, someone still clears up after them."""
        return Landlock(0, self._helper) if sys.platform == "linux" else Plain()


def _fallen(before: RungName, rung: Rung) -> Unavailable:
    hint = (
        "Nothing was run. It is tried again each time, and `agi doctor` tells what is missing. "
        'To go on without a sandbox, set sandbox.mode to "off".'
    )
    was = f"The rung `{before}` held commands here, and no sandbox works any more ({'; '.join(rung.why)})."
    return Unavailable(was, hint=hint, code="sandbox_changed")


def _refuse_another(rung: Rung, confinement: Confinement) -> None:
    """Less may hold now than when the command was judged, and a yes was to what held then."""
    why = f" ({'; '.join(rung.why)})" if rung.why else ""
    if confinement.must_confine and not rung.confines:
        hint = "Nothing was run. `agi doctor` tells what is missing; sandbox.mode `auto` would ask instead."
        raise Unavailable(f"No sandbox works here{why}, and one is required.", hint=hint, code="sandbox_required")
    if confinement.rung not in (None, rung.name):
        hint = "Nothing was run. The next turn is judged by what holds now."
        was = f"This was to run on the rung `{confinement.rung}`, and what works now is `{rung.name}`{why}."
        raise Unavailable(was, hint=hint, code="sandbox_changed")


def _hits(hits: tuple[bool, bool], limits: Limits) -> list[str]:
    memory, processes = hits
    notes = ["it used more memory than a command may, and was ended"] if memory else []
    if processes:
        notes.append(f"it wanted more than {limits.processes} processes at a time, which was refused")
    return notes
