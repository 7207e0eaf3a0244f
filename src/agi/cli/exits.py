"""How a command ends: its exit code, and what is said about an error. Never a traceback, unless AGI_DEBUG asks for it.

May import: errors, cli; and late, eventlog.
"""

from __future__ import annotations

import errno
import os
import sys

from agi.cli.output import say
from agi.errors import AgiError, BadRequest, ConfigError, Damaged, Invalid, NotFound, StorageError

OK = 0
FAILED = 1
"""The turn failed, its verification failed, or the command did."""
USAGE = 2
"""The command line or a setting is wrong; nothing was done."""
REFUSED = 3
"""Calls that need approval were refused, because nobody could be asked; or the plan was not approved."""
LIMITED = 4
"""A limit ended the turn: steps, budget, or the length of an answer."""
TIMEOUT = 5
"""`--timeout` ran out."""
HANGUP = 129
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143
DAMAGED = "log_damaged"
"""What a daemon, too, refuses as it refuses a wrong request; but nothing of the command line is wrong."""
OUTSIDE = {
    errno.EACCES: "Check who may read and write it.",
    errno.EPERM: "Check who may read and write it.",
    errno.EROFS: "Use a folder on a disk that can be written to.",
    errno.ENOSPC: "Make room on the disk.",
    errno.EDQUOT: "Make room on the disk.",
    errno.ENOTDIR: "Something that is no folder stands in the way; put it elsewhere.",
    errno.EIO: "Check the disk.",
}
"""What a file or a disk refuses without a fault of ours, and what to do about it."""


def report(error: AgiError) -> int:
    """Say what went wrong and what to do about it; gives the exit code."""
    from agi.cli.display import Screen  # late, as its like: only where something went wrong
    from agi.cli.hints import hint_of

    show = Screen().show  # it may quote what others wrote
    say(f"agi: {show(error.message)}")
    if hint := hint_of(error.code, error.hint):
        say(f"     {show(hint)}")
    is_usage = isinstance(error, ConfigError | Invalid | NotFound | BadRequest) and error.code != DAMAGED
    return USAGE if is_usage else FAILED


def _of_database(error: BaseException) -> StorageError | None:
    """What is to be said where the log's database was found damaged, or out of reach, and nobody else said it."""
    sqlite = sys.modules.get("sqlite3")  # who raised one has loaded it; to load it here would cost each command
    if sqlite is None or not isinstance(error, sqlite.DatabaseError):
        return None
    from pathlib import Path  # late, as what follows: only where something went wrong

    from agi.eventlog.schema import unreadable

    failure = unreadable(Path("agi.sqlite"), error)
    is_outside = isinstance(error, sqlite.OperationalError) and getattr(error, "sqlite_errorcode", 1) != 1
    return failure if is_outside or isinstance(failure, Damaged) else None  # 1 is a statement of ours that is wrong


def report_unexpected(error: BaseException) -> int:
    """Say that the fault is ours; or, where a file or the disk refused something, which one and what to do."""
    if os.environ.get("AGI_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, OSError) and error.filename and (hint := OUTSIDE.get(error.errno or 0)):
        return report(StorageError(f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}.", hint=hint))
    if (failure := _of_database(error)) is not None:
        return report(failure)
    say(f"agi: something went wrong: {type(error).__name__}: {error}")
    say("     Please report it. With AGI_DEBUG=1 set, the same command says where.")
    return FAILED
