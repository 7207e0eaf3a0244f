"""What a command printed, as HTML: sequences for terminals are left out, what hides is written out. Pure.

May import: protocol, rendering.
"""

from __future__ import annotations

from html import escape

from agi.protocol.showing import settled, unhidden
from agi.rendering.sanitising import sanitised


def plain(text: str) -> str:
    """The text as a person may read it: nothing in it acts, and nothing hides."""
    return unhidden(settled(text))


def html(text: str) -> str:
    """The text as a block of its own."""
    return sanitised(f'<pre class="output">{escape(plain(text))}</pre>\n')
