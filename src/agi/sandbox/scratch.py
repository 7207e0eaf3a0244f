"""Folders of ours among everybody's temporary ones, each with the number of the process that made it in its name.

So what a process that was killed has left can be told from what is in use, and the next one removes it. A number says
little where containers or machines share the place, so whoever made a folder also holds a lock on it. May import:
sandbox (`claims`, `homes` and `passing` only).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress

from agi.sandbox.claims import claim, unclaimed
from agi.sandbox.homes import real, within
from agi.sandbox.passing import is_passing

_USUAL = ("/tmp", "/var/tmp")  # noqa: S108 - a folder in it is made by a name nobody can guess, for us alone
_PREFIX = "agi-"
_CHANCE = 8
_ATTEMPTS = 8
_HEX = frozenset("0123456789abcdef")
_MOST = 10_000
"""How many names are looked at; whoever keeps more there clears up in other ways."""
_HELD: dict[str, int] = {}
"""What holds the lock on each folder this process has made; it ends with the process, however that ends."""


def make_folder(env: Mapping[str, str], *, last: Collection[str] = ()) -> str:
    """A new folder that is ours alone, by its real path, in the first place that takes one.

    A place in one of the folders `last` is taken only where no other takes one. Where none does, the `OSError` is one
    that passes, if there is such a one: there may be a place later.
    """
    problems: list[OSError] = []
    for place in sorted(_places(env), key=lambda place: any(within(real(place), one) for one in last)):
        try:
            return _made_in(place)
        except OSError as problem:
            problems.append(problem)
    raise next(filter(is_passing, problems), problems[0])


def _made_in(place: str) -> str:
    for _ in range(_ATTEMPTS):
        folder = os.path.realpath(f"{place}/{_PREFIX}{os.getpid()}-{os.urandom(_CHANCE).hex()}")
        os.mkdir(folder, 0o700)
        try:
            held = claim(folder)
        except FileNotFoundError:
            continue  # for whoever sweeps elsewhere, our number is nobody's
        if held is not None:
            _HELD[folder] = held
        return folder
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), place)


def remove_folder(folder: str) -> None:
    """Remove one with all that is in it, as far as that goes; no link is followed."""
    try:
        os.rmdir(folder)
    except OSError:
        with suppress(OSError, ImportError):  # nor is it loaded where no more files can be opened
            import shutil  # late: it loads a good deal

            shutil.rmtree(folder, ignore_errors=True)
    held = _HELD.pop(folder, None)
    if held is not None:
        os.close(held)


def sweep(env: Mapping[str, str]) -> None:
    """Remove what those left who are no more."""
    for place in _places(env):
        with suppress(OSError), os.scandir(place) as entries:
            for _, entry in zip(range(_MOST), entries, strict=False):
                if _is_left(entry):
                    with suppress(OSError), unclaimed(entry.path):
                        remove_folder(entry.path)


def _is_left(entry: os.DirEntry[str]) -> bool:
    owner, _, chance = entry.name.removeprefix(_PREFIX).partition("-")
    is_ours = entry.name.startswith(_PREFIX) and owner.isdecimal() and len(chance) == _CHANCE * 2
    if (
        not is_ours
        or not _HEX.issuperset(chance)
        or os.path.exists(f"/proc/{owner}")
        or not os.path.exists("/proc/self")
    ):
        return False
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _places(env: Mapping[str, str]) -> list[str]:
    """Where temporary files may be, the wanted place first."""
    wanted = env.get("TMPDIR", "")
    return list(dict.fromkeys((*([wanted] if os.path.isabs(wanted) else ()), *_USUAL)))
