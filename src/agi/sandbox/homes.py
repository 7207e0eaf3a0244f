"""Home folders: where they are, what in them holds keys, and what in them runs when their owner next logs in.

Knows nothing of workspaces. May import: nothing of ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

ALL_HOMES = "/home"
_LOOK = getattr(os, "O_PATH", os.O_NONBLOCK) | os.O_CLOEXEC
_REMOVED = " (deleted)"
SYSTEM = frozenset({"/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/usr"})
"""A home folder that is one of these, or holds one, is not hidden: nothing would run."""
_SECRET_FILES = (
    *(".netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".boto", ".s3cfg"),
    *(".vault-token", ".databrickscfg"),
)
SECRET_FOLDERS = (
    *(".ssh", ".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".mozilla"),
    *(".password-store", ".terraform.d", ".oci", ".gcloud", ".thunderbird"),
)
SECRETS = (*_SECRET_FILES, *SECRET_FOLDERS)
"""What is never shown of a home folder, even if PATH leads there."""
START_UP = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv"),
    *(".zprofile", ".zlogin", ".zlogout", ".kshrc", ".gitconfig", ".inputrc", ".pam_environment"),
    *(".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".vimrc", ".tmux.conf"),
)
"""What runs when the user next logs in, or opens a shell or an editor."""
STEERING = (*START_UP, *_SECRET_FILES, ".ssh/authorized_keys", ".ssh/config", ".ssh/rc", ".config/agi")
"""Single names whose change would give a command more than it has, for rungs that cannot keep whole folders away."""


@cache
def find_homes(named: str, uid: int) -> tuple[str, ...]:
    """The user's home as the environment and the system name it; root may read everybody's, so all are hidden."""
    found = [named, _home_of(uid)]
    if uid == 0:
        found += ["/root", ALL_HOMES]
    real = (os.path.realpath(home) for home in found if os.path.isabs(home) and os.path.isdir(home))
    return outermost(home for home in real if not any(within(one, home) for one in SYSTEM))


def each_home(homes: Iterable[str]) -> Iterator[str]:
    """One by one, where all homes are named together."""
    for home in homes:
        if home == ALL_HOMES:
            yield from (entry.path for entry in os.scandir(home) if entry.is_dir())
        else:
            yield home


def content_of(name: str) -> bytes | None:
    """What stands in the place of a name that must stay free: None is a folder."""
    return None if name in SECRET_FOLDERS else b""


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The same places without those inside another."""
    return _outermost(tuple(paths))


@lru_cache(maxsize=256)
def _outermost(paths: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(within(path, one) for one in kept):
            kept.append(path)
    return tuple(kept)


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it, by their names alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def real(path: str) -> str:
    """Where a path leads, as `os.path.realpath` says it: by one step of the kernel's where something is there."""
    try:
        fd = os.open(path, _LOOK)
    except (OSError, ValueError):
        return os.path.realpath(path)
    try:
        found = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        found = ""
    finally:
        os.close(fd)
    # What was removed just now has a mark at its end, and a pipe or the like has no path at all.
    return found if found.startswith("/") and not found.endswith(_REMOVED) else os.path.realpath(path)


def _home_of(uid: int) -> str:
    import pwd  # late: not everywhere

    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""
