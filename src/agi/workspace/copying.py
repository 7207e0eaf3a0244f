"""A copy of a workspace's files for somebody to work in apart, with a note of what each held at the beginning.

Contents are kept once for all copies, by their digest. What .gitignore leaves out is not copied; links stay
links. May import: errors, workspace.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.errors import AgiError, TooLarge
from agi.workspace.digests import digest, link_digest
from agi.workspace.handle import Workspace
from agi.workspace.walking import walk_visible

MOST_FILES = 50_000
MOST_BYTES = 1 << 30
LARGEST_FILE = 64 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Held(Struct, frozen=True):
    """What a path held: the digest of it, and whether it may be run."""

    digest: str
    runs: bool = False


Base = Mapping[str, Held]
_read_base = msgspec.json.Decoder(dict[str, Held]).decode


def copy_files(workspace: Workspace, target: Path, kept: Path) -> Base:
    """Copy the files into a folder that is there and ours; gives what they held, of which `kept` has the contents."""
    listing = walk_visible(workspace, limit=MOST_FILES, measured=True)
    if listing.truncated or sum(entry.size for entry in listing.entries) > MOST_BYTES:
        raise TooLarge(
            f"The workspace is too large to be copied: more than {MOST_FILES} files, or {MOST_BYTES} bytes.",
            code="workspace_too_large",
            hint="Set workers.isolate to `off`, to have workers change the files themselves.",
        )
    kept.mkdir(parents=True, exist_ok=True, mode=0o700)
    base: dict[str, Held] = {}
    for entry in listing.entries:
        if _is_git(entry.name):
            continue
        place = target / entry.name
        if entry.kind == "directory":
            place.mkdir(parents=True, exist_ok=True)
            continue
        with contextlib.suppress(AgiError):  # it went away meanwhile, or may not be read: then it is not ours to copy
            if entry.kind == "symlink":
                base[entry.name] = _copy_link(workspace, entry.name, place)
            elif entry.kind == "file" and entry.size <= LARGEST_FILE:
                base[entry.name] = _copy_file(workspace, entry.name, place, kept)
    return base


def look_at(workspace: Workspace, base: Base) -> dict[str, tuple[Held | None, bytes | None]]:
    """The paths that hold something else than in the beginning, and what: None for nothing; links have no bytes."""
    found: dict[str, tuple[Held | None, bytes | None]] = {}
    there: set[str] = set()
    for entry in walk_visible(workspace, limit=MOST_FILES, measured=True).entries:
        if entry.kind not in ("file", "symlink") or _is_git(entry.name):
            continue
        there.add(entry.name)
        if entry.kind == "symlink":
            now, data = Held(link_digest(workspace.read_link(entry.name))), None
        else:
            now, data = _held(workspace, entry.name)
        if base.get(entry.name) != now:
            found[entry.name] = now, data
    gone = (path for path in base if path not in there and not workspace_has(workspace, path))
    return found | dict.fromkeys(gone, (None, None))


def workspace_has(workspace: Workspace, path: str) -> bool:
    """Whether something is at a path; what cannot be looked at counts as there."""
    try:
        return workspace.exists(path) or bool(workspace.read_link(path))
    except AgiError as error:
        return error.code not in ("file_not_found", "not_a_directory")


def kept_content(kept: Path, held: Held | None) -> bytes | None:
    """What a digest of a base stands for; None if it is no file, or not kept any more."""
    if held is None or ":" in held.digest:
        return None
    try:
        return (kept / held.digest).read_bytes()
    except OSError:
        return None


def keep(kept: Path, data: bytes) -> str:
    """Keep a content, under its digest; any thread may, also while another keeps the same."""
    name = digest(data)
    place = kept / name
    if not place.exists():
        fresh = kept / f".{name}.{os.urandom(8).hex()}"
        try:
            fresh.write_bytes(data)
            fresh.replace(place)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    return name


def write_base(place: Path, base: Base) -> None:
    """Put the note in place, whole or not at all."""
    fresh = place.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(base))
    fresh.replace(place)


def read_base(place: Path) -> dict[str, Held]:
    """The note of what a copy held in the beginning; raises OSError."""
    return _read_base(place.read_bytes())


def _is_git(path: str) -> bool:
    """A worktree's or submodule's pointer to its repository, which is not one of the files."""
    return path.rpartition("/")[2] == ".git"


def _copy_link(workspace: Workspace, name: str, place: Path) -> Held:
    text = workspace.read_link(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(text, place)
    return Held(link_digest(text))


def _copy_file(workspace: Workspace, name: str, place: Path, kept: Path) -> Held:
    with workspace.open_file(name) as file:
        runs = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
        data = file.read(LARGEST_FILE)
    place.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(place, _NEW, 0o755 if runs else 0o644), "wb") as copy:
        copy.write(data)
    return Held(keep(kept, data), runs)


def _held(workspace: Workspace, name: str) -> tuple[Held, bytes]:
    with workspace.open_file(name) as file:
        runs = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
        data = file.read(LARGEST_FILE)
    return Held(digest(data), runs), data
