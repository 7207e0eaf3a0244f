"""Everything a shell line would start, as far as it can be told: its commands, and what those start in turn.

What is found is complete unless `unsure` says why not: then anything may run. May import: policy.
"""

from __future__ import annotations

from msgspec import Struct, field

from agi.policy.bash.reading import read_line
from agi.policy.bash.values import DEEPEST, UNKNOWN, Line, SimpleCommand, Unreadable, names
from agi.policy.bash.wrappers import MOST_WORDS, Started, name_of, started_by

MOST_PARTS = 400
INTERPRETERS = names(
    "python pypy perl ruby node nodejs deno bun php lua luajit rscript r julia osascript awk gawk mawk nawk tclsh wish "
    "expect ghci runghc elixir iex erl escript scala groovy kotlin jshell java racket guile sbcl clisp clojure m4 dc "
    "gdb lldb sqlite3 vim vi nvim view ex ed emacs ocaml swift"
)
"""Programs that carry out code in a language this gate does not read."""


class Part(Struct):
    """One program that would be started."""

    words: list[str]
    command: SimpleCommand | None = None
    """The simple command of the line, where it is one itself."""
    via: str = ""
    """What starts it, such as `env` or `sh -c`; empty if the line does."""
    guessed: bool = False
    """Whether it is only one of the things that could be started."""
    document: str | None = None
    """The text it reads as its input, where the line has it."""

    @property
    def name(self) -> str:
        """The program without its folder."""
        return name_of(self.words[0]) if self.words else ""


class Seen(Struct):
    """What a line would start."""

    parts: list[Part] = field(default_factory=list)
    line: Line | None = None
    """The line itself; None if it cannot be read."""
    unreadable: str = ""
    """Why the line, or code in it, cannot be read."""
    unsure: list[str] = field(default_factory=list)
    """Why more may be started than is seen, one reason each."""


def see(text: str) -> Seen:
    """Look at a line and at everything it starts."""
    seen = Seen()
    try:
        seen.line = read_line(text)
    except Unreadable as error:
        seen.unreadable = str(error)
        return seen
    for command in seen.line.commands:
        part = Part(command.words, command=command, document=command.document)
        _look(part, seen, 0)
    return seen


def is_hidden(word: str) -> bool:
    """Tell whether a program's name is not what it seems: a variable, a pattern, letters that look alike."""
    return word not in ("[", "[[") and (not word.isascii() or any(sign in word for sign in "*?[{" + UNKNOWN))


def is_interpreter(name: str) -> bool:
    """Tell whether a program carries out code given to it; `python3.11` is one as `python` is."""
    return name in INTERPRETERS or name.rstrip("0123456789.") in INTERPRETERS


def _look(part: Part, seen: Seen, depth: int) -> None:
    seen.parts.append(part)
    if not part.words:
        return
    if depth > DEEPEST or len(seen.parts) > MOST_PARTS or len(part.words) > MOST_WORDS:
        seen.unsure.append("too much is started by other programs")
        return
    if is_hidden(part.words[0]) and not part.guessed:
        seen.unsure.append("the name of a program is known only when it runs")
    started = started_by(part.words)
    if (is_interpreter(part.name) or part.name in ("source", ".")) and not part.guessed:
        seen.unsure.append(f"{part.name} carries out code of its own")
    if started is None:
        return
    if not started.certain and not part.guessed:
        seen.unsure.append(f"what {part.name} starts is not certain")
    _follow(part, started, seen, depth)


def _follow(part: Part, started: Started, seen: Seen, depth: int) -> None:
    """Look at what is started; of guesses only the code in them, since a guess already holds all further ones."""
    guessed = part.guessed or not started.certain
    if not part.guessed:
        for words in started.commands:
            _look(Part(words, via=part.name, guessed=guessed, document=part.document), seen, depth + 1)
    for text in started.code:
        _read_code(text, part, seen, depth, guessed)


def _read_code(text: str, part: Part, seen: Seen, depth: int, guessed: bool) -> None:
    try:
        inner = read_line(text)
    except Unreadable as error:
        if not guessed:
            seen.unreadable = seen.unreadable or f"in the code given to {part.name}, {error}"
        else:
            seen.unsure.append(f"code given to {part.name} cannot be read")
        return
    for command in inner.commands:
        _look(
            Part(command.words, command=command, via=f"{part.name}, code", guessed=guessed, document=command.document),
            seen,
            depth + 1,
        )
