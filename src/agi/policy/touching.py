"""Rules about files, held against a command line: which files it writes to, and which it names.

A rule that keeps a file from the tools that write or read it keeps it from commands, too, as far as a line shows what
it touches; where it does not, a person is asked. May import: protocol, policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

from agi.policy.bash.seen import Seen
from agi.policy.bash.values import UNKNOWN
from agi.policy.places import is_device
from agi.protocol.policies import Rule

Match = Literal["yes", "maybe", "no"]
WRITERS = frozenset({"write_file", "fs.write"})
"""A redirection needs what writing a file would need."""
CHANGERS = WRITERS | {"edit", "apply_patch"}
LOOKERS = frozenset({"read_file", "fs.read"})
_SIGNS = "*?[{" + UNKNOWN


def about_files(rules: Iterable[Rule]) -> list[Rule]:
    """The rules about the files of other tools that hold for commands as well: those that deny or ask."""
    tools = CHANGERS | LOOKERS
    return [rule for rule in rules if rule.verdict != "allow" and rule.path is not None and rule.tool in tools]


def touches(rule: Rule, seen: Seen) -> Match:
    """Tell whether a line does to a file what a rule is about."""
    if seen.unreadable or seen.line is None:
        return "maybe"
    commands = [part.command for part in seen.parts if part.command is not None]
    paths = [path for command in commands for path in (*command.overwrites, *command.appends)]
    if rule.tool not in CHANGERS:
        paths += [word for command in commands for word in (*command.words[1:], *command.reads)]
    paths = [path for path in paths if not is_device(path)]
    moved = any(command.words[:1] in (["cd"], ["pushd"]) for command in commands)
    found = {_meets(rule.path or "", path) for path in paths}
    if "yes" in found:
        return "yes"
    return "maybe" if "maybe" in found or (moved and paths) else "no"


def matches(pattern: str, path: str) -> bool:
    """Compare a path with a pattern, folder by folder; `**` stands for any number of them."""
    wanted, found = pattern.removeprefix("./").split("/"), path.split("/")
    reach = {0}
    for part in wanted:
        if part == "**":
            reach = set(range(min(reach, default=len(found) + 1), len(found) + 1))
        else:
            reach = {at + 1 for at in reach if at < len(found) and fnmatchcase(found[at], part)}
    return len(found) in reach


def _meets(pattern: str, word: str) -> Match:
    path = "/".join(part for part in word.split("/") if part not in ("", "."))
    if matches(pattern, path) or (word.endswith("/") and matches(pattern, f"{path}/x")):
        return "yes"
    if matches(pattern, f"{path}/x") or ".." in path.split("/"):
        return "maybe"  # a folder of such files, or a way that is not plain
    if not any(sign in word for sign in _SIGNS):
        return "no"
    return "maybe" if UNKNOWN in word or "{" in word or _may_meet(pattern, path) else "no"


def _may_meet(pattern: str, path: str) -> bool:
    """Tell whether a pattern of the shell could stand for a file the rule is about, going by the first folder."""
    wanted, given = pattern.removeprefix("./").split("/")[0], path.split("/")[0]
    return any(sign in wanted for sign in "*?[") or fnmatchcase(wanted, given)
