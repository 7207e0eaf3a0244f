"""What .gitignore files say: which names a listing leaves out, as git would.

The rules are text from a project and may be hostile: they are bounded, and none can make matching slow. Pure: whoever
walks brings the text. May import: nothing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct

RULES_LIMIT = 256 * 1024
"""How many bytes of a file of rules count."""
MOST_RULES = 5_000
ANY = "**"
"""A part of a rule that stands for any number of names."""

_NAMED = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_CLASS = re.compile(r"\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_ITEM = re.compile(r"\[:(\w+):\]|(\\.|[^\\])-(\\.|[^\\])|\\(.)|(.)", re.DOTALL)


class Rule(Struct, frozen=True):
    """One line: a glob for each name of a path, `**` for any number of them."""

    parts: tuple[str, ...]
    negated: bool = False
    only_folders: bool = False

    def __str__(self) -> str:
        """The rule as a line of a .gitignore file."""
        return f"{'!' * self.negated}/{'/'.join(self.parts)}{'/' * self.only_folders}"


def read_rules(text: str) -> list[Rule]:
    """Read the lines of a .gitignore file; those that can match nothing are left out."""
    lines = text.removeprefix("\ufeff").split("\n")[:MOST_RULES]
    return [rule for line in lines if (rule := _rule(line.removesuffix("\r")))]


def _rule(line: str) -> Rule | None:
    if line.startswith("#"):
        return None
    line = _without_blank_end(line)
    negated = line.startswith("!")
    line = line.removeprefix("!") if negated else line
    only_folders = line.endswith("/")
    line = line.removesuffix("/")
    if not line or line == "/":
        return None
    parts = tuple(line.removeprefix("/").split("/")) if "/" in line else (ANY, line)
    if not all(part and name_pattern(part) for part in parts):
        return None
    return Rule(parts, negated, only_folders)


def _without_blank_end(line: str) -> str:
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    return line


@lru_cache(maxsize=4096)
def name_pattern(glob: str) -> re.Pattern[str] | None:
    """A glob for one name as a pattern; None if it can match nothing."""
    source = _source(glob)
    return None if source is None else re.compile(source + r"\Z", re.DOTALL)


def _source(glob: str) -> str | None:
    """Between two stars everything has a fixed length, so the first place that fits is as good as any later one:
    an atomic group takes it and never comes back, which keeps matching quick.
    """
    pieces, at = [""], 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[":
            found = _CLASS.match(glob, at)
            if found is None:
                return None
            pieces[-1] += _class(found[2], negated=bool(found[1]))
            at = found.end() - 1
        else:
            at += char == "\\"
            if at == len(glob):
                return None
            pieces[-1] += re.escape(glob[at])
        at += 1
    if len(pieces) == 1:
        return pieces[0]
    between = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{between}.*{pieces[-1]}"


def _class(items: str, *, negated: bool) -> str:
    inside = ""
    for named, low, high, escaped, plain in _ITEM.findall(items):
        if low and low[-1] > high[-1]:
            continue
        if named:
            inside += _NAMED.get(named, "")
        elif low:
            inside += f"{re.escape(low[-1])}-{re.escape(high[-1])}"
        else:
            inside += re.escape(escaped or plain)
    if not inside:
        return "." if negated else r"(?!)"
    return f"[{'^' * negated}{inside}]"


class Rules:
    """The rules that hold from one folder down; the last one that fits a path decides."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)[:MOST_RULES]

    @cached_property
    def _may_fit(self) -> re.Pattern[str] | None:
        """Fits each last name that some rule could be about; None if any could be. Most names fit no rule at all."""
        lasts = {rule.parts[-1] for rule in self.rules}
        sources = [_source(last) or "" for last in sorted(lasts)]
        return None if ANY in lasts else re.compile(f"(?:{'|'.join(sources)})\\Z", re.DOTALL)

    def verdict(self, names: Sequence[str], *, is_folder: bool) -> bool | None:
        """Whether a path, given as names from the rules' folder down, is left out; None if they do not say."""
        if not self.rules or (self._may_fit is not None and not self._may_fit.match(names[-1])):
            return None
        for rule in reversed(self.rules):
            if (is_folder or not rule.only_folders) and fits(rule.parts, names):
                return not rule.negated
        return None


def fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Match name by name; `**` at the end stands for at least one."""
    return len(parts) in _reached(parts, names)


def _reached(parts: Sequence[str], names: Sequence[str]) -> set[int]:
    """How many parts can be used up by all of the names, in each way there is."""
    reached = _passing({0}, parts)
    for name in names:
        used = {at for at in reached if at < len(parts) and parts[at] == ANY}
        used |= {at + 1 for at in reached if at < len(parts) and (parts[at] == ANY or _is(parts[at], name))}
        reached = _passing(used, parts)
        if not reached:
            break
    return reached


def _passing(reached: set[int], parts: Sequence[str]) -> set[int]:
    """A `**` that is not the last part may stand for no name at all."""
    passed = set(reached)
    for at in sorted(reached):
        while at < len(parts) - 1 and parts[at] == ANY:
            at += 1
            passed.add(at)
    return passed


def _is(glob: str, name: str) -> bool:
    pattern = name_pattern(glob)
    return pattern is not None and pattern.match(name) is not None


def inherited(rules: Sequence[Rule], way: Sequence[str]) -> list[Rule]:
    """What rules of an upper folder mean for one that lies `way` below it. None of them hides that folder itself:
    whoever looks into it wants to see it.
    """
    for depth in range(1, len(way) + 1):
        if Rules(rules).verdict(way[:depth], is_folder=True):
            return []
    return [Rule(rule.parts[at:], rule.negated, rule.only_folders) for rule in rules for at in _left(rule.parts, way)]


def _left(parts: Sequence[str], way: Sequence[str]) -> list[int]:
    """From which parts on a rule still has something to say; a `**` says what the part behind it does, and more."""
    reached = _reached(parts, way)
    return sorted(at for at in reached if at < len(parts) and not (at - 1 in reached and parts[at - 1] == ANY))
