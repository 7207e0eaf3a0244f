"""How a command ends: its exit code, and what is said about an error. Never a traceback, unless AGI_DEBUG asks for it.

May import: errors, cli.
"""

from __future__ import annotations

import os
import sys

from agi.cli.output import say
from agi.errors import AgiError, BadRequest, ConfigError, Invalid, NotFound

OK = 0
FAILED = 1
"""The turn failed, its verification failed, or the command did."""
USAGE = 2
"""The command line or a setting is wrong; nothing was done."""
REFUSED = 3
"""Calls that need approval were refused, because nobody could be asked; or the plan was not approved."""
LIMITED = 4
"""A limit ended the turn: steps, budget, or the length of an answer."""
TIMEOUT = 5
"""`--timeout` ran out."""
HANGUP = 129
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143


def report(error: AgiError) -> int:
    """Say what went wrong and what to do about it; gives the exit code."""
    from agi.cli.display import Screen  # late, as its like: only where something went wrong
    from agi.cli.hints import hint_of

    show = Screen().show  # it may quote what others wrote
    say(f"agi: {show(error.message)}")
    if hint := hint_of(error.code, error.hint):
        say(f"     {show(hint)}")
    return USAGE if isinstance(error, ConfigError | Invalid | NotFound | BadRequest) else FAILED


def report_unexpected(error: BaseException) -> int:
    """Say that the fault is ours."""
    if os.environ.get("AGI_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    say(f"agi: something went wrong: {type(error).__name__}: {error}")
    say("     Please report it. With AGI_DEBUG=1 set, the same command says where.")
    return FAILED
