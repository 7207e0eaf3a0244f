"""Text of models, tools, files and other people, made safe to draw: nothing in it moves the cursor, colours or hides.

Only for eyes. What is copied, sent or run stays as it is. May import: protocol.
"""

from __future__ import annotations

import re

from agi.protocol.showing import escape, exact

_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[PX^_][^\x1b]{0,4096}\x1b\\|[@-Z\\-_])"
)
"""What terminals act on: colours, cursor movements, titles, links. What is cut off or too long is shown instead."""
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = "\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_UNSAFE = re.compile(f"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI}{_HIDDEN}\ud800-\udfff]")
TAB = 4
_ENOUGH = 4
"""How many times the limit of a line is looked at: what is beyond would be cut off anyway."""


def shown(text: str) -> str:
    """Text of several lines: breaks and tabs work, sequences for terminals are left out, the rest of it is visible."""
    if "\x1b" in text:
        text = _SEQUENCES.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.replace("\r\n", "\n").split("\n"))
    if "\t" in text:
        text = "\n".join(line.expandtabs(TAB) for line in text.split("\n"))
    return _UNSAFE.sub(lambda match: escape(match[0]), text)


def one_line(text: str, limit: int = 100) -> str:
    """Text on one line of at most so many characters, each of them visible."""
    text = exact(" ".join(text[: _ENOUGH * limit].split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _last_state(line: str) -> str:
    """A line as a terminal would end up showing it: of a progress bar, the last of it."""
    return line.rstrip("\r").rpartition("\r")[2]
