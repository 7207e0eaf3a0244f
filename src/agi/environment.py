"""Keys that a daemon was started with: taken out of its environment once they have been read, and lent where needed.

What a process was started with stays readable under `/proc` as long as it runs, whatever it unsets; so the bytes
themselves are wiped. Whoever needs the whole of it was given a copy before. May import: nothing of ours.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL")
"""A variable with one of these in its name is taken for a secret."""
ORDINARY = frozenset({"PATH", "HOME", "LANG", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ"})
"""What every program needs, and every command is given; none of them is taken for a secret by its value."""
SHORTEST = 8
"""Shorter values are too likely to be found in others by chance."""

_kept: dict[str, str] = {}
"""What was taken out, for libraries that look for it in the environment themselves."""
_lending = threading.Lock()


def secrets_in(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that hold a secret: by their name, or because the value of such a one stands in them.

    Where a file is that holds one is none: libraries look there whenever they need it, not only when they begin.
    """
    named = {name: value for name, value in env.items() if is_secret_name(name) and not _is_file(value)}
    values = [value for value in named.values() if len(value) >= SHORTEST and value[0] != "/"]
    beside = {
        name: value for name, value in env.items() if name not in ORDINARY and any(secret in value for secret in values)
    }
    return named | beside


def is_secret_name(name: str) -> bool:
    """Whether a variable is a secret by what it is called."""
    return any(word in name.upper() for word in SECRET_WORDS)


def _is_file(value: str) -> bool:
    """Whether a value says where a file is; some keys begin with a slash too, so it has to be there."""
    return value.startswith("/") and os.path.isfile(value)


def forget_keys() -> None:
    """Take all secrets out of this process's environment, and of what the system shows of it or keeps of a crash."""
    found = secrets_in(os.environ)
    _kept.update(found)
    for name in found:
        del os.environ[name]
    if sys.platform == "linux":
        if found:
            _wipe({os.fsencode(name) for name in found})
        _leave_no_core()


@contextmanager
def lent() -> Iterator[None]:
    """Put them back for a moment: libraries of some providers find their keys nowhere else.

    Only where Python looks: no process that is started meanwhile is given them, and what the system's own library has
    is left alone, since other threads may be reading it.
    """
    seen: dict[bytes, bytes] = vars(os.environ)["_data"]
    with _lending:
        missing = {os.fsencode(name): os.fsencode(_kept[name]) for name in _kept if name not in os.environ}
        seen.update(missing)
        try:
            yield
        finally:
            for name in missing:
                seen.pop(name, None)


def _leave_no_core() -> None:
    """What crashes is not written to a file, where keys would be found that are in use."""
    import resource  # late: only a daemon needs it

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _wipe(names: set[bytes]) -> None:
    """Overwrite variables where they were put when the process was started; nothing points there any more."""
    import ctypes  # late: only a daemon that was given a key this way needs it

    with open("/proc/self/stat", "rb") as file:
        start, end = map(int, file.read().rpartition(b")")[2].split()[47:49])
    if not start:
        return  # this system does not tell
    at = start
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        if entry.partition(b"=")[0] in names:
            ctypes.memset(at, 0, len(entry))
        at += len(entry) + 1
