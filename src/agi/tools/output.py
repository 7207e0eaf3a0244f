"""What a tool gives back: text that any client can take, and files for what is too long to show.

Files go to the turn's folder and are named in results by the folder's ref; where it lies is sessions' business. Known
secrets are stars in them, as they are in the log. May import: protocol, workspace.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from agi.protocol import ids
from agi.protocol.parts import Artifact
from agi.workspace.diffs import summary

if TYPE_CHECKING:
    from agi.tools.base import ToolContext

ARTIFACT_LIMIT = 64 * 1024 * 1024
"""How much of an output is kept as a file."""
INLINE_DIFF_LIMIT = 256 * 1024
"""How long a diff may be to stand in the result itself."""


def printable(text: str) -> str:
    """Replace what cannot be written as UTF-8, such as a file name in another encoding."""
    return text.encode(errors="replace").decode()


class ArtifactFile:
    """A file of the turn in the making: private, bounded, without secrets, hashed as it is written."""

    def __init__(
        self, context: ToolContext, name: str, *, mime: str = "text/plain", limit: int = ARTIFACT_LIMIT
    ) -> None:
        self._id = ids.new_id(ids.ARTIFACT)
        stem, dot, suffix = name.rpartition(".")
        unique = f"{stem}-{self._id[-12:]}{dot}{suffix}"
        self.ref = f"{context.artifact_ref}/{unique}"
        self._mime = mime
        self._left = limit
        self._size = 0
        self._hash = sha256()
        self.truncated = False
        self._flow = context.redactor.flow() if context.redactor else None
        self._file = os.fdopen(_create(context, unique), "wb", buffering=0)

    def write(self, data: bytes) -> None:
        """Take the next bytes; what is over the limit, or finds no room on the disk, is dropped and `truncated` set."""
        self._put(self._flow.add(data) if self._flow else data)

    def _put(self, data: bytes) -> None:
        kept = data[: self._left]
        try:
            written = self._file.write(kept) or 0
        except OSError:
            written = 0
        self._size += written
        self._hash.update(kept[:written])
        self._left = self._left - written if written == len(data) else 0
        self.truncated = self.truncated or written < len(data)

    def close(self) -> None:
        """No more will come; closing twice is harmless."""
        if self._flow and not self._file.closed:
            self._put(self._flow.rest())
        self._file.close()

    def artifact(self) -> Artifact:
        """Describe the file as it was written; only after closing."""
        return Artifact(
            kind="file", id=self._id, path=self.ref, mime=self._mime, size=self._size, sha256=self._hash.hexdigest()
        )


def _create(context: ToolContext, name: str) -> int:
    """Create a file for the owner only, in a folder for the owner only that is no link."""
    for folder in (context.artifacts.parent, context.artifacts):
        folder.mkdir(mode=0o700, exist_ok=True)
    folder_fd = os.open(context.artifacts, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=folder_fd)
    finally:
        os.close(folder_fd)


def diff_artifact(context: ToolContext, patch: str) -> Artifact:
    """Describe a change by its diff; a very long one is kept as a file instead of inline."""
    patch = printable(patch)
    counts = summary(patch)
    if len(patch) <= INLINE_DIFF_LIMIT:
        return Artifact(kind="file_diff", patch_format="unified", patch=patch, summary=counts)
    file = ArtifactFile(context, "change.diff", mime="text/x-diff")
    try:
        file.write(patch.encode())
    finally:
        file.close()
    stored = file.artifact()
    return Artifact(
        kind="file_diff",
        id=stored.id,
        path=stored.path,
        mime=stored.mime,
        size=stored.size,
        sha256=stored.sha256,
        patch_format="unified",
        summary=counts,
    )
