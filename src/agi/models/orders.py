"""Orders the demo carries out to the letter: one plain sentence becomes one tool call; nothing is understood.

So that editing, approvals and jobs can be tried without a model. Whether a call may run is not decided here.
May import: protocol, models.scripted.
"""

from __future__ import annotations

import re

from agi.models.scripted import Call
from agi.protocol.parts import Json

FORMS = ("write FILE: TEXT", "edit FILE: OLD => NEW", "run: COMMAND", "start: COMMAND")
"""What can be ordered, as people write it; `start` runs the command in the background."""

_WRITE = re.compile(r"write (\S+): (.+)", re.DOTALL)
_EDIT = re.compile(r"edit (\S+): (.+?) => (.+)", re.DOTALL)
_COMMAND = re.compile(r"(run|start): (.+)", re.DOTALL)


def order_in(text: str) -> Call | None:
    """Give the call that a text orders; None if it is none of the forms."""
    text = text.strip()
    if found := _WRITE.fullmatch(text):
        return Call("write_file", {"path": found[1], "content": found[2] + "\n"})
    if found := _EDIT.fullmatch(text):
        return Call("edit", {"path": found[1], "old_text": found[2], "new_text": found[3]})
    if found := _COMMAND.fullmatch(text):
        background: Json = {"background": True} if found[1] == "start" else {}
        return Call("shell", {"command": found[2], **background})
    return None
