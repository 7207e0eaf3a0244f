"""What can stand at a path, as values small enough to be compared by the thousand. May import: nothing of ours."""

from __future__ import annotations

import stat
from hashlib import sha256
from typing import Literal, NamedTuple

from msgspec import Struct

Kind = Literal["file", "link", "folder", "opaque", "passed"]
"""`opaque` is a file whose content is not kept; `passed` is what is not looked at: ignored, special, or elsewhere."""
Stamp = tuple[int, int, int, int, int]
"""Mode, size, when written, when changed, inode: a file with the same stamp holds the same."""


class Node(Struct, frozen=True, gc=False):
    """What stands at a path. `key` names the content: by its SHA-256, of an opaque file by its stamp."""

    kind: Kind
    mode: int = 0
    size: int = 0
    key: bytes = b""

    @property
    def is_kept(self) -> bool:
        """Whether it can be brought back as it is."""
        return self.kind in ("file", "link", "folder")


class Known(Struct, frozen=True, gc=False):
    """What was found at a path when it was last looked at; without a stamp it has to be read again."""

    node: Node
    stamp: Stamp | None = None


class Change(NamedTuple):
    """What stood at a path before and after; None is nothing."""

    path: str
    before: Node | None
    after: Node | None


PASSED = Known(Node("passed"))
IGNORED = "ignored"
"""The reason of what ignore rules leave out."""


def key_of(data: bytes) -> bytes:
    """Name content by what it is."""
    return sha256(data).digest()


def permissions(mode: int) -> int:
    """The part of a mode that a checkpoint keeps."""
    return stat.S_IMODE(mode) & 0o777


def opaque(stamp: Stamp, reason: str) -> Node:
    """A file whose content is not kept; it counts as changed when its stamp is another."""
    mode, size, written, _, inode = stamp
    return Node("opaque", permissions(mode), size, f"{reason}:{size}:{written}:{inode}".encode())


def ignored(stamp: Stamp | None) -> Known:
    """What ignore rules leave out: of a file it is known that it changed, of a folder only that it is there."""
    if stamp is None:
        return Known(Node("passed", key=IGNORED.encode()))
    _, size, written, _, inode = stamp
    return Known(Node("passed", key=f"{IGNORED}:{size}:{written}:{inode}".encode()))


def is_ignored(node: Node | None) -> bool:
    """Whether ignore rules leave it out."""
    return node is not None and node.kind == "passed" and reason_of(node) == IGNORED


def reason_of(node: Node) -> str:
    """Why a file is opaque, or passed."""
    return node.key.partition(b":")[0].decode()


def counted(changes: list[Change]) -> tuple[int, int, int]:
    """How many files came, changed and went; folders do not count, nor what is ignored."""
    files = [one for one in changes if any(map(_is_file, one[1:])) and not is_ignored(one.before)]
    added = sum(_is_file(one.after) and not _is_file(one.before) for one in files)
    deleted = sum(_is_file(one.before) and not _is_file(one.after) for one in files)
    return added, len(files) - added - deleted, deleted


def _is_file(node: Node | None) -> bool:
    return node is not None and node.kind != "folder"
