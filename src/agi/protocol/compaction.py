"""Compaction as settings, the log and clients have it: when it happens, what it left out, what came of it.

Values only; how it is done is the loop's business. May import: nothing of ours.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

CompactionTrigger = Literal["threshold", "overflow", "manual"]
"""The model's window is nearly full; its provider said that it is; somebody asked for it."""


class CompactionPolicy(Struct, frozen=True, kw_only=True):
    """When a conversation is made shorter, and how much of it stays."""

    enabled: bool = True
    """Make room by itself; where not, a conversation that is too long ends its turn."""
    threshold: float = 0.85
    """The share of the model's window at which room is made."""
    reserve_tokens: int | None = None
    """What stays free for the answer; None is what the model can say, and at most a quarter of its window."""
    keep_recent_tokens: int = 20_000
    """How much of the end of the conversation stays as it is; at most a quarter of what there is room for."""
    model: str | None = None
    """Who writes summaries: `provider/model`; None is the model of the session."""


class Dropped(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What models are no longer told word by word. All of it is in the log, and `recall` finds it by id."""

    messages: int = 0
    """Messages for which a summary stands."""
    user: int = 0
    assistant: int = 0
    tool: int = 0
    calls: int = 0
    """Tool calls among them."""
    outputs: int = 0
    """Outputs that are left out of messages which are still told."""
    tokens: int = 0
    """How much that is, by estimate."""
    first_message: str = ""
    last_message: str = ""


class CompactionRequest(Struct, frozen=True, kw_only=True):
    """Somebody asked for a compaction that has not been made yet."""

    focus: str = ""
    requested_at: str = ""


class Compacted(Struct, frozen=True, kw_only=True):
    """What came of asking for a compaction, or for one to be undone."""

    session_id: str
    status: Literal["compacted", "queued", "undone"]
    """`queued`: a turn runs, and it is made before the model is asked next."""
    compaction_id: str = ""
    pre_tokens: int = 0
    post_tokens: int = 0
    summarised_by: str = ""
    """The model that wrote the summary; empty if none did."""
    dropped: Dropped = Dropped()
