"""What is said of a log that cannot be played or judged again: where it is damaged, and what helps.

May import: errors, protocol.
"""

from __future__ import annotations

import msgspec

from agi.errors import Invalid
from agi.protocol.events import Event


def damaged(what: str) -> Invalid:
    """Make the error of a session's log in which something is not as it was written."""
    return Invalid(
        f"The session's log is damaged: {what}.",
        code="log_damaged",
        hint="`agi log verify` says more; `agi repair --from-mirrors` mends what it can.",
    )


def refuse_unreadable(event: Event) -> None:
    """Raises Invalid where an event does not say what its type may say, as one whose text is lost."""
    try:
        event.data  # noqa: B018 - read for what it raises
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise damaged(f"event {event.seq} cannot be read") from error
