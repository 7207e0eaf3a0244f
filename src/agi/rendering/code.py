"""Code as HTML: coloured by classes, one for each kind of token, never by styles.

What is long, has very long lines or takes its lexer too long stays uncoloured: no text of a stranger holds anybody up.
Pure, but for a look at the clock. May import: rendering.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from agi.rendering.sanitising import sanitised

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST = 100_000
LONGEST_LINE = 2_000
"""Beyond these nothing is coloured; reading it would be no pleasure either."""
SECONDS = 0.15
"""After so long the rest of a text stays uncoloured."""
LONGEST_NAME = 40


def html(text: str, language: str | None = None) -> str:
    """A block of code; of a language that is not known, just the text."""
    return sanitised(block(text, language))


def block(text: str, language: str | None) -> str:
    """The same before it is sanitised, for what is put together from several pieces."""
    name, lexer = _lexer((language or "").strip().lower()[: LONGEST_NAME + 1])
    body = escape(text) if lexer is None or not _is_bearable(text) else "".join(_coloured(text, lexer))
    return f'<pre class="code" data-language="{escape(name)}"><code>{body}</code></pre>\n'


def _is_bearable(text: str) -> bool:
    return len(text) <= LONGEST and all(len(line) <= LONGEST_LINE for line in text.split("\n"))


@lru_cache(maxsize=64)
def _lexer(name: str) -> tuple[str, Lexer | None]:
    """The language's own name, and who reads it."""
    if not name or len(name) > LONGEST_NAME:
        return "", None
    from pygments.lexers import get_lexer_by_name  # late: only a page needs it
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return "", None
    return lexer.name, lexer


def _coloured(text: str, lexer: Lexer) -> Iterator[str]:
    """Pieces of HTML, neighbours of a kind joined."""
    give_up = time.monotonic() + SECONDS
    kind, held, done = "", "", 0
    for start, token, value in lexer.get_tokens_unprocessed(text):
        if time.monotonic() > give_up or start != done:
            break  # too slow, or it leaves something out, which no highlighting is worth
        done = start + len(value)
        now = _class(token)
        if now == kind:
            held += value
        else:
            yield _piece(kind, held)
            kind, held = now, value
    yield _piece(kind, held)
    yield escape(text[done:])


def _piece(kind: str, text: str) -> str:
    if not text:
        return ""
    return f'<span class="t-{kind}">{escape(text)}</span>' if kind else escape(text)


@lru_cache(maxsize=512)
def _class(token: Any) -> str:
    """The short name of a token's kind, or of what it is a kind of; white space, plain words and marks have none."""
    from pygments.token import STANDARD_TYPES

    while token not in STANDARD_TYPES:
        token = token.parent
    short = STANDARD_TYPES[token]
    return "" if short in ("w", "x", "n", "p") else short
