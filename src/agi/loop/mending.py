"""What to leave out of a conversation that a provider refuses: the part it names, or old reasoning.

Pure: it says which ids; the log keeps them, and the normaliser puts a note in their place. A conversation that is too
long is `compacting`'s business.
May import: errors, protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agi.errors import ModelError
from agi.protocol.messages import Message
from agi.protocol.parts import Reasoning

MOST_PARTS = 8
"""How often in one call a part may be refused: providers name one at a time."""


def may_mend(code: str, mended: Sequence[str]) -> bool:
    """Whether mending is worth another try, after all that was refused for this call; what does not help ends."""
    return mended.count(code) < (MOST_PARTS if code == "part_refused" else 1)


def to_withhold(error: ModelError, history: Sequence[Message], withheld: Mapping[str, str]) -> tuple[str, ...]:
    """The refs and ids to leave out before asking again; empty if nothing would help."""
    if error.code == "part_refused":
        found = list(error.parts)
    elif error.code == "reasoning_refused":
        found = [part.id for message in history for part in message.parts if isinstance(part, Reasoning)]
    else:
        found = []
    return tuple(one for one in dict.fromkeys(found) if one and one not in withheld)
