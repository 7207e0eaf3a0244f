"""What a person allowed for longer than one call, and what could be remembered of an answer. May import: protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agi.protocol.policies import Rule

GrantScope = Literal["session", "workspace"]


class Remember(Struct, frozen=True, kw_only=True):
    """The exact rules that an answer can be remembered as, beside letting the call run once."""

    rules: tuple[Rule, ...]
    """All of them are remembered together."""
    text: str
    """The same in words, such as: commands that begin with `git status`."""
    scopes: tuple[GrantScope, ...]
    """For how long: the rest of the session, or in this workspace until revoked."""


class Grant(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule that a person gave by answering a question; it allows, and never what destroys."""

    id: str
    scope: GrantScope
    rule: Rule
    text: str
    """The rule in words."""
    granted_at: str
    session_id: str = ""
    """The session it was given in."""
    workspace_path: str = ""
    """The workspace it holds in."""
