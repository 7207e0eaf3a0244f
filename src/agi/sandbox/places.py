"""Which places of the machine a command does not see, and which it reads although they lie in one of those.

Home folders are hidden: keys live there. So are `/run`, where services listen, and everybody's `/tmp`. What commands
need of home is read-only: the folders PATH names, with what belongs to them, our own interpreter, and that of a virtual
environment in the workspace. Knows nothing of mounts. May import: sandbox.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from agi.sandbox.base import Confinement
from agi.sandbox.holding import is_stub
from agi.sandbox.homes import (
    ALL_HOMES,
    SECRET_FOLDERS,
    SECRETS,
    START_UP,
    STEERING,
    content_of,
    each_home,
    find_homes,
    outermost,
    real,
    within,
)

SCRATCH = ("/tmp", "/run")  # noqa: S108
"""Folders that are empty at first, and gone with the command."""

_SYSTEM_SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/ssh")
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
    free: tuple[tuple[str, bytes | None], ...] = ()
    """Names in the workspace that must stay free if they are, each with what stands there meanwhile."""
    watched: tuple[str, ...] = ()
    """Names in the workspace to be put back where they cannot be kept from commands, as seen from there."""
    watched_folders: tuple[str, ...] = ()
    """Folders that must not come about there, nor become links."""


def find_places(confinement: Confinement, env: Mapping[str, str]) -> Places:
    """Look at the machine as it is now."""
    workspace = str(confinement.workspace)
    all_homes = find_homes(env.get("HOME", ""), os.getuid())
    homes = outermost(home for home in all_homes if not within(home, workspace))
    veiled = (*homes, *SCRATCH)
    wanted = (
        *_on_path(env.get("PATH", ""), all_homes),
        *_our_own(),
        *_environments(workspace),
        *filter(os.path.exists, (real(str(path)) for path in confinement.readable)),
    )
    readable = _readable(wanted, veiled, workspace)
    hidden = [real(str(path)) for path in confinement.hidden]
    hidden += [path for path in _system_secrets() if os.access(path, os.R_OK)]
    one_by_one = tuple(each_home(all_homes))
    hidden += [path for home in one_by_one for path in _join(home, _TOKENS)]
    # The workspace may be a home folder, or hold one: what is there of keys is hidden, one by one.
    held = [home for home in one_by_one if within(home, workspace)]
    hidden += [path for home in held for path in _join(home, SECRETS)]
    frozen = [path for home in held for path in _join(home, START_UP) if not os.path.islink(path)]
    there = tuple(path for path in hidden if os.path.lexists(path))
    return Places(
        homes=homes,
        readable=readable,
        hidden=_shown(there, veiled, readable, workspace),
        frozen=tuple(frozen),
        free=tuple(_free(held, hidden, workspace)),
        watched=tuple(os.path.relpath(f"{home}/{name}", workspace) for home in held for name in STEERING),
        watched_folders=tuple(os.path.relpath(f"{home}/{name}", workspace) for home in held for name in SECRET_FOLDERS),
    )


def kept_places(confinement: Confinement, env: Mapping[str, str]) -> list[str]:
    """What must not be opened to commands, nor a folder above it: homes, what they hold of keys, hidden places."""
    homes = find_homes(env.get("HOME", ""), os.getuid())
    single = [path for home in each_home(homes) for path in (home, *(f"{home}/{name}" for name in SECRETS))]
    return [*homes, *single, *(real(str(path)) for path in confinement.hidden)]


def _free(homes: Iterable[str], hidden: Iterable[str], workspace: str) -> Iterator[tuple[str, bytes | None]]:
    """Names a command could take to be heard later; a name that is there may be held by another command only."""
    for home in homes:
        for name in (*SECRETS, *START_UP):
            yield f"{home}/{name}", content_of(name)
    for path in hidden:
        if path != workspace and within(path, workspace) and not os.path.lexists(path):
            while not os.path.lexists(os.path.dirname(path)) or is_stub(os.path.dirname(path)):
                path = os.path.dirname(path)  # of what is not there, the outermost
            yield path, None


@lru_cache(maxsize=64)
def _readable(wanted: tuple[str, ...], veiled: tuple[str, ...], workspace: str) -> tuple[str, ...]:
    """Which of the places that are wanted lie in a hidden one. By their names alone, as is what follows."""
    return outermost(
        path for path in wanted if any(within(path, one) for one in veiled) and not within(path, workspace)
    )


@lru_cache(maxsize=64)
def _shown(
    there: tuple[str, ...], veiled: tuple[str, ...], readable: tuple[str, ...], workspace: str
) -> tuple[str, ...]:
    """Which of the places that are to be hidden could be seen otherwise."""
    return outermost(path for path in there if _is_shown(path, veiled, readable, workspace))


def _is_shown(path: str, veiled: Iterable[str], readable: Iterable[str], workspace: str) -> bool:
    if within(workspace, path):
        return False
    if within(path, workspace) or any(within(path, one) for one in readable):
        return True
    return not any(within(path, one) for one in veiled)


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
    return "/".join(path.split("/")[:3]) if home == ALL_HOMES else home


def _installation(folder: str, home: str) -> Iterator[str]:
    name = os.path.relpath(folder, home)
    first = name.split("/")[0]
    if first in SECRETS or name == ".":
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


def _join(home: str, names: Iterable[str]) -> list[str]:
    return [f"{home}/{name}" for name in names if os.path.exists(f"{home}/{name}")]
