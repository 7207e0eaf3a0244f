"""How the user's own `config.json` is changed: one writer at a time, all or nothing, readable by its owner alone.

Keys that are not being changed keep their bytes. A project's file is never written here. May import: errors.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Raw

from agi.config.files import CONFIG_LIMIT, CONFIG_NAME, read_file
from agi.config.parse import BOM, parse_json
from agi.errors import ConfigError

Document = dict[str, Raw]
"""A settings file by its top keys, each value as it stands there."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def read_document(home_config: Path) -> Document:
    """Read the user's file by its top keys; empty if there is none."""
    path = home_config / CONFIG_NAME
    content = read_file(path, limit=CONFIG_LIMIT)
    if content is None:
        return {}
    parse_json(content, str(path))
    return msgspec.json.decode(content.removeprefix(BOM), type=Document)


def update_document(home_config: Path, change: Callable[[Document], None]) -> None:
    """Read the user's file, let `change` alter it, and put it back in one step; an error leaves it as it was."""
    try:
        home_config.mkdir(parents=True, exist_ok=True, mode=0o700)
        home_config.chmod(0o700)
        with _locked(home_config):
            document = read_document(home_config)
            change(document)
            _replace(Path(os.path.realpath(home_config / CONFIG_NAME)), document)
    except OSError as error:
        path = home_config / CONFIG_NAME
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", hint="Check its permissions.") from error


@contextmanager
def _locked(home_config: Path) -> Iterator[None]:
    descriptor = os.open(home_config / f"{CONFIG_NAME}.lock", _LOCK_FILE, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, document: Document) -> None:
    """Write beside the file, then rename: a reader sees the old or the new, whatever happens in between."""
    content = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    if len(content) > CONFIG_LIMIT:
        hint = "Remove something first; `agi trust --list` shows the workspaces it holds."
        raise ConfigError(f"{path} would become larger than {CONFIG_LIMIT} bytes.", hint=hint)
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with open(os.open(beside, _NEW_FILE, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
