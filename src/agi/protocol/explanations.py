"""Why a call would be allowed, asked about or denied, for whoever wants to know before it happens.

May import: protocol.
"""

from __future__ import annotations

from msgspec import Struct

from agi.protocol.grants import Remember
from agi.protocol.policies import Rule, Verdict
from agi.protocol.sessions import Risk


class SeenCommand(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One program that a command would start, as the gate sees it."""

    words: tuple[str, ...]
    """The program and its arguments; `…` stands for what only the shell will know."""
    via: str = ""
    """What starts it, such as `env`; absent if the command itself does."""
    guessed: bool = False
    """Whether it is only one of the things that could be started."""
    overwrites: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    note: str = ""
    """Why no rule about its first words can allow it."""


class Explanation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What would become of a call, and why."""

    tool: str
    input: str
    """What was asked about, with every character visible."""
    verdict: Verdict
    rule: str
    """Which rule decided."""
    reason: str
    risk: Risk
    by: tuple[Rule, ...] = ()
    """The rules of a file or of an earlier answer that decided."""
    commands: tuple[SeenCommand, ...] = ()
    unreadable: str = ""
    """Why it cannot be told what the command would run."""
    unsure: tuple[str, ...] = ()
    """Why it may start more than is seen."""
    remember: Remember | None = None
    """What an answer could be remembered as."""
    idle: tuple[str, ...] = ()
    """Rules for this tool that can allow nothing, and why."""
