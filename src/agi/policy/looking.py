"""Shell lines that only look: before them nothing needs to be found out, and after them what passed still passes.

A short list of programs, plainly called, without the options by which they write or run others. A line that is not on
it counts as one that may change files. What git or ripgrep is configured to run is not looked at. May import: nothing
of ours.
"""

from __future__ import annotations

import re
import shlex

_PLAIN = frozenset(
    {
        "basename",
        "cat",
        "cd",
        "cksum",
        "cmp",
        "cut",
        "date",
        "df",
        "diff",
        "dirname",
        "du",
        "echo",
        "egrep",
        "false",
        "fgrep",
        "grep",
        "head",
        "id",
        "ls",
        "md5sum",
        "nl",
        "od",
        "printf",
        "pwd",
        "readlink",
        "realpath",
        "sha256sum",
        "stat",
        "tail",
        "test",
        "tr",
        "true",
        "type",
        "uname",
        "wc",
        "which",
        "whoami",
    }
)
_GIT = frozenset(
    {
        "blame",
        "cat-file",
        "describe",
        "diff",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "rev-parse",
        "shortlog",
        "show",
        "status",
    }
)
_FIND = frozenset({"-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"})
_NOT_PLAIN = re.compile(r"[<>`$(){}\\\n\r\0]")
_LONG = {"sort": ("--o", "--c"), "tree": ("--o",), "file": ("--c",), "rg": ("--pre", "--hostname-bin")}
"""Beginnings of the long options by which a program writes a file or runs another one; most may be cut short."""
_SHORT = {"sort": "o", "tree": "oR", "file": "C", "rg": ""}
"""The short ones, which may stand among others."""
_GLOB = ("*", "?", "[")
"""What becomes the names of files may become an option."""
_BETWEEN = frozenset({"|", "||", "&&", ";"})
_LONGEST = 2000


def only_looks(line: str) -> bool:
    """Tell whether a line changes no file; in doubt it does."""
    line = re.sub(r" (?:2>&1|2>/dev/null)(?= |$)", "", line)
    if len(line) > _LONGEST or _NOT_PLAIN.search(line):
        return False
    reader = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    reader.whitespace_split, reader.commenters = True, ""
    try:
        words = list(reader)
    except ValueError:
        return False
    commands: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            commands.append([])
        else:
            commands[-1].append(word)
    return all(_looks(command) for command in commands)


def _looks(words: list[str]) -> bool:
    if not words or any(set(word) <= {"&", "|", ";"} for word in words):
        return False
    program, arguments = words[0], words[1:]
    if program == "git":
        command = next((word for word in arguments if not word.startswith("-")), "")
        return bool(arguments) and arguments[0] == command and command in _GIT and not _writes(arguments)
    if program == "find":
        return not _FIND.intersection(arguments)
    if program == "sed":
        return arguments[:1] == ["-n"] and not any(word.startswith("-") for word in arguments[1:]) and _shows(arguments)
    if program == "uniq":  # a second name is that of the file it writes
        names = [word for word in arguments if not word.startswith("-")]
        return len(names) < 2 and not any(sign in name for name in names for sign in _GLOB)
    if program in _LONG:
        return not any(_is_effect(program, word) for word in arguments)
    return program in _PLAIN


def _is_effect(program: str, word: str) -> bool:
    """Whether a word is, or may become, an option by which a program does more than look."""
    if word.startswith("--"):
        return word.startswith(_LONG[program])
    if word.startswith("-"):
        return any(letter in word for letter in _SHORT[program])
    return bool(_SHORT[program]) and word.startswith(_GLOB)


def _writes(arguments: list[str]) -> bool:
    return any(word.startswith(("--output", "-O", "--open", "--ext-diff")) for word in arguments)


def _shows(arguments: list[str]) -> bool:
    """`sed -n` with nothing but lines to print."""
    return len(arguments) > 1 and re.fullmatch(r"[\d,$]+p", arguments[1]) is not None
