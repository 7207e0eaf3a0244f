"""Text as words that can be found, and what a person typed as an expression over them.

The tokenizer splits at everything that is no letter or digit. We help it where that is not enough: scripts written
without blanks are taken apart character by character (a run of them is then a phrase), and names like `parseEnvelope`
are there whole and in their parts. Whatever is typed becomes quoted words, so nothing can be a syntax error.
Pure. A change of `index_text` needs a new `search_index.VERSION`. May import: nothing of ours.
"""

from __future__ import annotations

import re

from msgspec import Struct

MOST_TERMS = 32
MOST_NAMES = 400
"""How many different names of one text are taken apart."""

_ALONE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u318f\u31a0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Characters of scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, Han, kana; and Hangul."""
_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{3,64}(?![A-Za-z0-9])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TYPED = re.compile(r'"([^"]*)"(\*?)|(\S+)')


class Term(Struct, frozen=True):
    """Something that must be there: words right behind each other, the last one perhaps only begun."""

    text: str
    begins: bool = False


def index_text(text: str) -> str:
    """A text as it is given to the tokenizer."""
    if not text.isascii():
        text = _ALONE.sub(r" \g<0> ", text)
    names = [name for name in dict.fromkeys(_NAME.findall(text)) if _HUMP.search(name)]
    return "\n".join((text, *(_HUMP.sub(" ", name) for name in names[:MOST_NAMES]))) if names else text


def parse_terms(typed: str) -> tuple[Term, ...]:
    """What a person looks for; words without a letter or digit are left out."""
    terms = []
    for phrase, star, word in _TYPED.findall(typed.replace("\0", " ")):
        text = phrase or word.replace('"', " ").rstrip("*")
        if any(character.isalnum() for character in text):
            terms.append(Term(text.strip(), bool(star) or word.endswith("*")))
    return tuple(terms[:MOST_TERMS])


def expression(terms: tuple[Term, ...]) -> str:
    """The terms as the full-text index wants them: all must be there."""
    return " AND ".join(_expression(term) for term in terms)


def _expression(term: Term) -> str:
    whole, parts = _quoted(_ALONE.sub(r" \g<0> ", term.text), term), _quoted(_HUMP.sub(" ", term.text), term)
    return whole if not _HUMP.search(term.text) else f"({whole} OR {parts})"


def _quoted(text: str, term: Term) -> str:
    return '"' + text.replace('"', '""') + '"' + ("*" if term.begins else "")


def pattern(term: Term, *, strict: bool) -> re.Pattern[str]:
    """How a term looks in a text, to show where it is; not strict, also within longer words."""
    words = [word for word in re.split(r"[\W_]+", _ALONE.sub(r" \g<0> ", _HUMP.sub(" ", term.text))) if word]
    body = r"[\W_]*".join(map(re.escape, words))
    ends = "" if term.begins else r"(?![^\W_])"
    return re.compile(rf"(?<![^\W_]){body}{ends}" if strict and not _ALONE.search(term.text) else body, re.IGNORECASE)
