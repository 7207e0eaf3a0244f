"""An older copy of the database that was put back: it lacks what the mirror of a session still holds.

A mirror follows each commit, so it is never ahead of the database it was written from. Going on from one that is
behind would give numbers a second time. Used on the writer's thread.
May import: errors, eventlog.mirror, eventlog.schema.
"""

from __future__ import annotations

import os
from pathlib import Path

from agi.errors import Damaged
from agi.eventlog.mirror import seqs_from_end, session_folder
from agi.eventlog.schema import FROM_MIRRORS

MOST = 16 << 20
"""How much of a mirror's end is read for its last two events."""
REMEMBERED = 4096
"""Sessions that are not looked at again."""


class Ends:
    """Where sessions end by their mirrors: looked at before the first append of this process, and not at each."""

    def __init__(self, sessions: Path, database: Path) -> None:
        self._sessions = sessions
        self._database = database
        self._compared: set[str] = set()

    def compare(self, session_id: str, seq: int) -> None:
        """See that the mirror does not go on behind event `seq`, the database's last; raises Damaged if it does.

        Call it in a transaction that writes: nobody else commits meanwhile, so what a mirror holds is in the database.
        """
        if session_id in self._compared:
            return
        if seq and self._last(session_id) > seq:
            text = f"{self._database} lacks what {session_id} holds after event {seq}."
            raise Damaged(text, hint=FROM_MIRRORS)
        if len(self._compared) >= REMEMBERED:
            self._compared.clear()
        self._compared.add(session_id)

    def _last(self, session_id: str) -> int:
        """The number of the last event that follows another; 0 for a mirror that tells nothing, whatever the reason."""
        try:
            path = session_folder(self._sessions, session_id) / "events.ndjson"
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return 0
        try:
            after = 0
            for seq in seqs_from_end(fd, session_id, MOST):
                if seq == after - 1:  # a number that rotted goes with none of its neighbours'
                    return after
                after = seq
        except OSError:
            return 0
        finally:
            os.close(fd)
        return 0
