"""Which git commands lose work: those that discard changes, rewrite or delete history, or run what a setting names.

May import: policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from agi.policy.bash.values import UNKNOWN, has_option

_WITH_VALUE = frozenset(
    {"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source", "--list-cmds"}
)
_RUNNING = ("-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack")
"""Options that can name a program."""


def without_global_options(arguments: list[str]) -> list[str]:
    """Leave out the options in front of git's verb, and their values."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        if rest.pop(0) in {*_WITH_VALUE, "-c", "--config-env", "--exec-path"} and rest:
            rest.pop(0)
    return rest


def git_destroys(arguments: list[str]) -> bool:
    """Tell whether `git` with these arguments could lose something."""
    rest = without_global_options(arguments)
    if any(option.startswith(_RUNNING) for option in arguments[: len(arguments) - len(rest)]):
        return True
    if not rest:
        return False
    command, rest = rest[0], rest[1:]
    rule = _RULES.get(command)
    return UNKNOWN in command or (rule is not None and rule(rest))


def _any(arguments: list[str], *words: str) -> bool:
    return any(word in arguments for word in words)


def _checkout(rest: list[str]) -> bool:
    # `git checkout notes.txt` discards changes, `git checkout main` does not; a name that could be a path counts.
    paths = any("." in word or "/" in word or UNKNOWN in word for word in rest if not word.startswith("-"))
    return paths or _any(rest, "--") or has_option(rest, "fBp", "--force", "--ours", "--theirs", "--patch", "--orphan")


def _push(rest: list[str]) -> bool:
    forced = any(word.startswith(("+", ":")) or ":+" in word for word in rest)
    return forced or has_option(rest, "fd", "--force", "--force-with-lease", "--mirror", "--delete", "--prune")


def _restore(rest: list[str]) -> bool:
    return not has_option(rest, "S", "--staged") or has_option(rest, "W", "--worktree")


_RULES: Mapping[str, Callable[[list[str]], bool]] = MappingProxyType(
    {
        "bisect": lambda rest: _any(rest, "run"),
        "branch": lambda rest: has_option(rest, "dDfMC", "--delete", "--force"),
        "checkout": _checkout,
        "checkout-index": lambda rest: True,
        "clean": lambda rest: not has_option(rest, "n", "--dry-run"),
        "commit": lambda rest: has_option(rest, "", "--amend"),
        "config": lambda rest: not (_any(rest, "get", "list", "-l") or has_option(rest, "", "--get", "--list")),
        "difftool": lambda rest: True,
        "filter-branch": lambda rest: True,
        "filter-repo": lambda rest: True,
        "gc": lambda rest: has_option(rest, "", "--prune", "--aggressive"),
        "mergetool": lambda rest: True,
        "prune": lambda rest: not has_option(rest, "n", "--dry-run"),
        "push": _push,
        "read-tree": lambda rest: has_option(rest, "um", "--reset"),
        "rebase": lambda rest: True,
        "reflog": lambda rest: _any(rest, "expire", "delete"),
        "replace": lambda rest: True,
        "reset": lambda rest: has_option(rest, "", "--hard", "--merge", "--keep"),
        "restore": _restore,
        "rm": lambda rest: not has_option(rest, "n", "--cached", "--dry-run"),
        "stash": lambda rest: _any(rest, "drop", "clear", "pop"),
        "submodule": lambda rest: _any(rest, "deinit", "foreach", "update"),
        "switch": lambda rest: has_option(rest, "fC", "--force", "--discard-changes"),
        "tag": lambda rest: has_option(rest, "df", "--delete", "--force"),
        "update-ref": lambda rest: True,
        "worktree": lambda rest: _any(rest, "remove", "prune"),
    }
)
