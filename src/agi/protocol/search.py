"""Looking for what was said and done in sessions: what is asked, what is found, what is brought back.

May import: protocol.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.protocol.messages import Role
from agi.protocol.parts import Audio, File, Image

FoundKind = Literal["message", "tool", "file", "title"]
"""Something said; a call or its result; files a call names or changed; a session's title."""

MOST_HITS = 100
LONGEST_QUERY = 500
CallOrMessageId = Annotated[str, Meta(min_length=1, max_length=200)]


class Search(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is looked for, and where. Every filter that is given must fit."""

    q: str = ""
    """Words that must all be there; `"a phrase"`, `begin*`. May be empty where a filter says enough."""
    limit: int = 20
    session_id: str | None = None
    role: Role | None = None
    kind: FoundKind | None = None
    tool: str | None = None
    path: str | None = None
    """A file or folder that was touched in the same turn."""
    agent: str | None = None
    since: str | None = None
    until: str | None = None
    workspace_path: str | None = None
    cursor: str | None = None
    """The `next` of the page before."""


class Hit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was found."""

    session_id: str
    title: str | None
    kind: FoundKind
    seq: int
    """The event it is in."""
    ts: str
    snippet: str
    """The words around the match, on one line."""
    marks: tuple[tuple[int, int], ...]
    """Where in the snippet the matches are: first character, and the one behind the last."""
    score: float
    """How well it fits; comparable within one answer only."""
    role: Role | None = None
    turn_id: str | None = None
    message_id: str | None = None
    tool_call_id: str | None = None
    tool: str | None = None
    paths: tuple[str, ...] = ()
    """The files, where the hit is about files."""
    reverted: bool = False
    """Whether it was taken back: still in the log, no part of the conversation any more."""


class Found(Struct, frozen=True, kw_only=True):
    """A page of hits, best first."""

    hits: tuple[Hit, ...]
    next: str | None
    """What to send as `cursor` for the page behind this one; null if this is the last."""
    behind: int
    """About how many events are not searched yet, because the index is still being filled; 0 is none."""
    weighed: int
    """How many matches were compared; where there are more, the newest ones."""


class Recalled(Struct, frozen=True, kw_only=True):
    """A message or a tool call with its result, in full."""

    id: str
    session_id: str
    title: str | None
    ts: str
    what: str
    """Who said it or which tool it was, in words."""
    text: str
    files: tuple[Image | Audio | File, ...] = ()
    """What was attached to it; kept with that session."""
    reverted: bool = False
