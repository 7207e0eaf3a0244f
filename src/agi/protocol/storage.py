"""What sessions take on the disk, how long they are kept, and what was removed. May import: nothing of ours."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class RetentionPolicy(Struct, frozen=True, kw_only=True):
    """What may be kept; None is no limit, and without limits nothing is removed by itself."""

    max_age_days: float | None = None
    """Sessions in which nothing happened for longer are removed."""
    max_bytes: int | None = None
    """If all of it takes more, the sessions that were quiet longest are removed."""
    keep_sessions: int = 0
    """So many of the latest sessions stay in any case."""

    @property
    def limits(self) -> bool:
        """Whether there is a limit at all."""
        return self.max_age_days is not None or self.max_bytes is not None


class StorageUse(Struct, frozen=True, kw_only=True):
    """What is there, in bytes; a file that several sessions share counts once."""

    sessions: int = 0
    database: int = 0
    """The log and its tables, with what is free in the file."""
    reusable: int = 0
    """The part of it that is free, and is used again before the file grows."""
    mirrors: int = 0
    """The readable copies of the log."""
    attachments: int = 0
    artifacts: int = 0
    checkpoints: int = 0
    """What is kept to take changes back."""
    other: int = 0
    """Whatever else lies in the data folder, such as databases that were set aside as damaged."""
    total: int = 0


class RemovedSession(Struct, frozen=True, kw_only=True):
    """A session that is removed, and why."""

    id: str
    title: str | None
    updated_at: str
    bytes: int
    """What it takes, about: its share of the database, and the files that are its own."""
    reason: Literal["age", "size"]


class Leftover(Struct, frozen=True, kw_only=True):
    """Something that a kill left behind."""

    path: str
    """From the data folder."""
    bytes: int


class Collected(Struct, frozen=True, kw_only=True):
    """What was removed, or would be."""

    dry_run: bool
    before: StorageUse
    after: StorageUse
    """What is there now; of a dry run, the same as before."""
    sessions: tuple[RemovedSession, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    in_use: int = 0
    """Sessions that would have gone but are at work: running, waiting for somebody, or held by another process."""
    unknown: tuple[str, ...] = ()
    """Folders with a log that the database does not know; `agi repair --from-mirrors` takes them up."""
