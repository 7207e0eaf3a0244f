"""What another policy would have made of a session's calls. May import: protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agi.protocol.policies import Rule
from agi.protocol.sessions import Risk

Then = Literal["allowed", "asked", "denied", "not_reached", "not_known"]
Now = Literal["allow", "ask", "deny"]


class Rejudged(Struct, frozen=True, kw_only=True):
    """One call: what became of it, and what would become of it now."""

    seq: int
    """The event that holds the call."""
    turn_id: str
    tool_call_id: str
    name: str
    input: str
    """Its arguments, the beginning of them."""
    agent: str
    then: Then
    """`not_known` for a call that a fork carries over: who decided what is in the log of the session it is from."""
    answer: str = ""
    """Where it was asked about: `granted`, or why not: `user`, `expired`, `policy`, `canceled`."""
    then_rule: str = ""
    """The rule that asked, as far as the log tells."""
    now: Now
    rule: str
    reason: str
    risk: Risk
    by: tuple[Rule, ...] = ()
    differs: bool
    """Whether the verdict is another one; never for a call that was not reached, or of which it is not known."""


class PolicyReplay(Struct, frozen=True, kw_only=True):
    """A session's calls, judged again."""

    session_id: str
    policy: str
    """Where the policy is from."""
    calls: tuple[Rejudged, ...]
    differs: int
    looser: int
    """Calls that would be decided less strictly: allowed where they were asked about, or anything but denied."""
    stricter: int
