"""How a query becomes a function that finds it: plain text, plain text in any case, or a regular expression of RE2.

RE2 knows letters and digits of ASCII only behind `\\w` and `\\d`; here they mean those of every script, as for ripgrep.
May import: errors, tools.matches.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from typing import Any

from agi.errors import Invalid
from agi.tools.matches import Query

Finder = Callable[[bytes, int], int]
"""Takes a text and where to begin; says where the next match begins, or -1."""

MEMORY = 64 << 20
"""How much RE2 may use for one pattern."""

_WORD = r"\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}"
_SPACE = r"\t-\r\x{85}\p{Z}"
_INSIDE = {"d": r"\p{Nd}", "D": r"\P{Nd}", "w": _WORD, "s": _SPACE}
_OUTSIDE = {**{key: f"[{value}]" for key, value in _INSIDE.items()}, "W": f"[^{_WORD}]", "S": f"[^{_SPACE}]"}
_TOKENS = re.compile(r"\\(?P<escaped>.)|\[:\w+:\]|(?P<open>\[\^?\]?)|\]|[^\\\[\]]+|\\", re.DOTALL)


def has_engine() -> bool:
    """Whether regular expressions can be searched for without ripgrep."""
    return importlib.util.find_spec("re2") is not None


def finder(query: Query) -> Finder:
    """Make the function that finds a query; raises Invalid for a pattern that is none."""
    if query.regex:
        return _regex(query.text, query.ignore_case)
    if query.ignore_case:
        return _in_any_case(query.text)
    wanted = query.text.encode(errors="surrogateescape")
    return lambda data, at: data.find(wanted, at)


def _in_any_case(text: str) -> Finder:
    """Plain text has nothing that could make Python's own patterns slow."""
    if not text.isascii() or set(text.lower()) & {"k", "s"}:  # these two letters have forms outside ASCII
        return _AnyCase(text).find
    pattern = re.compile(re.escape(text.encode()), re.IGNORECASE)
    return lambda data, at: found.start() if (found := pattern.search(data, at)) else -1


class _AnyCase:
    """Finds a text in any case and script, and tells the place in bytes; each text is decoded once."""

    def __init__(self, text: str) -> None:
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        self._data = b""
        self._text = ""
        self._bytes = self._chars = 0

    def find(self, data: bytes, at: int) -> int:
        if data is not self._data or at < self._bytes:
            self._data, self._text = data, data.decode(errors="surrogateescape")
            self._bytes = self._chars = 0
        self._chars += len(data[self._bytes : at].decode(errors="surrogateescape"))
        self._bytes = at
        found = self._pattern.search(self._text, self._chars)
        if found is None:
            return -1
        return at + len(self._text[self._chars : found.start()].encode(errors="surrogateescape"))


def _regex(pattern: str, ignore_case: bool) -> Finder:
    re2: Any = importlib.import_module("re2")  # late: most machines have ripgrep and never need it
    options = re2.Options()
    options.max_mem = MEMORY
    options.case_sensitive = not ignore_case
    options.never_nl = True
    options.log_errors = False
    try:
        compiled = re2.compile(f"(?m:{_for_every_script(pattern)})", options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        hint = "Check the pattern; a plain text is searched for without regex."
        raise Invalid(f"The search failed: regex parse error: {why}", hint=hint, code="search_invalid") from None
    return lambda data, at: found.start() if (found := compiled.search(data, at)) else -1


def _for_every_script(pattern: str) -> str:
    """Put properties in the place of the classes that RE2 takes as ASCII only; `\\W` and `\\S` in brackets stay so."""
    told: list[str] = []
    inside = False
    for token in _TOKENS.finditer(pattern):
        if token["escaped"]:
            told.append((_INSIDE if inside else _OUTSIDE).get(token["escaped"], token[0]))
            continue
        told.append(token[0])
        inside = (inside or bool(token["open"])) and token[0] != "]"
    return "".join(told)
