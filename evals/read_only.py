"""Which commands the evaluation lets run unasked: those that only look, one at a time, and nothing clever."""

from __future__ import annotations

import re
import shlex

_GIT = frozenset(("log", "show", "status", "branch", "rev-parse", "rev-list", "shortlog", "symbolic-ref", "diff"))
_LOOKS = frozenset(("ls", "cat", "head", "tail", "wc", "grep", "pwd", "sort", "uniq", "basename", "tree"))
_CLEVER = re.compile(r"[;&<>`$(){}\\\n]")


def only_looks(command: str) -> bool:
    """Whether a command, or each part of a pipe, is one that changes nothing."""
    if _CLEVER.search(command):
        return False
    try:
        parts = [shlex.split(part) for part in command.split("|")]
    except ValueError:
        return False
    return all(_is_allowed(words) for words in parts)


def _is_allowed(words: list[str]) -> bool:
    if not words:
        return False
    if words[0] == "find":
        return not any(word.startswith(("-exec", "-ok", "-delete", "-f")) for word in words)
    if words[0] == "git":
        rest = words[1:]
        return (
            bool(rest) and rest[0] in _GIT and not any(word.startswith(("-d", "-D", "-m", "--output")) for word in rest)
        )
    return words[0] in _LOOKS
