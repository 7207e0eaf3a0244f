"""Whether a terminal is fit for the interface, and whether what draws it is installed. Loads nothing heavy.

May import: errors, extras.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec

from agi.errors import ConfigError
from agi.extras import how_to_add

INSTALL = 'Run `{command}`. Until then, `agi "<prompt>"` asks without it.'
LINES_ONLY = 'This terminal knows only lines of text (TERM is {term}), so there can be no screen. Use `agi "<prompt>"`.'


def check_fit(env: Mapping[str, str], *, keys: int = 0, screen: int = 2) -> None:
    """Raise ConfigError, with what to do, where it cannot be drawn: keys come from stdin, the screen is stderr."""
    if not os.isatty(keys) or not os.isatty(screen):
        raise ConfigError(
            "`agi tui` needs a terminal, and input or output is none.",
            hint='Use `agi "<prompt>"` in pipes and scripts.',
            code="no_terminal",
        )
    term = env.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        shown = repr(term[:40]) if term else "not set"
        raise ConfigError(
            LINES_ONLY.format(term=shown), hint="Or set TERM, such as xterm-256color.", code="no_terminal"
        )
    if find_spec("textual") is None:
        hint = INSTALL.format(command=how_to_add("tui"))
        raise ConfigError("The terminal interface is not installed.", hint=hint, code="not_installed")
