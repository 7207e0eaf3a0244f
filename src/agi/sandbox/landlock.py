"""The third rung, and how the last is held: a process that shuts itself in before it becomes the command.

Landlock names what may be read and changed; a filter of system calls refuses what Landlock does not know, above all
sockets. There is no namespace: other processes can be seen, protected files inside the workspace cannot be excepted, so
they are looked at before and after. Without Landlock commands are still limited and cleared up after. May import:
errors, sandbox.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from agi.errors import Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.helper import Helper
from agi.sandbox.homes import within
from agi.sandbox.identity import git_identity
from agi.sandbox.limits import MORE_LIKELY_TO_GO, threads_now, wanted
from agi.sandbox.mounted import kernel_mounts
from agi.sandbox.nested import Nested
from agi.sandbox.places import SCRATCH, Places, find_places
from agi.sandbox.scratch import make_folder, remove_folder
from agi.sandbox.seccomp import Sockets, build_filter
from agi.sandbox.survivors import COMMAND_MARKER, end_marked
from agi.sandbox.syscalls import machine
from agi.sandbox.watch import watch_over
from agi.sandbox.wrapped import Wrapped

GRACE_S = 0.4
DRAIN_S = 0.2
_PATIENCE_S = 6.0

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _DEVICE_CONTROL = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE_DEVICES = (1 << 6) | (1 << 11)
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_CONTROL
_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NO_TCP = 0b11
_OWN_SIGNALS_AND_NAMES = 0b11
_DEVICES_FOLDER = "/dev"
_USABLE_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")


def landlock_version() -> int:
    """Which version of Landlock the kernel offers; 0 is none."""
    import ctypes  # late: asked once

    if not sys.platform.startswith("linux"):
        return 0
    return max(int(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)), 0)


class Landlock:
    """Has commands started by the helper and shut in; version 0 shuts nothing in."""

    def __init__(self, version: int, helper: Helper) -> None:
        self.version = version
        self._helper = helper

    def wrap(
        self, argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str], grouped: bool
    ) -> Wrapped:
        """Make a command ready; it starts where it is started."""
        mark = os.urandom(8).hex()
        wrapped = Wrapped()
        wrapped.patience_s = _PATIENCE_S
        wrapped.sweep = lambda: end_marked(COMMAND_MARKER, (mark,))
        try:
            wrapped.env = {**env, COMMAND_MARKER: mark}
            rules = program = None
            if self.version:
                rules, program = self._shut_in(wrapped, confinement), _filter(confinement)
            order = {
                "grace": GRACE_S,
                "drain": DRAIN_S,
                "limits": wanted(confinement.limits, grouped=grouped, others=threads_now()),
                "score": MORE_LIKELY_TO_GO,
                "landlock": rules,
                "filter": program,
                "enclosure": None,
            }
            wrapped.argv = argv
            wrapped.hold(self._helper, order)
        except BaseException:
            wrapped.close()
            raise
        return wrapped

    def _shut_in(self, wrapped: Wrapped, confinement: Confinement) -> dict[str, object]:
        places = find_places(confinement, wrapped.env)
        _refuse_kernel_mounts(confinement)
        tmp = _private_folder(wrapped, confinement)
        wrapped.env.update(_own_folders(tmp, wrapped.env))
        if not confinement.read_only:
            wrapped.notes.append(watch_over(confinement, places).put_back)
            wrapped.notes.append(Nested(str(confinement.workspace)).put_back)
        files = _RIGHTS_BY_VERSION[min(self.version, max(_RIGHTS_BY_VERSION))]
        offline = confinement.network != "on"
        return {
            "size": 8 if self.version < 4 else 16 if self.version < 6 else 24,
            "files": files,
            "network": _NO_TCP if offline and self.version >= 4 else 0,
            "scope": _OWN_SIGNALS_AND_NAMES if self.version >= 6 else 0,
            "on_files": _ON_FILES & files,
            "allowed": list(_allowed(places, confinement, tmp, files)),
        }


def _refuse_kernel_mounts(confinement: Confinement) -> None:
    """Raise where a command of root's could change settings of the kernel's: nothing can be excepted from a folder."""
    places = [] if confinement.read_only else [str(confinement.workspace)]
    if os.getuid() == 0 and (found := kernel_mounts([*places, *map(os.path.realpath, confinement.writable)])):
        said = f"Something of the kernel's is mounted where a command could change it: {found[0]!r}."
        raise Unavailable(said, hint="Nothing was run. Unmount it, or work elsewhere.", code="sandbox_failed")


def _filter(confinement: Confinement) -> bytes | None:
    internet = confinement.network == "on"
    return build_filter(machine(), Sockets(internet=internet, unix=confinement.unix_sockets))


def _allowed(places: Places, confinement: Confinement, tmp: str, files: int) -> Iterator[tuple[str, int]]:
    change = files & ~_MAKE_DEVICES
    veiled = (*places.homes, *SCRATCH, *places.hidden, _DEVICES_FOLDER)
    for top in ("/", *places.readable):
        for path in _without(top, veiled if top == "/" else places.hidden):
            yield path, _READ
    yield _DEVICES_FOLDER, _READ_DIR
    for device in _USABLE_DEVICES:
        yield f"{_DEVICES_FOLDER}/{device}", _READ_FILE | _WRITE_FILE | (_DEVICE_CONTROL & files)
    for place in (tmp, f"{_DEVICES_FOLDER}/shm", *map(str, confinement.writable)):
        yield os.path.realpath(place), change
    yield str(confinement.workspace), _READ if confinement.read_only else change


def _without(place: str, veiled: Collection[str]) -> Iterator[str]:
    """The fewest places that make up all of one but what is veiled of it."""
    if place not in veiled and not os.path.islink(place):
        yield from _parts(place, veiled)


def _parts(place: str, veiled: Collection[str]) -> Iterator[str]:
    inside = [one for one in veiled if within(one, place)]
    if not inside:
        yield place
        return
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.path not in inside and not entry.is_symlink():
                yield from _parts(entry.path, inside)


def _private_folder(wrapped: Wrapped, confinement: Confinement) -> str:
    if confinement.tmp is not None:
        return str(confinement.tmp)
    folder = make_folder(wrapped.env)
    wrapped.until_over.callback(remove_folder, folder)
    return folder


def _own_folders(tmp: str, env: Mapping[str, str]) -> dict[str, str]:
    """Where programs may put what they would put into home, which they cannot reach."""
    home = env.get("HOME", "")
    settings = Path(tmp, "config")
    settings.mkdir(exist_ok=True)
    identity = Path(tmp, "gitconfig")
    identity.write_bytes(git_identity(home, env.get("XDG_CONFIG_HOME") or f"{home}/.config"))
    return {
        "TMPDIR": tmp,
        "XDG_CONFIG_HOME": str(settings),
        "XDG_CACHE_HOME": str(Path(tmp, "cache")),
        "XDG_DATA_HOME": str(Path(tmp, "data")),
        "XDG_STATE_HOME": str(Path(tmp, "state")),
        "npm_config_cache": str(Path(tmp, "npm")),
        "GIT_CONFIG_GLOBAL": str(identity),
    }
