"""Where settings live, and the one way a project's own files are read before anything of it is trusted.

Such a file may be a symlink out of the project, a device, a pipe that never ends or endless: each is refused with an
error that names it. What the bytes mean is not known here. May import: errors.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from agi.errors import ConfigError, StorageError

PROJECT_DIR = ".agi"
CONFIG_NAME = "config.json"
CONFIG_LIMIT = 1 << 20
HELD_NS = 981_173_106 * 1_000_000_000
"""When something says it was last changed that holds a free name while a sandboxed command runs.

Nothing else says that of itself, and every disk keeps it: some know no years before 1980, and no odd seconds.
"""
HELD_TIMES_NS = (HELD_NS, 1_000_000_000)
"""What it says now, and what older versions had it say."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def config_dir(env: Mapping[str, str]) -> Path:
    """Tell where the user's own settings live: `$XDG_CONFIG_HOME/agi`, else `~/.config/agi`."""
    base = env.get("XDG_CONFIG_HOME", "")
    # The XDG specification says to ignore a relative value; following it would let the folder we stand in choose.
    if not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return Path(base, "agi")


def project_dir(project: Path) -> Path:
    """Tell where a project's settings and data live: `.agi` in its root."""
    return project / PROJECT_DIR


def no_folder(path: Path) -> StorageError:
    """What is said where something else stands in place of a folder of ours."""
    return StorageError(f"{path} is no folder.", hint="Move it away; agi makes its folders itself.")


def read_inside(root: Path, name: str, *, limit: int, links: bool = False, cut: bool = False) -> bytes | None:
    """Read a regular file of a project, given by its relative path; None if there is none.

    Symlinks are refused, or with `links` followed as long as they stay inside the project: what is trusted by its
    content must not be reached by a link, whose content could be another tomorrow. A file longer than `limit` is
    refused, or with `cut` read that far and one byte further, so that the caller can tell.
    """
    real_root = os.path.realpath(root)
    path = os.path.join(root, name)
    parts = _followed(real_root, name, path) if links else _plain(name, path)
    try:
        return _read(_open(real_root, parts), path, limit, cut)
    except (FileNotFoundError, NotADirectoryError):
        _refuse_links(real_root, parts, path)
        return None
    except OSError as error:
        raise _refused(path, error) from error


def read_file(path: Path, *, limit: int) -> bytes | None:
    """Read a file of the user's own, following links; None if there is none."""
    try:
        return _read(os.open(path, _FILE & ~os.O_NOFOLLOW), str(path), limit, cut=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _refused(str(path), error) from error


def is_inside(path: Path, folder: Path) -> bool:
    """Tell whether `path`, with all links followed, is `folder` or lies below it."""
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath((root, real)) == root


def is_held(path: str | Path) -> bool:
    """Tell whether only the sandbox of a running command stands there: then there is no such file."""
    try:
        found = os.lstat(path)
        return stat.S_ISDIR(found.st_mode) and found.st_mtime_ns in HELD_TIMES_NS and not os.listdir(path)
    except OSError:
        return False


def _plain(name: str, path: str) -> list[str]:
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise ConfigError(f"{path!r} is not a path inside the project.", hint="Name a file below the project's root.")
    return parts


def _followed(root: str, name: str, path: str) -> list[str]:
    real = os.path.realpath(path) if "\0" not in name else "/"
    if os.path.commonpath((root, real)) != root:
        raise ConfigError(f"{path!r} leads out of the project.", hint="Name a regular file inside the project.")
    return os.path.relpath(real, root).split(os.sep)


def _open(root: str, parts: list[str]) -> int:
    """Open step by step without following any link, so that a folder swapped meanwhile cannot lead out."""
    folder = os.open(root, _DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _refuse_links(root: str, parts: list[str], path: str) -> None:
    """Tell a file that is not there from one behind a linked folder, which the kernel reports alike."""
    here = root
    for part in parts:
        here = os.path.join(here, part)
        if os.path.islink(here):
            raise ConfigError(f"{path} is reached through a symlink, {here}.", hint="Put a real folder in its place.")


def _refused(path: str, error: OSError) -> ConfigError:
    if error.errno == errno.ELOOP:
        return ConfigError(f"{path} is a symlink.", hint="Put a regular file in its place.")
    return ConfigError(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions, or remove it.")


def _read(descriptor: int, path: str, limit: int, cut: bool) -> bytes:
    """Read and close."""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError(f"{path} is not a regular file.", hint="Put a regular file in its place, or remove it.")
        chunks, left = [], limit + 1
        while left and (chunk := os.read(descriptor, left)):
            chunks.append(chunk)
            left -= len(chunk)
    finally:
        os.close(descriptor)
    if not left and not cut:
        raise ConfigError(f"{path} is larger than {limit} bytes.", hint="Make it smaller, or remove it.")
    return b"".join(chunks)
