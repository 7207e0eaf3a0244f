"""Which places of the machine a command does not see, and which it reads although they lie in one of those.

Home folders are hidden: keys live there. So are `/run`, where services listen, and everybody's `/tmp`. What commands
need of home is read-only: the folders PATH names, with what belongs to them, our own interpreter, and that of a virtual
environment in the workspace. Knows nothing of mounts. May import: sandbox.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from agi.sandbox.base import Confinement

SCRATCH = ("/tmp", "/run")  # noqa: S108
"""Folders that are empty at first, and gone with the command."""

SYSTEM = frozenset({"/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/usr"})
"""A home folder that is one of these, or holds one, is not hidden: nothing would run."""
_SECRETS = (
    *(".ssh", ".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".mozilla", ".netrc"),
    *(".git-credentials", ".npmrc", ".pypirc", ".password-store", ".pgpass", ".my.cnf", ".boto", ".s3cfg"),
    *(".vault-token", ".terraform.d", ".oci", ".gcloud", ".databrickscfg", ".thunderbird"),
)
"""What is never shown of a home folder, even if PATH leads there."""
_START_UP = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv"),
    *(".zprofile", ".zlogin", ".kshrc", ".gitconfig", ".inputrc"),
)
"""What runs when the user next logs in."""
_SYSTEM_SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/ssh")
_ALL_HOMES = "/home"
_BINARIES = frozenset({"bin", "sbin", ".bin", "shims"})
_SHARED_PREFIXES = frozenset({".local", ".cache"})
_COMPANIONS = {
    ".cargo/bin": (".rustup",),
    ".local/bin": (".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise"),
    "go/bin": ("go/pkg/mod",),
}
"""What programs in one of these folders are useless without."""
_TOKENS = (".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials")
"""Keys that lie in a folder PATH leads to."""
_ENVIRONMENTS = (".venv", "venv", "env", ".env")


class Places(Struct, frozen=True):
    """What is hidden and what is shown of it nevertheless; real paths, none inside another of its kind."""

    homes: tuple[str, ...]
    """Home folders, replaced by empty ones."""
    readable: tuple[str, ...]
    """What is shown of the hidden places, read-only."""
    hidden: tuple[str, ...]
    """Single files and folders that are hidden where they are, to be applied after `readable`."""
    frozen: tuple[str, ...] = ()
    """What may be read but not changed, although the workspace holds it."""


def find_places(confinement: Confinement, env: Mapping[str, str]) -> Places:
    """Look at the machine as it is now."""
    workspace = str(confinement.workspace)
    all_homes = _homes(env.get("HOME", ""), os.getuid())
    homes = _outermost(home for home in all_homes if not within(home, workspace))
    veiled = (*homes, *SCRATCH)
    wanted = (
        *_on_path(env.get("PATH", ""), all_homes),
        *_our_own(),
        *_environments(workspace),
        *filter(os.path.exists, map(os.path.realpath, confinement.readable)),
    )
    readable = _outermost(
        path for path in wanted if any(within(path, one) for one in veiled) and not within(path, workspace)
    )
    hidden = [os.path.realpath(path) for path in confinement.hidden]
    hidden += [path for path in _system_secrets() if os.access(path, os.R_OK)]
    hidden += [path for home in all_homes for path in _tokens(home)]
    frozen: list[str] = []
    for home in all_homes:
        if within(home, workspace):
            # The workspace is a home folder, or holds one: what is there of keys is hidden, one by one.
            hidden += _join(home, _SECRETS)
            frozen += (path for path in _join(home, _START_UP) if not os.path.islink(path))
    shown = [path for path in hidden if _is_shown(path, veiled, readable, workspace)]
    return Places(homes, readable, _outermost(shown), tuple(frozen))


def _is_shown(path: str, veiled: Iterable[str], readable: Iterable[str], workspace: str) -> bool:
    if not os.path.lexists(path) or within(workspace, path):
        return False
    if within(path, workspace) or any(within(path, one) for one in readable):
        return True
    return not any(within(path, one) for one in veiled)


@cache
def _homes(named: str, uid: int) -> tuple[str, ...]:
    """The user's home as the environment and the system name it; root may read everybody's, so all are hidden."""
    found = [named, _home_of(uid)]
    if uid == 0:
        found += ["/root", _ALL_HOMES]
    real = (os.path.realpath(home) for home in found if os.path.isabs(home) and os.path.isdir(home))
    return _outermost(home for home in real if not any(within(one, home) for one in SYSTEM))


def _home_of(uid: int) -> str:
    import pwd  # late: not everywhere

    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""


@cache
def _on_path(search_path: str, homes: tuple[str, ...]) -> tuple[str, ...]:
    """The folders of PATH that lie in a home, each with its installation; those anywhere else as they are."""
    found: list[str] = []
    for folder in search_path.split(":"):
        if not os.path.isabs(folder) or not os.path.isdir(folder):
            continue
        real = os.path.realpath(folder)
        home = next((home for home in homes if within(real, home)), None)
        found += [real] if home is None else _installation(real, _one_home(real, home))
    return tuple(dict.fromkeys(found))


def _one_home(path: str, home: str) -> str:
    """Whose home it is, where all homes are hidden together."""
    return "/".join(path.split("/")[:3]) if home == _ALL_HOMES else home


def _installation(folder: str, home: str) -> Iterator[str]:
    name = os.path.relpath(folder, home)
    first = name.split("/")[0]
    if first in _SECRETS or name == ".":
        return
    prefix = os.path.dirname(folder)
    is_own = os.path.basename(folder) in _BINARIES and prefix != home and first not in _SHARED_PREFIXES
    yield prefix if is_own else folder
    yield from _join(home, _COMPANIONS.get(name, ()))


@cache
def _our_own() -> tuple[str, ...]:
    """Where this interpreter and this program live: tools of the user's run with them."""
    package = Path(__file__).resolve().parents[2]
    return tuple(dict.fromkeys((*map(os.path.realpath, (sys.prefix, sys.base_prefix)), str(package))))


def _environments(workspace: str) -> Iterator[str]:
    """The installations behind virtual environments in the workspace; only if it truly is a Python.

    The link is the workspace's word, which may be hostile: it must not make another folder readable.
    """
    for name in _ENVIRONMENTS:
        if not os.path.islink(f"{workspace}/{name}/bin/python"):
            continue
        folder, program = os.path.split(os.path.realpath(f"{workspace}/{name}/bin/python"))
        prefix = os.path.dirname(folder)
        is_python = program.startswith("python") and os.path.isfile(f"{prefix}/lib/{program}/os.py")
        if os.path.basename(folder) == "bin" and is_python:
            yield prefix


@cache
def _system_secrets() -> tuple[str, ...]:
    """Files that only root can read; as anyone else they need no hiding."""
    found: list[str] = []
    for path in _SYSTEM_SECRETS:
        if os.path.isdir(path):
            found += (entry.path for entry in os.scandir(path) if entry.name.endswith("_key"))
        elif os.path.isfile(path):
            found.append(path)
    return tuple(found)


def _tokens(home: str) -> list[str]:
    homes = [entry.path for entry in os.scandir(home) if entry.is_dir()] if home == _ALL_HOMES else [home]
    return [path for one in homes for path in _join(one, _TOKENS)]


def _join(home: str, names: Iterable[str]) -> list[str]:
    return [f"{home}/{name}" for name in names if os.path.exists(f"{home}/{name}")]


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The same places without those inside another."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(within(path, one) for one in kept):
            kept.append(path)
    return tuple(kept)


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it, by their names alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
