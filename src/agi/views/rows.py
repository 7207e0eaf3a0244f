"""Rows of the tables become values: one that is not as it was written is damage, and is told as that.

SQLite gives a value as what it says it is, whatever its column is declared as. May import: errors, eventlog.schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from agi.errors import Damaged
from agi.eventlog.schema import FROM_MIRRORS

T = TypeVar("T")


def rotted(what: str) -> Damaged:
    """Make the error of a row that is not as it was written; `what` says whose it is."""
    return Damaged(f"The database is damaged: {what}'s row is not as it was written.", hint=FROM_MIRRORS)


@contextmanager
def as_written(what: str) -> Iterator[None]:
    """Raises Damaged where what a row holds is not what it is read as."""
    try:
        yield
    except (msgspec.MsgspecError, TypeError, ValueError, LookupError, RecursionError) as error:
        raise rotted(what) from error


def checked(kind: type[T], **values: object) -> T:
    """A value of that kind, each field of its type; raises msgspec.ValidationError."""
    return msgspec.convert(values, kind)


def as_text(value: str) -> str:
    """The same, which is text; raises TypeError."""
    if type(value) is not str:
        raise TypeError(value)
    return value
