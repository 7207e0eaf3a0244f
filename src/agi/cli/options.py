"""Reading a command line by hand: options, their values, and words. Faster to load than any library, and stricter.

What follows `--` is never an option, nor is what an option took as its value, nor a word with a blank in it. What the
options mean is the commands' business. May import: errors.
"""

from __future__ import annotations

from agi.errors import ConfigError

TYPE_CHECKING = False  # as `typing` has it, which costs more to load than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FLAG = ""
"""What stands in an option table for an option without a value; others name their value, such as `NAME`.

A value in brackets, such as `[PATH]`, can only be said with `=`, and is empty otherwise. One that ends with `…` may be
given several times.
"""
HELP = "--help"
SHORT = {"-a": "--agent", "-c": "--continue", "-h": HELP, "-m": "--model", "-s": "--session", "-y": "--yes"}
"""The short spellings, of the commands that know the long ones."""


class Arguments:
    """A command line that was understood."""

    __slots__ = ("after", "command", "given", "several", "words")

    def __init__(self, command: str, given: dict[str, str], words: list[str], after: list[str] | None) -> None:
        self.command = command
        self.given = given
        """The options that were given, with their values."""
        self.words = words
        """What is no option, in order."""
        self.after = after
        """What came after `--`; None if there was none."""
        self.several: list[tuple[str, str]] = []
        """Those that may be given several times, with their values, in order."""

    def has(self, name: str) -> bool:
        """Tell whether an option was given."""
        return name in self.given

    def get(self, name: str) -> str | None:
        """Give the value of an option, or None."""
        return self.given.get(name)

    def all(self, name: str) -> list[str]:
        """Give all values of an option that may be given several times."""
        return [value for given, value in self.several if given == name]

    def number(self, name: str, *, least: float, most: float) -> float | None:
        """Give the value of an option as a number in a range, or None."""
        text = self.given.get(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise usage(self.command, f"{name} must be a number from {least:.15g} to {most:.15g}, not {text!r}.")
        return value

    def only(self, *counts: int) -> list[str]:
        """Give the words if there are as many as the command takes."""
        words = [*self.words, *(self.after or ())]
        if len(words) not in counts:
            told = f"does not take {' '.join(words)[:80]!r}" if words else "needs to be told more"
            raise usage(self.command, f"`agi {self.command}` {told}.")
        return words


def parse(command: str, arguments: Iterable[str], options: Mapping[str, str]) -> Arguments:
    """Take a command line apart; raises ConfigError for what the command does not know."""
    given: dict[str, str] = {}
    words: list[str] = []
    found = Arguments(command, given, words, None)
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            found.after = list(rest)
            return found
        if not _is_option(argument):
            words.append(argument)
            continue
        typed, has_value, value = argument.partition("=")
        name = _long(typed, options)
        if name != HELP and name not in options:
            raise _unknown(command, typed, options)
        if options.get(name, FLAG) == FLAG:
            if has_value:
                raise usage(command, f"{name} takes no value.")
        elif not has_value and not options[name].startswith("["):
            value = _next_value(command, name, next(rest, None), options)
        if options.get(name, FLAG).endswith("…"):
            found.several.append((name, value))
        elif name in given and options.get(name):
            raise usage(command, f"{name} is given twice.")
        given[name] = value
    return found


def usage(command: str, message: str) -> ConfigError:
    """Make the error of a command line that is wrong."""
    return ConfigError(message, hint=f"See `agi {command + ' ' if command else ''}--help`.", code="usage")


def nearest(name: str, names: Iterable[str]) -> str:
    """Say which names look like this one; empty if none does."""
    from difflib import get_close_matches  # late: needed only for a typing mistake

    near = get_close_matches(name, list(names), n=3)
    return f"Did you mean {' or '.join(near)}? " if near else ""


def _is_option(argument: str) -> bool:
    """A dash and a word is an option; a lone dash is none, and neither is text that merely begins with a dash."""
    name = argument.partition("=")[0]
    return len(argument) > 1 and argument[0] == "-" and not any(character.isspace() for character in name)


def _long(name: str, options: Mapping[str, str]) -> str:
    long = SHORT.get(name, name)
    return long if long in options or long == HELP else name


def _next_value(command: str, name: str, value: str | None, options: Mapping[str, str]) -> str:
    if value is None:
        raise usage(command, f"{name} needs a value: {name} {options[name]}.")
    if value == "--" or (meant := _long(value.partition("=")[0], options)) in options or meant == HELP:
        raise usage(command, f"{name} needs a value, and {value} is an option. If it is meant: {name}={value}.")
    return value


def _unknown(command: str, name: str, options: Mapping[str, str]) -> ConfigError:
    hint = nearest(name, options) + "Text that begins with a dash goes after `--`. "
    error = usage(command, f"There is no option {name[:80]!r}{f' of `agi {command}`' if command else ''}.")
    error.hint = hint + error.hint
    return error
