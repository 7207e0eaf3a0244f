"""Shell lines that only look: before them nothing needs to be found out, since nothing changes by them.

A short list of programs, plainly called. It saves time and guards nothing: a line that is not on it counts as one that
may change files. May import: nothing of ours.
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
        "file",
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
        "rg",
        "sha256sum",
        "stat",
        "tail",
        "test",
        "tr",
        "tree",
        "true",
        "type",
        "uname",
        "uniq",
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
_BETWEEN = frozenset({"|", "||", "&&", ";"})
_LONGEST = 2000


def only_looks(line: str) -> bool:
    """Tell whether a line is certain to change no file."""
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
    if program == "sort":
        return not any(word.startswith(("-o", "--o")) for word in arguments)
    return program in _PLAIN


def _writes(arguments: list[str]) -> bool:
    return any(word.startswith(("--output", "-O", "--open", "--ext-diff")) for word in arguments)


def _shows(arguments: list[str]) -> bool:
    """`sed -n` with nothing but lines to print."""
    return len(arguments) > 1 and re.fullmatch(r"[\d,$]+p", arguments[1]) is not None
