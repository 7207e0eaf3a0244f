"""How many tokens a text takes, by its length: the one estimate that budgets, reports and compaction go by.

No tokenizer: each provider has its own, and loading one costs more than a request. Pure. May import: nothing of ours.
"""

from __future__ import annotations

BYTES = 4
"""Of a token, by and large: of English and of code a little more, of most other scripts a little less."""


def tokens_of(text: str) -> int:
    """About how many tokens a text is."""
    return bytes_of(text) // BYTES


def bytes_of(text: str) -> int:
    """How long a text is when it is sent."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
