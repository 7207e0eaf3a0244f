"""A word that is nearly a command: a slip of the finger is not sent to a model. Loaded only for single words.

May import: errors, cli.
"""

from __future__ import annotations

from collections.abc import Iterable

from agi.cli.options import usage

SHORT = 5
"""Up to so many letters a name allows one slip, else two."""
INSTEAD = {"version": "--version"}
"""Words that other programs have as commands, and ours does not."""


def refuse_near(word: str, commands: Iterable[str]) -> None:
    """Raise ConfigError if a prompt of one word looks like a command that was meant."""
    near = [name for name in (*commands, *INSTEAD) if is_near(word.lower(), name)]
    if near:
        meant = min(near, key=lambda name: distance(word.lower(), name))
        error = usage("", f"There is no command {word!r}.")
        error.hint = f"Did you mean `agi {INSTEAD.get(meant, meant)}`? To ask it as a prompt: agi -- {word}"
        raise error


def is_near(word: str, name: str) -> bool:
    """Tell whether a word is a name, but for the slips a hand makes; two slips only where it begins alike."""
    slips = distance(word, name)
    return slips <= 1 or (slips == 2 and len(name) > SHORT and word[0] == name[0])


def distance(one: str, other: str) -> int:
    """How many letters were left out, added, changed or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]
