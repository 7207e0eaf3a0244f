"""Attachments and artifacts: files of a session, stored under names we make, fetched only from the session's folder.

What a file is goes by its bytes: that is looked at before it is stored. The log holds its size and SHA-256.
May import: errors, protocol, media.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.errors import DiskFull, Invalid, NotFound, StorageError, TooLarge
from agi.protocol.events import AttachmentAdded
from agi.protocol.ids import new_id

if TYPE_CHECKING:
    from agi.media.sniffing import Kind

LIMIT = 20 * 1024 * 1024
COUNT = 1000
_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}", re.ASCII)
_SAFE = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)


class StoredFile(Struct, frozen=True):
    """A file on disk that may be sent to a client."""

    path: Path
    size: int


def store(folder: Path, filename: str, mime_type: str, data: bytes) -> AttachmentAdded:
    """Write an attachment under a name of ours; returns the event that makes it known. Raises Invalid, TooLarge."""
    if len(data) > LIMIT:
        raise TooLarge(f"The attachment has {len(data)} bytes.", hint=f"At most {LIMIT} are taken.")
    if not data:
        raise Invalid("The attachment is empty.", code="attachment_empty", hint="Send the file's bytes.")
    mime = mime_type.partition(";")[0].strip().lower()
    if not _MIME.fullmatch(mime):
        raise Invalid(f"{mime_type[:80]!r} is not a MIME type.", code="mime_invalid", hint="Such as image/png.")
    from agi.media.door import admit, same_type  # late: most sessions have no attachments

    admitted = admit(same_type(mime), data)
    name = f"{new_id('att')[4:24]}-{_safe_name(filename)}"
    place = folder / "attachments"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    if sum(1 for _ in os.scandir(place)) >= COUNT:
        raise TooLarge(f"The session has {COUNT} attachments already.", hint="Use another session.")
    _write(place / name, data)
    return AttachmentAdded(
        ref=f"attachments/{name}",
        filename=filename,
        mime_type=admitted.mime,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        note=admitted.note,
    )


def _write(path: Path, data: bytes) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("The disk is full; nothing was stored.", hint="Free some space and try again.") from error
        message = f"The attachment could not be stored: {error.strerror}."
        raise StorageError(message, hint="See `agi doctor`.") from error


def fetch(folder: Path, *names: str) -> StoredFile:
    """Find a file of the session; anything but a plain regular file right there is not found."""
    path = folder.joinpath(*names)
    if not all(_is_plain(name) for name in names):
        raise _missing(names[-1])
    try:
        found = os.lstat(path)
    except (OSError, ValueError) as error:
        raise _missing(names[-1]) from error
    if not os.path.isfile(path) or os.path.islink(path) or os.path.realpath(path) != str(path):
        raise _missing(names[-1])
    return StoredFile(path, found.st_size)


def kind_of(folder: Path, ref: str) -> Kind | None:
    """What an attachment is by its bytes; raises NotFound. None for what is too large to have come in as one."""
    from agi.media.sniffing import sniff  # late, as above

    found = fetch(folder, *ref.split("/"))
    return sniff(found.path.read_bytes()) if found.size <= LIMIT else None


class Files:
    """A session's attachments and artifacts, by their refs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, ref: str) -> bytes | None:
        """What the file holds; None if it is gone, or larger than any attachment may be."""
        try:
            found = fetch(self._folder, *ref.split("/"))
            return found.path.read_bytes() if found.size <= LIMIT else None
        except (NotFound, OSError):
            return None


def _is_plain(name: str) -> bool:
    return bool(name) and name not in (".", "..") and not any(bad in name for bad in "/\\\0")


def _safe_name(filename: str) -> str:
    name = _SAFE.sub("_", filename.replace("\\", "/").rpartition("/")[2]).strip("._") or "file"
    return name[-80:]


def _missing(name: str) -> NotFound:
    return NotFound(f"There is no file {name[:80]!r} here.", code="file_not_found", hint="Use the ref you were given.")
