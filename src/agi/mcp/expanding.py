"""`${NAME}` and `${NAME:-default}` in what a settings file says of a server, filled in from the user's environment.

Keys of model providers are never filled in: they go to no other program. Pure. May import: config.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agi.config.load import VARIABLES

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "AUTH", "CREDENTIAL", "COOKIE")
_KEYS = frozenset(name for names in VARIABLES.values() for name in names if name.endswith("_KEY"))


class Unfilled(Exception):
    """A variable that cannot be filled in, and why."""


def expand(text: str, env: Mapping[str, str]) -> str:
    """Fill in the variables of a text; raises Unfilled. What is filled in is not looked at again."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in _KEYS:
            raise Unfilled(f"it asks for ${{{name}}}, the key of a model provider, which is passed to no other program")
        found = env.get(name, default)
        if found is None:
            raise Unfilled(f"it asks for ${{{name}}}, which is not set")
        return found

    return _REFERENCE.sub(value, text)


def secrets_of(env: Mapping[str, str], headers: Mapping[str, str]) -> list[str]:
    """What of a server's environment and headers looks like a secret, to be kept out of the log."""
    found = [value for name, value in env.items() if any(word in name.upper() for word in _SECRET_WORDS)]
    for name, value in headers.items():
        if any(word in name.upper() for word in _SECRET_WORDS):
            found += [value, value.rpartition(" ")[2]]
    return found
