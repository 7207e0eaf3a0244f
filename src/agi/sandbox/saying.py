"""The words on the line between the daemon and the holder of a command.

Apart from the line itself, since the helper loads as little as it can. May import: nothing of ours.
"""

from __future__ import annotations

MEMBER = b"m"
"""What the helper adds to a holder's number: it was born in the control group it was to be born in."""
LEAVE, ASK, KILL = b"g", b"t", b"k"
"""What the daemon says: begin; end it, politely; end it now."""
STARTED, LEFT_SOME, ENDED_ALL = b"s", b"l", b"e"
"""What it hears: the command runs; something it left had to be ended; nothing is left. A holder adds how it ended."""
