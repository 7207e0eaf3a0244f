"""A shell line as values: the simple commands in it, what each writes to, and what nobody can read.

How a line is taken apart is `reading`'s business, what its commands may do that of others. May import: nothing of ours.
"""

from __future__ import annotations

from msgspec import Struct, field

UNKNOWN = "\0"
"""Stands in a word for what only the shell will know: a variable, the output of a command."""
LONGEST = 10_000
MOST_COMMANDS = 50
DEEPEST = 12
"""How deep lists, substitutions and code given to shells may be nested."""


class Unreadable(ValueError):
    """The line is too long, too deep, or not understood."""


class SimpleCommand(Struct):
    """One program to be started, its words unquoted."""

    words: list[str]
    """The program and its arguments; none where a line only sets variables or opens files."""
    loose: list[int] = field(default_factory=list)
    """Which of the words the shell may turn into other words: patterns, braces, variables."""
    assigns: list[str] = field(default_factory=list)
    """Variables set for it, or by it."""
    overwrites: list[str] = field(default_factory=list)
    """Files emptied before it starts."""
    appends: list[str] = field(default_factory=list)
    """Files added to."""
    reads: list[str] = field(default_factory=list)
    """Files it is given as input."""
    document: str | None = None
    """The here-document or here-string that is its input."""


class Line(Struct):
    """Everything a line says."""

    commands: list[SimpleCommand] = field(default_factory=list)
    """In the order in which they end."""
    functions: list[str] = field(default_factory=list)
    """Functions it defines; what stands in them is among the commands."""
    evaluates: bool = False
    """Whether the value of a variable is calculated with, which can start what the value says."""
    sets: bool = False
    """Whether a loop or an expansion sets a variable that programs or the shell itself may go by."""


def names(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Tell whether an option stands among the arguments: one of the letters, also joined (`-rf`), or a long name.

    A long name may be shortened, as GNU programs and git allow.
    """
    for argument in arguments:
        if argument.startswith("--"):
            word = argument.partition("=")[0]
            if any(word.startswith(name) or (len(word) > 2 and name.startswith(word)) for name in names):
                return True
        elif argument.startswith("-") and any(letter in argument for letter in letters):
            return True
    return False
