"""What to leave out of a conversation that a provider refuses: the part it names, old reasoning, or old output.

Pure: it says which ids; the log keeps them, and the normaliser puts a note in their place.
May import: errors, protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agi.errors import ModelError
from agi.protocol.messages import Message
from agi.protocol.parts import Reasoning, ToolResultPart, plain_text

KEPT = 2
"""The newest tool outputs stay while there are older ones: the model is working with them."""
WORTH = 400
"""Characters. A shorter output makes no room."""
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
    elif error.code == "context_overflow":
        found = _old_output(history, withheld)
    else:
        found = []
    return tuple(one for one in dict.fromkeys(found) if one and one not in withheld)


def _old_output(history: Sequence[Message], withheld: Mapping[str, str]) -> list[str]:
    """The older half of the long tool outputs that are still told; few ones all but the newest, a single one too."""
    told = [
        part.content.id
        for message in history
        for part in message.parts
        if isinstance(part, ToolResultPart)
        and part.content.id not in withheld
        and len(plain_text(part.content.parts)) >= WORTH
    ]
    old = told[:-KEPT] or told[:-1] or told
    return old[: (len(old) + 1) // 2] if len(old) > 8 else old
