"""How a `config.json`, or a file like it, is changed: one writer at a time, all or nothing, for its owner alone.

Keys that are not being changed keep their bytes. The user's own file may be a link; a project's is written only where
it seems to be, whatever links the project holds. What is written is others' business. May import: errors.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Raw

from agi.config.files import CONFIG_LIMIT, CONFIG_NAME, PROJECT_DIR, read_file, read_inside
from agi.config.parse import BOM, parse_json
from agi.errors import ConfigError

Document = dict[str, Raw]
"""A settings file by its top keys, each value as it stands there."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def read_document(home_config: Path, name: str = CONFIG_NAME, limit: int = CONFIG_LIMIT) -> Document:
    """Read the user's file by its top keys; empty if there is none."""
    path = home_config / name
    return _document(read_file(path, limit=limit), path)


def read_project_document(project: Path, *, name: str = CONFIG_NAME) -> Document:
    """Read a project's file by its top keys; empty if there is none. A link in its place is refused."""
    content = read_inside(project, f"{PROJECT_DIR}/{name}", limit=CONFIG_LIMIT)
    return _document(content, project / PROJECT_DIR / name)


def update_document(
    home_config: Path, change: Callable[[Document], None], name: str = CONFIG_NAME, limit: int = CONFIG_LIMIT
) -> None:
    """Read the user's file, let `change` alter it, and put it back in one step; an error leaves it as it was."""
    try:
        home_config.mkdir(parents=True, exist_ok=True, mode=0o700)
        home_config.chmod(0o700)
        with _locked(home_config):
            document = read_document(home_config, name=name, limit=limit)
            change(document)
            _replace(Path(os.path.realpath(home_config / name)), document, limit)
    except OSError as error:
        raise _unwritable(home_config / name, error) from error


def update_project_document(project: Path, change: Callable[[Document], None], *, name: str = CONFIG_NAME) -> None:
    """The same for a project's file; its folder is made if there is none."""
    path = project / PROJECT_DIR / name
    try:
        path.parent.mkdir(exist_ok=True, mode=0o700)
        with _held(path.parent) as folder:
            document = read_project_document(project, name=name)
            change(document)
            _replace_in(folder, path, _encoded(path, document))
    except OSError as error:
        raise _unwritable(path, error) from error


def _document(content: bytes | None, path: Path) -> Document:
    if content is None:
        return {}
    parse_json(content, str(path))
    return msgspec.json.decode(content.removeprefix(BOM), type=Document)


def _unwritable(path: Path, error: OSError) -> ConfigError:
    hint = "Check its permissions, and that its folder is a real one."
    return ConfigError(f"{path} cannot be written: {error.strerror}.", hint=hint)


@contextmanager
def _locked(home_config: Path) -> Iterator[None]:
    descriptor = os.open(home_config / f"{CONFIG_NAME}.lock", _LOCK_FILE, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _held(path: Path) -> Iterator[int]:
    """Open a project's folder, which must be none elsewhere, and keep other writers out; no file is left in it."""
    folder = os.open(path, _FOLDER)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)


def _encoded(path: Path, document: Document, limit: int = CONFIG_LIMIT) -> bytes:
    content = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    if len(content) > limit:
        hint = "Remove something first; `agi trust --list` shows the workspaces it holds."
        raise ConfigError(f"{path} would become larger than {limit} bytes.", hint=hint)
    return content


def _replace(path: Path, document: Document, limit: int) -> None:
    content = _encoded(path, document, limit)
    folder = os.open(path.parent, _FOLDER & ~os.O_NOFOLLOW)
    try:
        _replace_in(folder, path, content)
    finally:
        os.close(folder)


def _replace_in(folder: int, path: Path, content: bytes) -> None:
    """Write beside the file, then rename: a reader sees the old or the new, whatever happens in between."""
    beside = f".{path.name}.{os.urandom(8).hex()}"
    try:
        with open(os.open(beside, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
        raise
    os.fsync(folder)
