"""Checkpoints as clients see them: what a session changed, what a revert would do, and what it did.

Values only; how they come about is the room `checkpoints`' business. May import: protocol.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agi.protocol.parts import Artifact

CheckpointCause = Literal["call", "interrupted", "revert", "redo_point"]
ChangeStatus = Literal["added", "modified", "deleted", "renamed"]
OmissionCode = Literal["large", "over_limit", "unreadable", "special", "other_device", "too_many", "ignored"]
ConflictReason = Literal["changed_since", "changed_between", "changed_elsewhere", "interrupted", "during_command"]
RevertWhat = Literal["files", "conversation", "both"]


class CheckpointPolicy(Struct, frozen=True, kw_only=True):
    """Whether changes of files can be taken back, and how much room that may take."""

    enabled: bool = True
    """Keep what files held before a call may change them."""
    max_file_bytes: int = 10 * 1024 * 1024
    """A larger file is not covered."""
    max_total_bytes: int = 1024 * 1024 * 1024
    """How large the store may get; then the oldest sessions' checkpoints go. Half of it is for the present files."""


class ChangeCounts(Struct, frozen=True, kw_only=True):
    """How many files came, changed and went."""

    added: int = 0
    modified: int = 0
    deleted: int = 0


class Omission(Struct, frozen=True, kw_only=True):
    """Files that no checkpoint covers, why, and the first of them by name."""

    code: OmissionCode
    files: int
    paths: tuple[str, ...] = ()


class FileChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file that was changed, or would be: what became of it, and its diff where it has one that can be shown."""

    path: str
    status: ChangeStatus
    old_path: str = ""
    """Where a file that was moved stood before."""
    artifact: Artifact
    """A `file_diff`; without a patch if the file is no text, or its diff too long."""
    binary: bool = False
    by_others: bool = False
    """Whether somebody else changed it too, between the session's own changes."""


class SessionDiff(Struct, frozen=True, kw_only=True):
    """What a session changed between two points."""

    session_id: str
    files: tuple[FileChange, ...]
    summary: dict[str, int]
    """All files, and the lines added and removed in those whose diff is shown."""
    truncated: bool = False
    """Whether there are more files, or longer diffs, than are shown."""


class RevertConflict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that holds somebody else's work, or may; it is overwritten only where that is asked for by name."""

    path: str
    reason: ConflictReason
    session_id: str = ""
    """The other session, if it was one."""


class Unrestored(Struct, frozen=True, kw_only=True):
    """A file the session changed that a revert leaves as it is, because what it held is not known."""

    path: str
    reason: str


class Reverted(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a revert did, or with `preview` would do."""

    session_id: str
    to: str
    what: RevertWhat
    preview: bool
    files: tuple[FileChange, ...]
    summary: dict[str, int]
    truncated: bool = False
    conflicts: tuple[RevertConflict, ...] = ()
    """In a preview: what stands against it. Afterwards: what was overwritten because it was asked for."""
    unrestored: tuple[Unrestored, ...] = ()
    messages: int = 0
    """How many messages are no longer part of the conversation."""
    plan: str = ""
    """Names exactly this revert; sent back, nothing else is done."""
    redo: str = ""
    """Reverting to this checkpoint takes the revert back."""
